/* A search space whose outcomes are known: ZeRO stages × bucket sizes × micro-batches of one model. A larger
 * micro-batch is faster up to a peak and does not fit beyond a limit that grows with the stage; buckets change speed,
 * not memory. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/strategy.h"
#include "unit_test.h"
#include "util/rng.h"

#define FIXTURE_STAGES 4
#define FIXTURE_BUCKETS 3

struct search_fixture {
    struct search_space space;
    struct candidate *candidates;
    double *values;
    double limit[FIXTURE_STAGES]; /* largest micro-batch that fits */
    double peak;                  /* the fastest micro-batch */
    double *terms;                /* of memory: 1 and the micro-batch */
    struct search_place place;
    size_t micro_batches;
};

static const char *const fixture_keys[] = {"zero_stage", "bucket", "micro_batch", NULL};

/* On two devices; nothing is predicted of it. */
static inline struct candidate candidate_of(const double *values, double micro_batch, double zero_stage,
                                            uint64_t identity)
{
    return (struct candidate){.values = values,
                              .identity = identity,
                              .micro_batch = micro_batch,
                              .zero_stage = zero_stage,
                              .devices = 2,
                              .bytes = NAN,
                              .usable_bytes = NAN,
                              .oom_probability = NAN,
                              .seconds = NAN,
                              .work = 1};
}

/* Micro-batches 1, 2, 4, … or 1, 2, 3, … */
static inline struct search_fixture fixture_open(size_t micro_batches, bool doubling)
{
    struct search_fixture f = {.peak = 6, .limit = {3, 5, 9, 12}, .micro_batches = micro_batches};
    size_t count = FIXTURE_STAGES * FIXTURE_BUCKETS * micro_batches;
    f.candidates = calloc(count, sizeof *f.candidates);
    f.values = calloc(count * 3, sizeof *f.values);
    for (size_t i = 0; i < count; i++) {
        size_t mb = i % micro_batches, bucket = i / micro_batches % FIXTURE_BUCKETS;
        size_t stage = i / micro_batches / FIXTURE_BUCKETS;
        double *v = f.values + 3 * i;
        v[0] = (double)stage;
        v[1] = 5e7 * (double)(bucket + 1);
        v[2] = doubling ? (double)(1U << mb) : (double)(mb + 1);
        f.candidates[i] = candidate_of(v, v[2], v[0], rng_at(1, i));
        f.candidates[i].configuration = stage * FIXTURE_BUCKETS + bucket;
        f.candidates[i].memory_class = stage;
    }
    f.space = (struct search_space){
        .keys = fixture_keys,
        .key_count = 3,
        .candidates = f.candidates,
        .count = count,
        .group_count = 1,
        .configuration_count = FIXTURE_STAGES * FIXTURE_BUCKETS,
        .memory_class_count = FIXTURE_STAGES,
        .maximise = true,
        .relation = SEARCH_RATE,
    };
    return f;
}

static inline void search_fixture_free(struct search_fixture *f)
{
    free(f->candidates);
    free(f->values);
    free(f->terms);
}

/* Samples a second, of which there are fewer away from the peak. */
static inline double fixture_objective(const struct search_fixture *f, size_t candidate)
{
    const double *v = f->values + 3 * candidate;
    double distance = log2(v[2] / f->peak);
    return 100 * exp(-0.2 * distance * distance) * (1 - 0.03 * v[0]) * (1 - 0.01 * fabs(v[1] / 5e7 - 2));
}

static inline bool fixture_fits(const struct search_fixture *f, size_t candidate)
{
    const double *v = f->values + 3 * candidate;
    return v[2] <= f->limit[(size_t)v[0]];
}

