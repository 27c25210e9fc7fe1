/* Grid and random: every candidate once, in one order; drawn without replacement. */
#include <stdio.h>

#include "search/order.h"
#include "util/memory.h"

static int create_grid(struct search *s, void **own, struct error *e)
{
    (void)e;
    struct walk *w = xcalloc(1, sizeof *w);
    w->order = search_order(s, (enum search_order)s->options.order);
    *own = w;
    return 0;
}

static enum search_answer ask_grid(struct search *s, void *own, struct decision *out)
{
    size_t place;
    if (!walk_next(own, s, &out->candidate, &place)) {
        snprintf(out->reason, sizeof out->reason, "every candidate was tried");
        return SEARCH_FINISHED;
    }
    out->index = place;
    snprintf(out->reason, sizeof out->reason, "number %zu of %zu in %s order", place + 1, s->space->count,
             search_order_names[s->options.order]);
    return SEARCH_RUN;
}

const struct strategy strategy_grid = {.name = "grid",
                                       .tries_all = true,
                                       .create = create_grid,
                                       .free = walk_free,
                                       .ask = ask_grid};

static int create_random(struct search *s, void **own, struct error *e)
{
    (void)e;
    struct walk *w = xcalloc(1, sizeof *w);
    w->order = search_order(s, SEARCH_ORDER_SHUFFLED);
    *own = w;
    return 0;
}

static enum search_answer ask_random(struct search *s, void *own, struct decision *out)
{
    size_t place;
    if (!walk_next(own, s, &out->candidate, &place)) {
        snprintf(out->reason, sizeof out->reason, "every candidate was tried");
        return SEARCH_FINISHED;
    }
    out->lineage = s->space->candidates[out->candidate].identity;
    out->index = place;
    snprintf(out->reason, sizeof out->reason, "draw %zu of %zu with seed %.0f", place + 1, s->space->count,
             search_number(s, SEARCH_RANDOM_SEED));
    return SEARCH_RUN;
}

const struct strategy strategy_random = {.name = "random",
                                         .tries_all = true,
                                         .create = create_random,
                                         .free = walk_free,
                                         .ask = ask_random};
