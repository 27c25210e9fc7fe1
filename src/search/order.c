#include "search/order.h"

#include <stdlib.h>

#include "util/memory.h"
#include "util/rng.h"

struct candidate_rank {
    size_t candidate;
    double predicted; /* -INFINITY: nothing */
    uint64_t draw;
};

static int compare_predicted(const void *a, const void *b)
{
    const struct candidate_rank *x = a, *y = b;
    if (x->predicted != y->predicted)
        return x->predicted > y->predicted ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

static int compare_draws(const void *a, const void *b)
{
    const struct candidate_rank *x = a, *y = b;
    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

size_t *search_order(const struct search *s, enum search_order order)
{
    const struct search_space *space = s->space;
    uint64_t seed = (uint64_t)search_number(s, SEARCH_RANDOM_SEED);
    struct candidate_rank *ranks = xreallocarray(NULL, space->count + 1, sizeof *ranks);
    size_t *sorted = xreallocarray(NULL, space->count + 1, sizeof *sorted);
    for (size_t i = 0; i < space->count; i++) {
        double predicted = search_predicted_log(space, &space->candidates[i]);
        ranks[i] = (struct candidate_rank){i, isnan(predicted) ? -INFINITY : predicted,
                                           rng_at(seed, space->candidates[i].identity)};
    }
    if (order != SEARCH_ORDER_DECLARED)
        qsort(ranks, space->count, sizeof *ranks, order == SEARCH_ORDER_PREDICTED ? compare_predicted : compare_draws);
    for (size_t i = 0; i < space->count; i++)
        sorted[i] = ranks[i].candidate;
    free(ranks);
    return sorted;
}

bool walk_next(struct walk *w, const struct search *s, size_t *candidate, size_t *place)
{
    /* What was forgotten lies behind: one more round finds it. */
    for (size_t seen = 0; seen < s->space->count; seen++) {
        size_t at = (w->next + seen) % s->space->count;
        if (!search_is_open(s, w->order[at]))
            continue;
        w->next = at + 1;
        *candidate = w->order[at];
        *place = at;
        return true;
    }
    return false;
}

void walk_free(void *walk)
{
    struct walk *w = walk;
    if (w)
        free(w->order);
    free(w);
}
