/* dsat's `random`: random configurations, with a few micro-batches of each drawn from a binomial distribution over the
 * bracket. Once a stage has a best trial, its new configurations start above that micro-batch. Once stage 1 or 2 has
 * run, no other stage is drawn; stage 3 ends as soon as they have run. */
#include "search/dsat.h"
#include "util/memory.h"

/* low + Binomial(high - low, 1/2). */
static double draw(const struct search *s, uint64_t stream, uint64_t index, double low, double high)
{
    double sum = 0;
    uint64_t left = high > low ? (uint64_t)(high - low) : 0;
    for (uint64_t block = 0; left > 0; block++) {
        uint64_t bits = search_draw(s, stream ^ 0x5851f42d4c957f2d, index << 20 | block, UINT64_C(1) << 32);
        uint64_t width = left < 32 ? left : 32;
        bits &= (UINT64_C(1) << width) - 1;
        sum += __builtin_popcountll(bits);
        left -= width;
    }
    return low + sum;
}

struct stage_record {
    bool any;
    double best, best_micro_batch, best_high, largest;
};

static struct stage_record record_of(const struct search *s, const struct dsat *d, size_t stage)
{
    struct stage_record r = {0};
    for (size_t i = 0; i < d->count; i++) {
        const struct dsat_trial *t = &d->trials[i];
        if (isnan(t->objective) || dsat_stage(s, d, t->family) != stage)
            continue;
        if (t->micro_batch > r.largest)
            r.largest = t->micro_batch;
        if (!r.any || search_better(s->space, t->objective, r.best)) {
            r.best = t->objective;
            r.best_micro_batch = t->micro_batch;
            r.best_high = t->high;
        }
        r.any = true;
    }
    return r;
}

static void begin(struct search *s, struct dsat *d, uint64_t stream)
{
    size_t good[2], count = 0;
    for (size_t stage = 1; stage <= 2; stage++)
        if (d->estimate[stage] > 0 && record_of(s, d, stage).any)
            good[count++] = stage;
    size_t family = dsat_draw_family(s, d, stream, count ? good[search_draw(s, stream, 2, count)] : SIZE_MAX);
    size_t stage = dsat_stage(s, d, family);
    struct stage_record r = record_of(s, d, stage);
    struct dsat_trial t = {.family = family,
                           .lineage = d->lineages++,
                           .stream = stream,
                           .parent = SIZE_MAX,
                           .low = 1,
                           .high = d->estimate[stage]};
    if (r.any) {
        t.low = r.best_micro_batch + 1;
        t.high = fmax(fmax(r.largest, r.best_high), 2 * t.low);
    }
    t.micro_batch = draw(s, stream, 0, t.low, t.high);
    dsat_queue(s, d, &t);
}

static bool failed_in_line(const struct dsat *d, size_t trial)
{
    for (; trial != SIZE_MAX; trial = d->trials[trial].parent)
        if (d->trials[trial].failed)
            return true;
    return false;
}

static bool is_over(const struct search *s, const struct dsat *d, size_t trial)
{
    const struct dsat_trial *t = &d->trials[trial];
    size_t stage = dsat_stage(s, d, t->family);
    if ((t->failed && t->micro_batch <= t->low) ||
        (double)dsat_completed(d, t->lineage) >= search_number(s, SEARCH_TRIALS_PER_RANDOM_CONFIG))
        return true;
    if (stage == 3 && (record_of(s, d, 1).any || record_of(s, d, 2).any))
        return true;
    return failed_in_line(d, trial) && record_of(s, d, stage).largest >= t->high;
}

static void next(struct search *s, struct dsat *d, size_t trial)
{
    struct dsat_trial t = d->trials[trial];
    if (is_over(s, d, trial)) {
        begin(s, d, dsat_stream_after(&t));
        return;
    }
    if (t.failed) {
        t.high = t.micro_batch - 1;
    } else {
        t.low = t.micro_batch + 1;
        if (t.low > t.high)
            t.high *= 2;
    }
    t.parent = trial;
    t.index++;
    t.micro_batch = draw(s, t.stream, t.index, t.low, t.high);
    if (!dsat_queue(s, d, &t))
        begin(s, d, dsat_stream_after(&d->trials[trial]));
}

static int create(struct search *s, void **own, struct error *e)
{
    struct dsat *d = xcalloc(1, sizeof *d);
    *own = d;
    d->next = next;
    d->begin = begin;
    return dsat_create(s, d, e);
}

const struct strategy strategy_dsat_random = {.name = "dsat-random",
                                              .create = create,
                                              .free = dsat_destroy,
                                              .ask = dsat_ask,
                                              .tell = dsat_tell};
