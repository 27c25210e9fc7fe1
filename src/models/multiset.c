#include "models/multiset.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

static uint64_t *cell(const struct multiset_table *t, unsigned kinds, unsigned size)
{
    return &t->counts[(size_t)kinds * (t->size_max + 1) + size];
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

struct multiset_table multiset_table_make(unsigned kinds, unsigned size_max)
{
    struct multiset_table t = {kinds, size_max, xcalloc((size_t)(kinds + 1) * (size_max + 1), sizeof *t.counts)};
    *cell(&t, 0, 0) = 1;
    for (unsigned k = 1; k <= kinds; k++) {
        *cell(&t, k, 0) = 1;
        /* Either kind k does not occur, or one of it is taken away. */
        for (unsigned n = 1; n <= size_max; n++)
            *cell(&t, k, n) = add_saturating(*cell(&t, k - 1, n), *cell(&t, k, n - 1));
    }
    return t;
}

void multiset_table_free(struct multiset_table *t)
{
    free(t->counts);
    *t = (struct multiset_table){0};
}

uint64_t multiset_count(const struct multiset_table *t, unsigned kinds, unsigned size)
{
    assert(kinds <= t->kinds && size <= t->size_max);
    return *cell(t, kinds, size);
}

void multiset_first(uint16_t *counts, unsigned kinds, unsigned size)
{
    memset(counts, 0, kinds * sizeof *counts);
    counts[0] = (uint16_t)size;
}

bool multiset_next(uint16_t *counts, unsigned kinds)
{
    unsigned last = kinds - 1, k = last;
    while (k > 0 && counts[k - 1] == 0)
        k--;
    if (k == 0)
        return false;
    uint16_t tail = counts[last];
    counts[last] = 0;
    counts[k - 1]--;
    counts[k] = (uint16_t)(tail + 1);
    return true;
}

/* Counts the multisets of `left` elements over k kinds before a first count of left - d: all that have at most d - 1
 * elements outside the first kind, as many as there are multisets of d - 1 elements of k kinds. */
static uint64_t before(const struct multiset_table *t, unsigned kinds, unsigned d)
{
    return d > 0 ? multiset_count(t, kinds, d - 1) : 0;
}

uint64_t multiset_rank(const struct multiset_table *t, const uint16_t *counts, unsigned size)
{
    uint64_t rank = 0;
    unsigned left = size;
    for (unsigned k = 0; k + 1 < t->kinds; k++) {
        left -= counts[k];
        rank += before(t, t->kinds - k, left);
    }
    return rank;
}

void multiset_unrank(const struct multiset_table *t, uint64_t rank, unsigned size, uint16_t *counts)
{
    unsigned left = size;
    for (unsigned k = 0; k + 1 < t->kinds; k++) {
        unsigned rest = 0;
        while (rest < left && before(t, t->kinds - k, rest + 1) <= rank)
            rest++;
        rank -= before(t, t->kinds - k, rest);
        counts[k] = (uint16_t)(left - rest);
        left = rest;
    }
    counts[t->kinds - 1] = (uint16_t)left;
}
