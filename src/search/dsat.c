/* The methods of Determined's DeepSpeed Autotune (dsat; Determined 0.37, harness/determined/pytorch/dsat):
 * configurations drawn at random, lineages that each try micro-batches of one configuration, a queue of trials, and the
 * number of lineages that run at once. It decides as dsat does, good or not. Left out are what made dsat crash or hang,
 * its profile trial (predictions estimate the largest micro-batch of a stage; without them it is the largest in the
 * space), and repeats of a trial that has already run, which are answered from the record.
 *
 * dsat queues follow-up trials as soon as an outcome arrives. Here an outcome is processed in the order in which trials
 * were requested, once as many further trials have been requested as lineages run at once. Decisions therefore do not
 * depend on how many trials run at a time, or on the order in which they end. A question that is not answered with a
 * trial changes no state, because a repeated search does not know of it.
 *
 * A micro-batch that is not in the space becomes the next smaller one of the bracket, or else the next larger. */
#include <stdlib.h>

#include "search/state.h"
#include "util/memory.h"
#include "util/rng.h"

#define DRAWS_MOST 64 /* lineages that may begin in vain before the search ends */

struct dsat_trial {
    size_t family, candidate;
    uint64_t lineage, index; /* lineage: from 0, in order of creation; index: earlier trials of the lineage */
    uint64_t stream;         /* seeds the lineage's draws; derived from the trial after which it began, whenever that
                              * was */
    double low, high, micro_batch;
    int rung;        /* of dsat-asha */
    size_t sequence; /* among started trials, from 0; NONE: it has not started */
};

struct dsat {
    double estimate[FAMILY_STAGES]; /* largest micro-batch that runs, at least 1; 0: no such stage */
    struct dsat_trial *trials;      /* in the order in which they were queued */
    size_t count;
    size_t started, followed; /* counts; outcomes were processed for the first `followed` by sequence */
    uint64_t lineages;
};

/* --- lineages --- */

/* Draws a family of that stage from the stream. `stage` NONE: draws the stage, too. */
static size_t draw_family(const struct search *s, const struct dsat *d, uint64_t stream, size_t stage)
{
    size_t stages[FAMILY_STAGES], count = 0;
    for (size_t i = 0; i < FAMILY_STAGES; i++)
        if (d->estimate[i] > 0 && (stage == NONE || stage == i))
            stages[count++] = i;
    return families_draw(s, stages[search_draw(s, stream, 0, count)], stream, 1);
}

/* An outcome that is known is told only in its turn. */
static bool is_told(const struct dsat *d, const struct dsat_trial *t)
{
    return t->sequence < d->followed;
}

/* NAN until it is told, and for failures. */
static double objective_of(const struct search *s, const struct dsat *d, const struct dsat_trial *t)
{
    return is_told(d, t) ? s->trials[t->candidate].outcome.objective : NAN;
}

static bool has_failed(const struct search *s, const struct dsat *d, const struct dsat_trial *t)
{
    return is_told(d, t) && isnan(objective_of(s, d, t));
}

/* Seed of the lineage that begins after that trial. */
static uint64_t stream_after(const struct dsat_trial *trial)
{
    return rng_at(trial->stream, trial->index + 1);
}

/* Queues a trial. False if no micro-batch of the family lies in [low, high]. */
static bool queue(const struct search *s, struct dsat *d, const struct dsat_trial *trial)
{
    size_t at = family_at_most(s, trial->family, trial->micro_batch);
    if (at == NONE || family_micro_batch(s, trial->family, at) < trial->low)
        at++; /* NONE: 0 */
    if (at >= family_size(s, trial->family) || family_micro_batch(s, trial->family, at) > fmax(trial->high, trial->low))
        return false;
    struct dsat_trial *t = array_add(d->trials, d->count);
    *t = *trial;
    t->candidate = family_member(s, trial->family, at);
    t->micro_batch = family_micro_batch(s, trial->family, at);
    t->sequence = NONE;
    return true;
}

/* The trial that follows: the half of the bracket that is left. */
static struct dsat_trial follow_up(const struct search *s, const struct dsat *d, size_t trial)
{
    struct dsat_trial t = d->trials[trial];
    if (has_failed(s, d, &t))
        t.high = t.micro_batch - 1;
    else
        t.low = t.micro_batch + 1;
    t.index++;
    return t;
}

/* Number of the lineage's trials that have ended. */
static size_t completed(const struct dsat *d, uint64_t lineage)
{
    size_t ended = 0;
    for (size_t i = 0; i < d->count; i++)
        ended += d->trials[i].lineage == lineage && is_told(d, &d->trials[i]);
    return ended;
}

