#include "search/dsat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/rng.h"

#define DRAWS_MOST 64 /* lineages that may begin in vain before the search ends */

size_t dsat_stage(const struct search *s, const struct dsat *d, size_t family)
{
    double stage = s->space->candidates[families_member(&d->families, family, 0)].zero_stage;
    return stage >= 0 && stage < DSAT_STAGES - 1 ? (size_t)stage : DSAT_STAGES - 1;
}

int dsat_create(struct search *s, struct dsat *d, struct error *e)
{
    if (families_create(s, &d->families, e) < 0)
        return -1;
    for (size_t f = 0; f < d->families.count; f++) {
        size_t at = families_estimate(&d->families, s, f, 1), stage = dsat_stage(s, d, f);
        double largest = s->space->candidates[families_member(&d->families, f, at)].micro_batch;
        if (largest > d->estimate[stage])
            d->estimate[stage] = largest;
    }
    return 0;
}

void dsat_destroy(void *own)
{
    struct dsat *d = own;
    if (!d)
        return;
    families_free(&d->families);
    free(d->trials);
    free(d);
}

size_t dsat_draw_family(const struct search *s, const struct dsat *d, uint64_t stream, size_t stage)
{
    size_t stages[DSAT_STAGES], stage_count = 0, in_stage = 0;
    for (size_t i = 0; i < DSAT_STAGES; i++)
        if (d->estimate[i] > 0 && (stage == SIZE_MAX || stage == i))
            stages[stage_count++] = i;
    if (stage_count == 0)
        return SIZE_MAX;
    stage = stages[search_draw(s, stream, 0, stage_count)];
    for (size_t f = 0; f < d->families.count; f++)
        in_stage += dsat_stage(s, d, f) == stage;
    size_t chosen = search_draw(s, stream, 1, in_stage);
    for (size_t f = 0; f < d->families.count; f++)
        if (dsat_stage(s, d, f) == stage && chosen-- == 0)
            return f;
    return SIZE_MAX;
}

bool dsat_queue(struct search *s, struct dsat *d, const struct dsat_trial *trial)
{
    const struct families *f = &d->families;
    size_t at = families_at_most(f, s, trial->family, trial->micro_batch);
    const struct candidate *all = s->space->candidates;
    if (at == SIZE_MAX || all[families_member(f, trial->family, at)].micro_batch < trial->low)
        at = at == SIZE_MAX ? 0 : at + 1;
    if (at >= families_size(f, trial->family) ||
        all[families_member(f, trial->family, at)].micro_batch > fmax(trial->high, trial->low))
        return false;
    d->trials = array_grow(d->trials, d->count, sizeof *d->trials);
    struct dsat_trial *t = &d->trials[d->count++];
    *t = *trial;
    t->candidate = families_member(f, trial->family, at);
    t->micro_batch = all[t->candidate].micro_batch;
    t->objective = NAN;
    t->started = t->told = t->failed = t->outcome.any = false;
    return true;
}

void dsat_begin_bisection(struct search *s, struct dsat *d, uint64_t stream)
{
    size_t family = dsat_draw_family(s, d, stream, SIZE_MAX);
    double high = floor(search_number(s, SEARCH_RANGE_FACTOR) * d->estimate[dsat_stage(s, d, family)]);
    high = high < 1 ? 1 : high;
    const struct dsat_trial t = {.family = family,
                                 .lineage = d->lineages++,
                                 .stream = stream,
                                 .parent = SIZE_MAX,
                                 .low = 1,
                                 .high = high,
                                 .micro_batch = floor((1 + high) / 2)};
    dsat_queue(s, d, &t);
}

uint64_t dsat_stream_after(const struct dsat_trial *trial)
{
    return rng_at(trial->stream, trial->index + 1);
}

size_t dsat_completed(const struct dsat *d, uint64_t lineage)
{
    size_t completed = 0;
    for (size_t i = 0; i < d->count; i++)
        completed += d->trials[i].lineage == lineage && d->trials[i].told;
    return completed;
}

static size_t lineages_at_once(const struct search *s)
{
    double most = search_number(s, SEARCH_MAX_CONCURRENT_TRIALS), slots = search_number(s, SEARCH_MAX_SLOTS);
    if (slots > 0 && slots / s->devices_most < most)
        most = floor(slots / s->devices_most);
    /* More lineages than candidates would find nothing more. */
    most = fmin(most, fmax((double)s->space->count, search_numbers[SEARCH_MAX_CONCURRENT_TRIALS].fallback));
    return most < 1 ? 1 : (size_t)most;
}

static size_t first_queued(const struct dsat *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (!d->trials[i].started)
            return i;
    return SIZE_MAX;
}

