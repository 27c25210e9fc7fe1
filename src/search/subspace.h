/* A subset of a search space as a space of its own, with groups, configurations and memory classes numbered anew. Keys
 * and places are those of the whole space. Pure. */
#ifndef MESHSWEEP_SEARCH_SUBSPACE_H
#define MESHSWEEP_SEARCH_SUBSPACE_H

#include "search/strategy.h"

/* `members` holds `count` indices into `whole`. *out points into *candidates, which the caller frees. */
void subspace_make(const struct search_space *whole, const size_t *members, size_t count, struct search_space *out,
                   struct candidate **candidates);

#endif
