/* Values of the inputs of predictions, from words. */
#pragma once

#include "predict/predictor.h"
#include "unit_test.h"

/* Sets what "name=value name=value" says, numbers as such; what is said later counts. */
static inline void input_values_set(struct input_value *values, const char *pairs)
{
    static char words[4096]; /* the values borrow from it */
    static size_t used;
    size_t size = strlen(pairs) + 1;
    used = used + size > sizeof words ? 0 : used;
    char *rest = memcpy(words + used, pairs, size), *text, *end;
    used += size;
    while ((text = strsep(&rest, " ")) && *text) {
        const char *name = strsep(&text, "=");
        double number = strtod(text, &end);
        FAIL_WHERE(input_find(name) == INPUT_COUNT, "no input %s", name);
        values[input_find(name)] = (struct input_value){*end ? INPUT_TEXT : INPUT_NUMBER, number, *end ? text : NULL};
    }
}
