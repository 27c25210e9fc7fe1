/* Multisets: `size` elements of `kinds` kinds, order irrelevant, kept as one count per kind. They are ordered
 * by their counts, largest first: (n,0,0), (n-1,1,0), (n-1,0,1), (n-2,2,0), …, (0,0,n). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How many there are of each size up to `size_max`, of the first 0 … `kinds` kinds. */
struct multiset_table {
    unsigned kinds, size_max;
    uint64_t *counts; /* (kinds + 1) rows of size_max + 1; UINT64_MAX: that many or more */
};

/* Owns memory: released with multiset_table_free. */
struct multiset_table multiset_table_make(unsigned kinds, unsigned size_max);
void multiset_table_free(struct multiset_table *t);

/* C(size + kinds - 1, size); UINT64_MAX when it is that or more. Both within the table's bounds. */
uint64_t multiset_count(const struct multiset_table *t, unsigned kinds, unsigned size);

/* All elements of the first kind. */
void multiset_first(uint16_t *counts, unsigned kinds, unsigned size);

/* Steps to the next of the same size; false, with `counts` unchanged, after the last. */
bool multiset_next(uint16_t *counts, unsigned kinds);

/* Position from 0 among those of the table's kinds and this size, and back. The count must not be UINT64_MAX.
 */
uint64_t multiset_rank(const struct multiset_table *t, const uint16_t *counts, unsigned size);
void multiset_unrank(const struct multiset_table *t, uint64_t rank, unsigned size, uint16_t *counts);
