/* Orders in which candidates can be tried. */
#ifndef MESHSWEEP_SEARCH_ORDER_H
#define MESHSWEEP_SEARCH_ORDER_H

#include "search/state.h"

/* Candidate indices in that order. The caller frees them. Predicted: best predicted objective first, candidates without
 * a prediction last, ties in declared order. Shuffled: by hash(seed, identity), so that the relative order of two
 * candidates does not depend on the others. */
size_t *search_order(const struct search *s, enum search_order order);

#endif
