/* dsat's `binary`: bisects the micro-batch of one random configuration for the largest that runs, then another's. It
 * never looks above the estimate. */
#include "search/dsat.h"
#include "util/memory.h"

static void next(struct search *s, struct dsat *d, size_t trial)
{
    struct dsat_trial t = d->trials[trial];
    if (t.failed)
        t.high = t.micro_batch - 1;
    else
        t.low = t.micro_batch + 1;
    t.parent = trial;
    t.index++;
    t.micro_batch = floor((t.low + t.high) / 2);
    if (t.low > t.high || !dsat_queue(s, d, &t))
        dsat_begin_bisection(s, d, dsat_stream_after(&d->trials[trial]));
}

static int create(struct search *s, void **own, struct error *e)
{
    struct dsat *d = xcalloc(1, sizeof *d);
    *own = d;
    d->next = next;
    d->begin = dsat_begin_bisection;
    return dsat_create(s, d, e);
}

const struct strategy strategy_dsat_binary = {.name = "dsat-binary",
                                              .create = create,
                                              .free = dsat_destroy,
                                              .ask = dsat_ask,
                                              .tell = dsat_tell};
