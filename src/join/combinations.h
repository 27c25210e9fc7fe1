/* All combinations of the sections: how many meet constraints, and which, in the order of rank. A rank is the place
 * in the product: sections in the order of enum section_kind, the last fastest. */
#pragma once

#include "join/solver.h"

/* NULL: nothing. */
void constraints_add(struct constraints *c, struct formula *formula, enum demand demand);

/* As solver_count, over all shapes. */
int combinations_count(const struct product *p, const struct constraints *c, struct hash_map *memory, int64_t most,
                       int64_t *out, struct error *e);

/* A walk; `c` is copied, its formulas are borrowed. */
struct combinations;
struct combinations *combinations_open(const struct product *p, const struct constraints *c);
void combinations_close(struct combinations *w);

/* The next one that meets the constraints: 1 with its rank and numbers of specs (-1 for absent sections), 0, -1. */
int combinations_next(struct combinations *w, int64_t *rank, int64_t *specs, struct error *e);

/* Goes on with the first whose rank is not below `rank`. */
void combinations_seek(struct combinations *w, int64_t rank);

/* Between ranks and numbers of specs. */
void combination_split(const int64_t *counts, int64_t rank, int64_t *specs);
int64_t combination_rank(const int64_t *counts, const int64_t *specs);
