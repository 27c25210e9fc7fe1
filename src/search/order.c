#include "search/order.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/memory.h"
#include "util/rng.h"

struct candidate_rank {
    size_t candidate;
    double predicted; /* -INFINITY: no prediction */
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

/* --- grid and random: every candidate once, in one order; drawn without replacement --- */

struct walk {
    size_t *order;
    size_t next;
};

/* Steps to the next open candidate; false: none is left. *place counts from 0. */
static bool walk_next(struct walk *w, const struct search *s, size_t *candidate, size_t *place)
{
    /* Forgotten trials lie behind: one more round finds them. */
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

static void walk_free(void *walk)
{
    struct walk *w = walk;
    if (w)
        free(w->order);
    free(w);
}

static struct walk *walk_create(const struct search *s, enum search_order order)
{
    struct walk *w = xcalloc(1, sizeof *w);
    w->order = search_order(s, order);
    return w;
}

static int create_grid(struct search *s, void **own, struct error *e)
{
    (void)e;
    *own = walk_create(s, (enum search_order)s->options.order);
    return 0;
}

static int create_random(struct search *s, void **own, struct error *e)
{
    (void)e;
    *own = walk_create(s, SEARCH_ORDER_SHUFFLED);
    return 0;
}

/* Fills all of the decision but the reason, unless none is left. */
static bool decide(struct walk *w, const struct search *s, struct decision *out)
{
    size_t place;
    if (!walk_next(w, s, &out->candidate, &place)) {
        snprintf(out->reason, sizeof out->reason, "all candidates have been tried");
        return false;
    }
    out->index = place;
    return true;
}

static enum search_answer ask_grid(struct search *s, void *own, struct decision *out)
{
    if (!decide(own, s, out))
        return SEARCH_FINISHED;
    snprintf(out->reason, sizeof out->reason, "number %zu of %zu in %s order", (size_t)out->index + 1, s->space->count,
             search_order_names[s->options.order]);
    return SEARCH_RUN;
}

static enum search_answer ask_random(struct search *s, void *own, struct decision *out)
{
    if (!decide(own, s, out))
        return SEARCH_FINISHED;
    out->lineage = s->space->candidates[out->candidate].identity;
    snprintf(out->reason, sizeof out->reason, "draw %zu of %zu with seed %.0f", (size_t)out->index + 1, s->space->count,
             search_number(s, SEARCH_RANDOM_SEED));
    return SEARCH_RUN;
}

const struct strategy strategy_grid = {.name = "grid",
                                       .tries_all = true,
                                       .create = create_grid,
                                       .free = walk_free,
                                       .ask = ask_grid};

const struct strategy strategy_random = {.name = "random",
                                         .tries_all = true,
                                         .create = create_random,
                                         .free = walk_free,
                                         .ask = ask_random};
