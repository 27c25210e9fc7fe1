/* search: replaying strategies against outcomes that are known. */
#include "search/replay.h"
#include "search_fixture.h"
#include "unit_test.h"

#define SIZE 12

/* A table of SIZE candidates: key 0 is the configuration, key 1 the micro-batch; those of micro-batch 4 are out of
 * memory. More is better; the best is micro-batch 2 of configuration 3. Given in descending order of the result. */
struct table {
    double values[SIZE][2];
    struct candidate candidates[SIZE];
    struct replay_outcome outcomes[SIZE];
    size_t group_of[SIZE];
    struct search_space space;
};

static void fill(struct table *t)
{
    static const char *const keys[] = {"configuration", "micro_batch"};
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < SIZE; i++) {
        size_t configuration = 3 - i / 3, batch = i % 3 == 0 ? 2 : i % 3 == 1 ? 1 : 4;
        t->values[i][0] = (double)configuration;
        t->values[i][1] = (double)batch;
        t->candidates[i] = candidate_of(t->values[i], (double)batch, NAN, 1000 + i);
        t->candidates[i].configuration = t->candidates[i].memory_class = configuration;
        t->outcomes[i].outcome = batch == 4 ? outcome_of(OUTCOME_FAILED, NAN, 3600)
                                            : outcome_of(OUTCOME_OK, 10 * (double)configuration + (double)batch, 3600);
        t->group_of[i] = 0;
    }
    t->space = (struct search_space){.keys = keys,
                                     .key_count = 2,
                                     .candidates = t->candidates,
                                     .count = SIZE,
                                     .group_count = 1,
                                     .configuration_count = 4,
                                     .memory_class_count = 4,
                                     .maximise = true};
}

static struct replay_result run(const struct replay_group *g, const char *strategy, size_t concurrent)
{
    struct search_options options = search_options_none();
    struct replay_result result = {0};
    options.strategy = strategy;
    options.numbers[SEARCH_MAX_TRIALS] = SEARCH_UNLIMITED;
    const struct replay_task task = {.group = g,
                                     .options = &options,
                                     .concurrent = concurrent,
                                     .target_gap = 0.05,
                                     .seed = 1};
    FAIL_IF(replay_run(&task, &result, &e) < 0);
    return result;
}

TEST(replay_run__grid__counts_until_the_target)
{
    struct table t;
    fill(&t);
    struct replay_group *g = replay_groups_make(&t.space, t.outcomes, t.group_of, 1);
    assert_int_equal(g->ok, 8);
    assert_int_equal(g->failed, 4);
    assert_float_equal(g->best, 32, 0);
    assert_float_equal(g->worst, 1, 0);
    /* From the lowest values on, whatever the order of the table: micro-batches 1, 2, 4 of configuration 0, 1, 2, 3. 31
     * is within 5 % of 32. */
    struct replay_result r = run(g, "grid", 1);
    assert_true(r.arrived);
    assert_int_equal(r.trials, 10);
    assert_int_equal(r.failed, 3);
    assert_float_equal(r.device_hours, 10, 1e-9);
    assert_float_equal(r.slowdown[0], 32, 1e-9);        /* 1 */
    assert_float_equal(r.slowdown[1], 16, 1e-9);        /* 2 */
    assert_float_equal(r.slowdown[2], 32.0 / 12, 1e-9); /* 12 */
    assert_float_equal(r.slowdown[3], 32.0 / 31, 1e-9);
    assert_int_equal(r.stop_trials, SIZE);
    /* The whole round counts. */
    assert_int_equal(run(g, "grid", 4).trials, 12);
    replay_groups_free(g, 1);
}

TEST(replay_run__less_is_better__reciprocal)
{
    struct table t;
    fill(&t);
    t.space.maximise = false;
    struct replay_group *g = replay_groups_make(&t.space, t.outcomes, t.group_of, 1);
    assert_float_equal(g->best, 1, 0);
    struct replay_result r = run(g, "grid", 1);
    assert_int_equal(r.trials, 1);
    assert_float_equal(r.slowdown[3], 1, 0);
    replay_groups_free(g, 1);
}

TEST(replay_groups_make__groups__numbered_anew)
{
    struct table t;
    fill(&t);
    for (size_t i = 0; i < SIZE; i++)
        t.group_of[i] = i < 6 ? 1 : i < 9 ? 0 : 2;
    for (size_t i = 9; i < SIZE; i++) /* nothing runs there */
        t.outcomes[i].outcome =
            (struct search_outcome){.kind = OUTCOME_FAILED, .objective = NAN, .device_seconds = NAN};
    struct replay_group *g = replay_groups_make(&t.space, t.outcomes, t.group_of, 3);
    assert_int_equal(g[1].space.count, 6);
    assert_int_equal(g[1].space.configuration_count, 2);
    assert_int_equal(g[0].space.count, 3);
    assert_int_equal(g[0].candidates[0].configuration, 0);
    assert_int_equal(g[0].candidates[0].group, 0);
    assert_int_equal(g[2].ok, 0);
    assert_true(isnan(g[2].best));
    replay_groups_free(g, 3);
}