/* The last trial of the lineage; NONE: it has none. */
static size_t latest(const struct dsat *d, uint64_t lineage)
{
    size_t i = d->count;
    while (i > 0 && d->trials[i - 1].lineage != lineage)
        i--;
    return i - 1;
}

/* --- dsat-binary: bisects the micro-batch of one random configuration for the largest that runs, then another's. It
 * never looks above the estimate times search_range_factor. --- */

static void begin_bisection(const struct search *s, struct dsat *d, uint64_t stream)
{
    size_t family = draw_family(s, d, stream, NONE);
    double high = fmax(1, floor(search_number(s, SEARCH_RANGE_FACTOR) * d->estimate[family_stage(s, family)]));
    const struct dsat_trial t = {.family = family,
                                 .lineage = d->lineages++,
                                 .stream = stream,
                                 .low = 1,
                                 .high = high,
                                 .micro_batch = floor((1 + high) / 2)};
    queue(s, d, &t);
}

static bool next_in_lineage(const struct search *s, struct dsat *d, uint64_t lineage, int rungs_up)
{
    size_t at = latest(d, lineage);
    if (at == NONE || !is_told(d, &d->trials[at]))
        return false;
    struct dsat_trial t = follow_up(s, d, at);
    t.rung += rungs_up;
    t.micro_batch = floor((t.low + t.high) / 2);
    return t.low <= t.high && queue(s, d, &t);
}

static void next_of_bisection(const struct search *s, struct dsat *d, size_t trial)
{
    uint64_t after = stream_after(&d->trials[trial]);
    if (!next_in_lineage(s, d, d->trials[trial].lineage, 0))
        begin_bisection(s, d, after);
}

/* --- dsat-asha: the resource of a rung is the number of trials in a lineage's bisection, r · divisor^(s + i) for rung
 * i. An exhausted lineage stays in its rung and may keep others from being promoted. --- */

static double capacity(const struct search *s, int rung)
{
    return search_number(s, SEARCH_MIN_BINARY_SEARCH_TRIALS) *
           pow(search_number(s, SEARCH_DIVISOR), search_number(s, SEARCH_ASHA_EARLY_STOPPING) + rung);
}

static bool completed_rung(const struct search *s, const struct dsat *d, uint64_t lineage, int rung)
{
    size_t at = latest(d, lineage);
    if (at == NONE)
        return false;
    const struct dsat_trial *l = &d->trials[at];
    bool exhausted = l->rung == rung && (l->low == l->high || (has_failed(s, d, l) && l->micro_batch == l->low));
    return l->rung > rung || (double)completed(d, lineage) >= capacity(s, rung) || exhausted;
}

static double best_up_to(const struct search *s, const struct dsat *d, uint64_t lineage, int rung)
{
    double best = NAN;
    for (size_t i = 0; i < d->count; i++) {
        const struct dsat_trial *t = &d->trials[i];
        if (t->lineage == lineage && t->rung <= rung && search_better(s->space, objective_of(s, d, t), best))
            best = objective_of(s, d, t);
    }
    return best;
}

/* The first lineage among the best 1/divisor of the rung whose last trial is still in that rung. False: none. */
static bool promotable(const struct search *s, const struct dsat *d, int rung, uint64_t *out)
{
    uint64_t in_rung = 0, better = 0;
    double best = NAN;
    bool any = false;
    for (uint64_t l = 0; l < d->lineages; l++) {
        if (!completed_rung(s, d, l, rung))
            continue;
        in_rung++;
        double value = best_up_to(s, d, l, rung);
        if (d->trials[latest(d, l)].rung <= rung && (!any || search_better(s->space, value, best))) {
            any = true;
            best = value;
            *out = l;
        }
    }
    for (uint64_t l = 0; any && l < d->lineages; l++)
        better +=
            l != *out && completed_rung(s, d, l, rung) && search_better(s->space, best_up_to(s, d, l, rung), best);
    return any && better < in_rung / (uint64_t)search_number(s, SEARCH_DIVISOR);
}

static void next_of_rungs(const struct search *s, struct dsat *d, size_t trial)
{
    const struct dsat_trial t = d->trials[trial];
    if (!completed_rung(s, d, t.lineage, t.rung) && next_in_lineage(s, d, t.lineage, 0))
        return;
    for (int rung = (int)search_number(s, SEARCH_MAX_RUNGS) - 2; rung >= 0; rung--) {
        uint64_t lineage = 0;
        if (!promotable(s, d, rung, &lineage))
            continue;
        if (next_in_lineage(s, d, lineage, 1))
            return;
        break; /* an exhausted lineage keeps its place */
    }
    begin_bisection(s, d, stream_after(&t));
}