/* Processes the next outcome in turn and queues what follows. False: it has not arrived. */
static bool follow(struct search *s, struct dsat *d)
{
    for (size_t i = 0; i < d->count; i++) {
        struct dsat_trial *t = &d->trials[i];
        if (!t->started || t->sequence != d->followed)
            continue;
        if (!t->outcome.any)
            return false;
        d->followed++;
        t->told = true;
        t->failed = t->outcome.failed;
        t->objective = t->outcome.objective;
        d->next(s, d, i);
        return true;
    }
    return false;
}

/* The trial to start next; SIZE_MAX: nothing is queued, or an outcome has not arrived. */
static size_t pick(struct search *s, struct dsat *d)
{
    const size_t at_once = lineages_at_once(s);
    while (d->followed + at_once <= d->started)
        if (!follow(s, d))
            return SIZE_MAX;
    while (d->lineages < at_once)
        d->begin(s, d, d->lineages);
    size_t at = first_queued(d);
    while (at == SIZE_MAX && follow(s, d))
        at = first_queued(d);
    return at != SIZE_MAX && d->pick ? d->pick(d) : at;
}

static void take(struct dsat_trial *t, bool failed, double objective)
{
    t->outcome.any = true;
    t->outcome.failed = failed;
    t->outcome.objective = failed ? NAN : objective;
}

/* The next trial that must run; those with known outcomes are answered on the way. SIZE_MAX: none is left. */
static size_t next_trial(struct search *s, struct dsat *d)
{
    size_t begun = 0;
    /* Bounded: lineages might lead to known outcomes forever. */
    for (size_t known_ones = 0; search_any_open(s) && known_ones <= s->space->count + DRAWS_MOST;) {
        size_t at = pick(s, d);
        if (at == SIZE_MAX) {
            if (d->followed < d->started || begun++ == DRAWS_MOST)
                break;
            d->begin(s, d, d->lineages);
            continue;
        }
        struct dsat_trial *t = &d->trials[at];
        const struct trial *known = &s->trials[t->candidate];
        t->started = true;
        t->sequence = d->started++;
        known_ones++;
        if (known->state == TRIAL_RUNNING)
            continue; /* it shares the outcome of the trial that is running */
        if (known->state == TRIAL_NONE)
            return at;
        take(t, known->state == TRIAL_FAILED, known->objective);
    }
    return SIZE_MAX;
}

enum search_answer dsat_ask(struct search *s, void *own, struct decision *out)
{
    struct dsat *d = own;
    const struct dsat was = *d;
    struct dsat_trial *before = xcalloc(was.count + 1, sizeof *before);
    if (was.count > 0)
        memcpy(before, d->trials, was.count * sizeof *before);
    size_t at = next_trial(s, d);
    if (at != SIZE_MAX) {
        const struct dsat_trial *t = &d->trials[at];
        *out = (struct decision){.candidate = t->candidate, .lineage = t->stream, .index = t->index};
        snprintf(out->reason, sizeof out->reason, "lineage %llu, trial %llu: micro-batch %g of %g to %g",
                 (unsigned long long)t->lineage, (unsigned long long)t->index + 1, t->micro_batch, t->low, t->high);
    } else {
        snprintf(out->reason, sizeof out->reason, "no more trials are queued");
        if (was.count > 0)
            memcpy(d->trials, before, was.count * sizeof *before);
        d->count = was.count;
        d->started = was.started;
        d->followed = was.followed;
        d->lineages = was.lineages;
    }
    free(before);
    return at != SIZE_MAX ? SEARCH_RUN : SEARCH_FINISHED;
}

void dsat_tell(struct search *s, void *own, size_t candidate, const struct search_outcome *outcome)
{
    struct dsat *d = own;
    families_tell(&d->families, s, candidate);
    for (size_t i = 0; i < d->count; i++) {
        struct dsat_trial *t = &d->trials[i];
        if (t->candidate == candidate && t->started && !t->outcome.any)
            take(t, outcome->kind == OUTCOME_FAILED, outcome->objective);
    }
}

/* --- dsat-binary: bisects the micro-batch of one random configuration for the largest that runs, then another's. It
 * never looks above the estimate. --- */

static void next_of_bisection(struct search *s, struct dsat *d, size_t trial)
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

static int create_binary(struct search *s, void **own, struct error *e)
{
    struct dsat *d = xcalloc(1, sizeof *d);
    *own = d;
    d->next = next_of_bisection;
    d->begin = dsat_begin_bisection;
    return dsat_create(s, d, e);
}

const struct strategy strategy_dsat_binary = {.name = "dsat-binary",
                                              .create = create_binary,
                                              .free = dsat_destroy,
                                              .ask = dsat_ask,
                                              .tell = dsat_tell};
