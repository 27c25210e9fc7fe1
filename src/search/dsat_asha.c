/* dsat's `asha`: the resource of a rung is the number of trials in a lineage's bisection, r · divisor^(s + i) for rung
 * i. An exhausted lineage stays in its rung and may keep others from being promoted. */
#include "search/dsat.h"
#include "util/memory.h"

static double capacity(const struct search *s, int rung)
{
    return search_number(s, SEARCH_MIN_BINARY_SEARCH_TRIALS) *
           pow(search_number(s, SEARCH_DIVISOR), search_number(s, SEARCH_ASHA_EARLY_STOPPING) + rung);
}

/* The last trial of the lineage. */
static const struct dsat_trial *latest(const struct dsat *d, uint64_t lineage, size_t *at)
{
    for (size_t i = d->count; i-- > 0;)
        if (d->trials[i].lineage == lineage) {
            *at = i;
            return &d->trials[i];
        }
    return NULL;
}

static bool next_in_lineage(struct search *s, struct dsat *d, uint64_t lineage, int rungs_up)
{
    size_t at;
    const struct dsat_trial *last = latest(d, lineage, &at);
    if (!last || !last->told)
        return false;
    struct dsat_trial t = *last;
    if (t.failed)
        t.high = t.micro_batch - 1;
    else
        t.low = t.micro_batch + 1;
    t.parent = at;
    t.index++;
    t.rung += rungs_up;
    t.micro_batch = floor((t.low + t.high) / 2);
    return t.low <= t.high && dsat_queue(s, d, &t);
}

static bool completed_rung(const struct search *s, const struct dsat *d, uint64_t lineage, int rung)
{
    size_t at;
    const struct dsat_trial *l = latest(d, lineage, &at);
    if (!l)
        return false;
    bool exhausted = l->rung == rung && (l->low == l->high || (l->failed && l->micro_batch == l->low));
    return l->rung > rung || (double)dsat_completed(d, lineage) >= capacity(s, rung) || exhausted;
}

static double best_up_to(const struct search *s, const struct dsat *d, uint64_t lineage, int rung)
{
    double best = NAN;
    for (size_t i = 0; i < d->count; i++) {
        const struct dsat_trial *t = &d->trials[i];
        if (t->lineage == lineage && t->rung <= rung && search_better(s->space, t->objective, best))
            best = t->objective;
    }
    return best;
}

/* The first lineage among the best 1/divisor of the rung whose last trial is still in that rung. False: none. */
static bool promotable(const struct search *s, const struct dsat *d, int rung, uint64_t *out)
{
    uint64_t in_rung = 0, best_lineage = 0;
    double best = NAN;
    bool any = false;
    for (uint64_t l = 0; l < d->lineages; l++) {
        size_t at;
        if (!completed_rung(s, d, l, rung))
            continue;
        in_rung++;
        double value = best_up_to(s, d, l, rung);
        if (latest(d, l, &at)->rung <= rung && (!any || search_better(s->space, value, best))) {
            any = true;
            best = value;
            best_lineage = l;
        }
    }
    uint64_t better = 0;
    for (uint64_t l = 0; any && l < d->lineages; l++)
        better += l != best_lineage && completed_rung(s, d, l, rung) &&
                  search_better(s->space, best_up_to(s, d, l, rung), best);
    *out = best_lineage;
    return any && better < in_rung / (uint64_t)search_number(s, SEARCH_DIVISOR);
}

static void next(struct search *s, struct dsat *d, size_t trial)
{
    const struct dsat_trial t = d->trials[trial];
    if (!completed_rung(s, d, t.lineage, t.rung) && next_in_lineage(s, d, t.lineage, 0))
        return;
    for (int rung = (int)search_number(s, SEARCH_MAX_RUNGS) - 2; rung >= 0; rung--) {
        uint64_t lineage;
        if (!promotable(s, d, rung, &lineage))
            continue;
        if (next_in_lineage(s, d, lineage, 1))
            return;
        break; /* an exhausted lineage keeps its place */
    }
    dsat_begin_bisection(s, d, dsat_stream_after(&t));
}

/* Highest rung first; among equals, the lineage with the most trials. */
static size_t pick(const struct dsat *d)
{
    size_t best = SIZE_MAX, best_completed = 0;
    for (size_t i = 0; i < d->count; i++) {
        const struct dsat_trial *t = &d->trials[i];
        if (t->started)
            continue;
        size_t completed = dsat_completed(d, t->lineage);
        if (best == SIZE_MAX || t->rung > d->trials[best].rung ||
            (t->rung == d->trials[best].rung && completed > best_completed)) {
            best = i;
            best_completed = completed;
        }
    }
    return best;
}

static int create(struct search *s, void **own, struct error *e)
{
    struct dsat *d = xcalloc(1, sizeof *d);
    *own = d;
    d->next = next;
    d->pick = pick;
    d->begin = dsat_begin_bisection;
    return dsat_create(s, d, e);
}

const struct strategy strategy_dsat_asha = {.name = "dsat-asha",
                                            .create = create,
                                            .free = dsat_destroy,
                                            .ask = dsat_ask,
                                            .tell = dsat_tell};
