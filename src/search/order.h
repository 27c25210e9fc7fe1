/* Orders in which candidates can be tried. */
#ifndef MESHSWEEP_SEARCH_ORDER_H
#define MESHSWEEP_SEARCH_ORDER_H

#include "search/state.h"

/* The candidates' numbers in that order; the caller's. Predicted: the best predicted objective first, those without a
 * prediction last, declared order among equals. Shuffled: by hash(seed, identity), so that a candidate's place among
 * the others does not depend on which others there are. */
size_t *search_order(const struct search *s, enum search_order order);

#endif
