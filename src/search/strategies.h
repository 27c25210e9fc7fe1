/* The table of strategies. */
#ifndef MESHSWEEP_SEARCH_STRATEGIES_H
#define MESHSWEEP_SEARCH_STRATEGIES_H

#include "search/state.h"

/* NULL, with a hint in `e` (ERROR_USAGE), when there is none of that name. */
const struct strategy *strategy_find(const char *name, struct error *e);

#endif