/* --- dsat-random: random configurations, with a few micro-batches of each drawn from a binomial distribution over the
 * bracket. Once a stage has a best trial, its new configurations start above that micro-batch. Once stage 1 or 2 has
 * run, no other stage is drawn; stage 3 ends as soon as they have run. --- */

/* low + Binomial(high - low, 1/2). */
static double draw(const struct search *s, const struct dsat_trial *t)
{
    double sum = 0;
    uint64_t left = t->high > t->low ? (uint64_t)(t->high - t->low) : 0;
    for (uint64_t block = 0; left > 0; block++) {
        uint64_t bits = search_draw(s, t->stream ^ 0x5851f42d4c957f2d, t->index << 20 | block, UINT64_C(1) << 32);
        uint64_t width = left < 32 ? left : 32;
        bits &= (UINT64_C(1) << width) - 1;
        sum += __builtin_popcountll(bits);
        left -= width;
    }
    return t->low + sum;
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
        const double objective = objective_of(s, d, t);
        if (isnan(objective) || family_stage(s, t->family) != stage)
            continue;
        double largest = fmax(r.largest, t->micro_batch);
        if (!r.any || search_better(s->space, objective, r.best))
            r = (struct stage_record){true, objective, t->micro_batch, t->high, 0};
        r.largest = largest;
    }
    return r;
}

static void begin_at_random(const struct search *s, struct dsat *d, uint64_t stream)
{
    size_t good[2], count = 0;
    for (size_t stage = 1; stage <= 2; stage++)
        if (d->estimate[stage] > 0 && record_of(s, d, stage).any)
            good[count++] = stage;
    size_t family = draw_family(s, d, stream, count ? good[search_draw(s, stream, 2, count)] : NONE);
    size_t stage = family_stage(s, family);
    struct stage_record r = record_of(s, d, stage);
    struct dsat_trial t = {.family = family,
                           .lineage = d->lineages++,
                           .stream = stream,
                           .low = 1,
                           .high = d->estimate[stage]};
    if (r.any) {
        t.low = r.best_micro_batch + 1;
        t.high = fmax(fmax(r.largest, r.best_high), 2 * t.low);
    }
    t.micro_batch = draw(s, &t);
    queue(s, d, &t);
}

static bool is_over(const struct search *s, const struct dsat *d, size_t trial)
{
    const struct dsat_trial *t = &d->trials[trial];
    size_t stage = family_stage(s, t->family);
    if ((has_failed(s, d, t) && t->micro_batch <= t->low) ||
        (double)completed(d, t->lineage) >= search_number(s, SEARCH_TRIALS_PER_RANDOM_CONFIG))
        return true;
    if (stage == 3 && (record_of(s, d, 1).any || record_of(s, d, 2).any))
        return true;
    return ANY(i, trial + 1, d->trials[i].lineage == t->lineage && has_failed(s, d, &d->trials[i])) &&
           record_of(s, d, stage).largest >= t->high;
}

static void next_at_random(const struct search *s, struct dsat *d, size_t trial)
{
    struct dsat_trial t = follow_up(s, d, trial);
    if (!has_failed(s, d, &t) && t.low > t.high)
        t.high *= 2;
    t.micro_batch = draw(s, &t);
    uint64_t after = stream_after(&d->trials[trial]);
    if (is_over(s, d, trial) || !queue(s, d, &t))
        begin_at_random(s, d, after);
}

/* --- the queue --- */

/* `begin` queues the first trial of a new lineage, `next` whatever follows a trial whose outcome was told; that may be
 * nothing. */
static const struct method {
    void (*begin)(const struct search *s, struct dsat *d, uint64_t stream);
    void (*next)(const struct search *s, struct dsat *d, size_t trial);
} methods[STRATEGY_COUNT] = {
    [STRATEGY_DSAT_RANDOM] = {begin_at_random, next_at_random},
    [STRATEGY_DSAT_BINARY] = {begin_bisection, next_of_bisection},
    [STRATEGY_DSAT_ASHA] = {begin_bisection, next_of_rungs},
};

