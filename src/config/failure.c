#include "config/failure.h"

#include <string.h>

#include "toml/known.h"

#define NAME(id, name, attempts) name,
const char *const failure_names[FAILURE_COUNT + 1] = {"", FAILURES_DECLARABLE(NAME) "cancelled", NULL};

enum failure failure_by_name(const char *name)
{
    for (int i = 1; i < FAILURE_COUNT; i++)
        if (strcmp(failure_names[i], name) == 0)
            return (enum failure)i;
    return FAILURE_NONE;
}

bool failure_is_of_command(const char *message)
{
    return message && known_within(known("failure", "of_command"), message);
}
