/* How often a drawn test is drawn. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

/* The variable is set by scripts/memcheck.sh, where each round takes fifty times as long. */
static inline bool rounds_are_few(void)
{
    return getenv("MESHSWEEP_FEW_ROUNDS") != NULL;
}

/* `all`, or a tenth of them. */
static inline int rounds_of(int all)
{
    return rounds_are_few() ? all / 10 : all;
}