static size_t lineages_at_once(const struct search *s)
{
    double most = search_number(s, SEARCH_MAX_CONCURRENT_TRIALS), slots = search_number(s, SEARCH_MAX_SLOTS);
    if (slots > 0 && slots / s->devices_most < most)
        most = floor(slots / s->devices_most);
    /* More lineages than candidates would find nothing more. */
    most = fmin(most, fmax((double)s->space->count, search_numbers[SEARCH_MAX_CONCURRENT_TRIALS].fallback));
    return most < 1 ? 1 : (size_t)most;
}

/* The queued trial to start next; NONE: nothing is queued. The first; for dsat-asha, that of the highest rung, and
 * among equals of the lineage with the most trials. */
static size_t first_queued(const struct search *s, const struct dsat *d)
{
    size_t best = NONE, most = 0;
    for (size_t i = 0; i < d->count; i++) {
        const struct dsat_trial *t = &d->trials[i];
        if (t->sequence != NONE)
            continue;
        if (s->strategy != STRATEGY_DSAT_ASHA)
            return i;
        size_t ended = completed(d, t->lineage);
        if (best == NONE || t->rung > d->trials[best].rung || (t->rung == d->trials[best].rung && ended > most)) {
            best = i;
            most = ended;
        }
    }
    return best;
}

/* Processes the next outcome in turn and queues what follows. False: it has not arrived. */
static bool follow(const struct search *s, struct dsat *d)
{
    size_t i = FIRST(k, d->count, d->trials[k].sequence == d->followed);
    if (i == d->count || s->trials[d->trials[i].candidate].told == 0)
        return false;
    d->followed++;
    methods[s->strategy].next(s, d, i);
    return true;
}

/* The trial to start next; NONE: nothing is queued, or an outcome has not arrived. */
static size_t pick(const struct search *s, struct dsat *d)
{
    const size_t at_once = lineages_at_once(s);
    while (d->followed + at_once <= d->started)
        if (!follow(s, d))
            return NONE;
    while (d->lineages < at_once)
        methods[s->strategy].begin(s, d, d->lineages);
    size_t at = first_queued(s, d);
    while (at == NONE && follow(s, d))
        at = first_queued(s, d);
    return at;
}

/* The next trial that must run; those with known outcomes are answered on the way. NONE: none is left. */
static size_t next_trial(const struct search *s, struct dsat *d)
{
    size_t begun = 0;
    /* Bounded: lineages might lead to known outcomes forever. */
    for (size_t known_ones = 0; search_any_open(s) && known_ones <= s->space->count + DRAWS_MOST;) {
        size_t at = pick(s, d);
        if (at == NONE) {
            if (d->followed < d->started || begun++ == DRAWS_MOST)
                break;
            methods[s->strategy].begin(s, d, d->lineages);
            continue;
        }
        d->trials[at].sequence = d->started++;
        known_ones++;
        /* It shares the outcome of a trial that runs. */
        if (s->trials[d->trials[at].candidate].state == TRIAL_NONE)
            return at;
    }
    return NONE;
}

/* --- the algorithm --- */

static void dsat_create(struct search *s, void *own)
{
    struct dsat *d = own;
    for (size_t f = 0; f < s->families.count; f++) {
        double *estimate = &d->estimate[family_stage(s, f)];
        *estimate = fmax(*estimate, family_micro_batch(s, f, family_estimate(s, f, 1)));
    }
}

static void dsat_free(void *own)
{
    free(((struct dsat *)own)->trials);
}

static enum search_answer dsat_ask(struct search *s, void *own, struct decision *out)
{
    struct dsat *d = own, was = *d;
    size_t at = next_trial(s, d);
    if (at == NONE) {
        was.trials = d->trials; /* there may be more now, which do not count */
        *d = was;
        for (size_t i = 0; i < d->count; i++)
            d->trials[i].sequence = d->trials[i].sequence < d->started ? d->trials[i].sequence : NONE;
        explain(out, "no more trials are queued");
        return SEARCH_FINISHED;
    }
    const struct dsat_trial *t = &d->trials[at];
    out->candidate = t->candidate;
    out->lineage = t->stream;
    out->index = t->index;
    explain(out, "lineage %llu, trial %llu: micro-batch %g of %g to %g", (unsigned long long)t->lineage,
            (unsigned long long)t->index + 1, t->micro_batch, t->low, t->high);
    return SEARCH_RUN;
}

const struct algorithm algorithm_dsat = {.own_size = sizeof(struct dsat),
                                         .is_of_families = true,
                                         .create = dsat_create,
                                         .free = dsat_free,
                                         .ask = dsat_ask};
