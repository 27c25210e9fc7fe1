#include "search/order.h"

#include <stdlib.h>

#include "util/memory.h"
#include "util/rng.h"

struct place {
    size_t candidate;
    double predicted; /* -INFINITY: nothing */
    uint64_t draw;
};

static int compare_predicted(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->predicted != y->predicted)
        return x->predicted > y->predicted ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

static int compare_draws(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

size_t *search_order(const struct search *s, enum search_order order)
{
    const struct search_space *space = s->space;
    uint64_t seed = (uint64_t)search_number(s, SEARCH_RANDOM_SEED);
    struct place *places = xreallocarray(NULL, space->count + 1, sizeof *places);
    size_t *sorted = xreallocarray(NULL, space->count + 1, sizeof *sorted);
    for (size_t i = 0; i < space->count; i++) {
        double predicted = search_predicted_log(space, &space->candidates[i]);
        places[i] = (struct place){i, isnan(predicted) ? -INFINITY : predicted,
                                   rng_at(seed, space->candidates[i].identity)};
    }
    if (order != SEARCH_ORDER_DECLARED)
        qsort(places, space->count, sizeof *places,
              order == SEARCH_ORDER_PREDICTED ? compare_predicted : compare_draws);
    for (size_t i = 0; i < space->count; i++)
        sorted[i] = places[i].candidate;
    free(places);
    return sorted;
}