/* Memory of which `wrong` times as much is predicted as is used, and times as they are. */
static inline void fixture_predict(struct search_fixture *f, double wrong)
{
    f->place = (struct search_place){
        .has_memory = true,
        .memory = {.terms = 2, .weights = {wrong, wrong}, .noise = 0.05, .spread = 0.3, .sigma = 0.12},
    };
    f->space.places = &f->place;
    f->space.place_count = 1;
    free(f->terms);
    f->terms = calloc(f->space.count * CALIBRATION_TERMS, sizeof *f->terms);
    for (size_t i = 0; i < f->space.count; i++) {
        struct candidate *c = &f->candidates[i];
        double *terms = f->terms + i * CALIBRATION_TERMS;
        terms[0] = 1;
        terms[1] = c->micro_batch;
        c->memory_terms = terms;
        c->bytes = wrong * (1 + c->micro_batch);
        c->usable_bytes = 1.5 + f->limit[(size_t)c->zero_stage];
        c->oom_probability = 0.5 * erfc(-log(c->bytes / c->usable_bytes) / 0.12 / sqrt(2));
        c->seconds = 1 / fixture_objective(f, i);
    }
}

/* Of a job that ran out of memory, or did not fail. */
static inline struct search_outcome outcome_of(enum outcome_kind kind, double objective, double device_seconds)
{
    return (struct search_outcome){.kind = kind,
                                   .out_of_memory = kind == OUTCOME_FAILED,
                                   .objective = objective,
                                   .steps = NAN,
                                   .seconds = NAN,
                                   .bytes = NAN,
                                   .device_seconds = device_seconds};
}

/* The search is told that a candidate's job came to this. */
static inline void fixture_tell(struct search *s, size_t candidate, struct search_outcome o)
{
    search_tell(s, candidate, &o);
}

/* The decision of a search that goes on. */
static inline struct decision fixture_ask(struct search *s)
{
    struct decision d;
    assert_int_equal(search_ask(s, &d), SEARCH_RUN);
    return d;
}

static inline struct search_outcome fixture_outcome(const struct search_fixture *f, const struct decision *d)
{
    struct search_outcome o = outcome_of(OUTCOME_FAILED, NAN, 36);
    if (!fixture_fits(f, d->candidate))
        return o;
    o.kind = d->resource > 0 ? OUTCOME_STOPPED : OUTCOME_OK;
    o.out_of_memory = false;
    o.objective = fixture_objective(f, d->candidate);
    o.bytes = 1 + f->candidates[d->candidate].micro_batch;
    o.steps = d->resource > 0 ? d->resource : NAN;
    return o;
}

struct fixture_result {
    size_t trials, failures, most_running;
    size_t asked[4096];
    double best; /* over the best there is */
};

static inline double fixture_optimum(const struct search_fixture *f)
{
    double best = 0;
    for (size_t i = 0; i < f->space.count; i++)
        if (fixture_fits(f, i) && fixture_objective(f, i) > best)
            best = fixture_objective(f, i);
    return best;
}

/* Runs to the end with `width` trials at a time; `order` chooses which of those that run ends next. */
static inline struct fixture_result fixture_run(const struct search_fixture *f, struct search *s, size_t width,
                                                uint64_t order)
{
    struct fixture_result r = {0};
    struct decision running[64], next;
    size_t count = 0;
    struct rng draws = rng_stream(order, 0);
    enum search_answer answer = SEARCH_RUN;
    while (answer != SEARCH_FINISHED || count > 0) {
        while (count < width && (answer = search_ask(s, &next)) == SEARCH_RUN) {
            r.asked[r.trials++] = next.candidate;
            running[count++] = next;
        }
        if (count == 0)
            break;
        r.most_running = count > r.most_running ? count : r.most_running;
        size_t ends = order ? rng_below(&draws, count) : 0;
        struct search_outcome o = fixture_outcome(f, &running[ends]);
        r.failures += o.kind == OUTCOME_FAILED;
        search_tell(s, running[ends].candidate, &o);
        memmove(running + ends, running + ends + 1, (--count - ends) * sizeof *running);
        answer = SEARCH_RUN;
    }
    size_t candidate;
    double objective = 0;
    if (search_best(s, 0, &candidate, &objective))
        r.best = objective / fixture_optimum(f);
    return r;
}

/* A test over a space of so many micro-batches, `f`. */
#define FIXTURE_TEST(name, micro_batches, doubling)                                                                    \
    static void name##_over(struct search_fixture *f);                                                                 \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        HELD(search_fixture) f = fixture_open(micro_batches, doubling);                                                \
        name##_over(&f);                                                                                               \
    }                                                                                                                  \
    static void name##_over(struct search_fixture *f)
