/* Orders in which candidates can be gone through, and going through them. */
#ifndef MESHSWEEP_SEARCH_ORDER_H
#define MESHSWEEP_SEARCH_ORDER_H

#include "search/state.h"

/* The candidates' numbers in that order; the caller's. Predicted: the best predicted objective first, those without a
 * prediction last, declared order among equals. Shuffled: by hash(seed, identity), so that a candidate's place among
 * the others does not depend on which others there are. */
size_t *search_order(const struct search *s, enum search_order order);

/* Going through all candidates in one order: what grid and random are. */
struct walk {
    size_t *order; /* the owner's */
    size_t next;
};

/* Steps to the next open candidate; false: none is left. *place counts from 0. */
bool walk_next(struct walk *w, const struct search *s, size_t *candidate, size_t *place);

void walk_free(void *walk);

#endif