TEST(replay_disturb__factors__within_their_range_and_undone)
{
    struct table t;
    struct search_place place = {.has_memory = true,
                                 .has_time = true,
                                 .memory = {.terms = 1, .weights = {1}, .sigma = 0.1},
                                 .time = {.terms = 2, .weights = {1, 1}}};
    double memory[CALIBRATION_TERMS] = {100}, time[CALIBRATION_TERMS] = {1, 1};
    fill(&t);
    t.space.places = &place;
    t.space.place_count = 1;
    for (size_t i = 0; i < SIZE; i++) {
        t.candidates[i].memory_terms = memory;
        t.candidates[i].time_terms = time;
        t.candidates[i].bytes = t.candidates[i].usable_bytes = 100;
        t.candidates[i].seconds = 2;
        t.candidates[i].oom_probability = 0.5;
    }
    struct replay_group *g = replay_groups_make(&t.space, t.outcomes, t.group_of, 1);
    double lowest = INFINITY, highest = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const struct replay_error wrong = {1.5, 2.8, seed, 0, REPLAY_GIVEN};
        replay_disturb(g, &t.space, &wrong);
        double factor = g->candidates[0].bytes / 100;
        assert_true(factor > 1 / 1.5001 && factor < 1.5001);
        assert_true((g->candidates[0].oom_probability > 0.5) == (factor > 1));
        assert_true(g->candidates[0].seconds > 2 / 2.8001 && g->candidates[0].seconds < 2 * 2.8001);
        lowest = fmin(lowest, factor);
        highest = fmax(highest, factor);
    }
    assert_true(lowest < 0.7 && highest > 1.4);
    const struct replay_error right = {1, 1, 0, 0, REPLAY_GIVEN};
    replay_disturb(g, &t.space, &right);
    assert_float_equal(g->candidates[0].bytes, 100, 1e-9);
    assert_float_equal(g->candidates[0].seconds, 2, 1e-9);
    replay_groups_free(g, 1);
}

TEST(replay_disturb__inverted_or_none__best_last_and_nothing_known)
{
    struct table t;
    struct search_place place = {.has_memory = true,
                                 .has_time = true,
                                 .memory = {.terms = 1, .weights = {2}, .sigma = 0.1},
                                 .time = {.terms = 1, .weights = {0.5}, .sigma = 0.1}};
    double memory[SIZE][CALIBRATION_TERMS] = {{0}}, time[SIZE][CALIBRATION_TERMS] = {{0}};
    fill(&t);
    t.space.places = &place;
    t.space.place_count = 1;
    for (size_t i = 0; i < SIZE; i++) {
        struct candidate *c = &t.candidates[i];
        memory[i][0] = (double)(i + 1);
        time[i][0] = 4 * (double)(SIZE - i);
        c->memory_terms = memory[i];
        c->time_terms = time[i];
        c->bytes = 2 * memory[i][0];
        c->seconds = 0.5 * time[i][0];
        c->usable_bytes = SIZE;
    }
    struct replay_group *g = replay_groups_make(&t.space, t.outcomes, t.group_of, 1);
    const struct replay_error inverted = {1, 1, 0, 0, REPLAY_INVERTED}, none = {1, 1, 0, 0, REPLAY_NONE},
                              right = {1, 1, 0, 0, REPLAY_GIVEN};
    replay_disturb(g, &t.space, &inverted);
    for (size_t i = 0; i < g->space.count; i++)
        for (size_t k = 0; k < g->space.count; k++) {
            const struct candidate *x = &t.candidates[g->members[i]], *y = &t.candidates[g->members[k]];
            const struct candidate *a = &g->candidates[i], *b = &g->candidates[k];
            assert_true((x->bytes < y->bytes) == (a->bytes > b->bytes));
            assert_true((x->seconds / x->work < y->seconds / y->work) == (a->seconds / a->work > b->seconds / b->work));
            assert_float_equal(a->bytes, 2 * a->memory_terms[0], 1e-9 * a->bytes);
            assert_float_equal(a->seconds, 0.5 * a->time_terms[0], 1e-9 * a->seconds);
        }
    replay_disturb(g, &t.space, &none);
    assert_true(isnan(g->candidates[0].bytes) && isnan(g->candidates[0].seconds));
    assert_null(g->candidates[0].time_terms);
    assert_int_equal(g->space.place_count, 0);
    replay_disturb(g, &t.space, &right);
    assert_float_equal(g->candidates[0].bytes, t.candidates[g->members[0]].bytes, 1e-9);
    assert_int_equal(g->space.place_count, 1);
    replay_groups_free(g, 1);
}

TEST(replay_summarise__groups_of_seeds__mean_interval_quantiles)
{
    const double values[] = {1, 3, 2, 2, NAN, NAN, 10, 30};
    struct replay_statistics s = replay_summarise(values, 4, 2);
    assert_float_equal(s.mean, 8, 1e-12);
    assert_float_equal(s.median, 2.5, 1e-12);
    assert_float_equal(s.p90, 20, 1e-12);
    /* The groups' means are 2, 2 and 20: 4.3027 with 2 degrees of freedom times sqrt(108 / 3). */
    assert_float_equal(s.low, 8 - 4.302653 * 6, 1e-4);
    assert_float_equal(s.high, 8 + 4.302653 * 6, 1e-4);
    assert_true(isnan(replay_summarise(values + 4, 1, 2).mean));
    s = replay_summarise(values, 2, 2);
    assert_float_equal(s.mean, 2, 1e-12);
    assert_true(isnan(s.low) && isnan(s.high));
}
