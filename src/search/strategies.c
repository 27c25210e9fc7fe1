#include "search/strategies.h"

#include <string.h>

#include "util/suggest.h"

static const struct strategy *const strategies[] = {
    &strategy_grid,        &strategy_random,      &strategy_binary,    &strategy_asha,
    &strategy_model,       &strategy_dsat_random, &strategy_dsat_binary, &strategy_dsat_asha,
    &strategy_deepspeed_grid, &strategy_deepspeed_random, &strategy_deepspeed_model,
};

#define STRATEGY_COUNT (sizeof strategies / sizeof *strategies)

const struct strategy *strategy_find(const char *name, struct error *e)
{
    const char *names[STRATEGY_COUNT];
    for (size_t i = 0; i < STRATEGY_COUNT; i++) {
        names[i] = strategies[i]->name;
        if (strcmp(names[i], name) == 0)
            return strategies[i];
    }
    const char *near = suggest_nearest(name, names, STRATEGY_COUNT);
    error_set(e, ERROR_USAGE, "no search strategy \"%s\"%s%s%s", name, near ? "; did you mean \"" : "", near ? near : "",
              near ? "\"?" : "");
    return NULL;
}
