/* Every candidate once, in one order. */
#include <stdio.h>

#include "search/order.h"
#include "search/walk.h"
#include "util/memory.h"

static int create(struct search *s, void **own, struct error *e)
{
    (void)e;
    struct walk *w = xcalloc(1, sizeof *w);
    w->order = search_order(s, (enum search_order)s->options.order);
    *own = w;
    return 0;
}

static enum search_answer ask(struct search *s, void *own, struct decision *out)
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

const struct strategy strategy_grid = {.name = "grid", .create = create, .free = walk_free, .ask = ask};
