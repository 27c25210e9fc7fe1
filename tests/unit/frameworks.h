/* The frameworks of the carried profiles, read once per test program. */
#pragma once

#include "predict/coefficients.h"
#include "unit_test.h"

static const struct framework_set *frameworks(void)
{
    static struct framework_set set;
    if (set.count == 0)
        framework_set_read(&set);
    return &set;
}

static inline const struct framework *framework_find(const char *name)
{
    const struct framework_set *set = frameworks();
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    return NULL;
}
