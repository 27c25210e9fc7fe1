/* Going through all candidates in one order: what grid and random are. */
#ifndef MESHSWEEP_SEARCH_WALK_H
#define MESHSWEEP_SEARCH_WALK_H

#include "search/state.h"

struct walk {
    size_t *order; /* the owner's */
    size_t next;
};

/* Steps to the next open candidate; false: none is left. *place counts from 0. */
bool walk_next(struct walk *w, const struct search *s, size_t *candidate, size_t *place);

void walk_free(void *walk);

#endif
