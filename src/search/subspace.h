/* Some candidates of a search space as a separate space, in which groups, configurations and memory classes are
 * numbered anew. Keys and places are those of the whole. Pure. */
#ifndef MESHSWEEP_SEARCH_SUBSPACE_H
#define MESHSWEEP_SEARCH_SUBSPACE_H

#include "search/strategy.h"

/* `members` are places in the whole, `count` of them; *candidates, which *out points into, is the caller's to free. */
void subspace_make(const struct search_space *whole, const size_t *members, size_t count, struct search_space *out,
                   struct candidate **candidates);

#endif
