/* search: every strategy on a space whose outcomes are known, and what each promises. */

#include "config/sweep.h"
#include "search/state.h"
#include "search_fixture.h"

/* The bucket after the rest; of stage-by-stage alone. */
static struct listed_word first_keys[] = {{.text = "zero_stage"}, {.text = "micro_batch"}},
                          last_keys[] = {{.text = "bucket"}};
static const struct search_stage stages[] = {
    {.name = "memory", .free = {first_keys, 2}, .strategy = "random", .max_trials = 40},
    {.name = "bucket", .free = {last_keys, 1}, .strategy = "grid", .max_trials = 2},
};

static struct search *open_search(struct search_fixture *f, const char *strategy, double seed)
{
    struct search_options o = search_options_none();
    o.strategy = strategy;
    o.stages = stages;
    o.stage_count = 2;
    o.numbers[SEARCH_RANDOM_SEED] = seed;
    for (size_t i = 0; i < SEARCH_ZERO_STAGES; i++)
        o.zero_stages[i] = true;
    struct search *s = NULL;
    struct error e = ERROR_INIT;
    FAIL_WHERE(search_create(&f->space, &o, &s, &e) < 0, "%s: %s", strategy, e.text);
    return s;
}

TEST(every_strategy__run_alone_and_beside_others__ends_and_asks_nothing_twice)
{
    for (size_t i = 0; search_strategy_names[i]; i++)
        for (size_t width = 1; width <= 4; width += 3) {
            HELD(search_fixture) f = fixture_open(16, false);
            HELD_AT(search) *s = open_search(&f, search_strategy_names[i], 1);
            struct fixture_result r = fixture_run(&f, s, width, width);
            struct decision d;
            assert_int_equal(search_ask(s, &d), SEARCH_FINISHED);
            assert_true(d.reason[0]);
            assert_true(r.trials > 0);
            FAIL_WHERE(r.best < 0.8, "%s, %zu at a time: %g of the best", search_strategy_names[i], width, r.best);
            bool asked[4096] = {false};
            for (size_t t = 0; t < r.trials && strcmp(search_strategy_names[i], "asha") != 0; t++) {
                assert_false(asked[r.asked[t]]);
                asked[r.asked[t]] = true;
            }
        }
}

/* Predictions may be wrong: before anything has run they keep no strategy from trying. */
TEST(every_strategy__nothing_is_predicted_to_fit__tries_all_the_same)
{
    for (size_t i = 0; search_strategy_names[i]; i++) {
        HELD(search_fixture) f = fixture_open(4, true);
        fixture_predict(&f, 1);
        for (size_t c = 0; c < f.space.count; c++) {
            f.candidates[c].memory_terms = NULL;
            f.candidates[c].bytes = 1e12;
            f.candidates[c].oom_probability = 1;
        }
        HELD_AT(search) *s = open_search(&f, search_strategy_names[i], 1);
        struct decision d;
        FAIL_WHERE(search_ask(s, &d) != SEARCH_RUN, "%s: %s", search_strategy_names[i], d.reason);
    }
}

/* Told in one order or the other, what ran together leads to the same next decisions. */
TEST(every_strategy__outcomes_in_another_order__same_decisions)
{
    for (size_t i = 0; search_strategy_names[i]; i++) {
        HELD(search_fixture) f = fixture_open(16, false);
        HELD_AT(search) *a = open_search(&f, search_strategy_names[i], 3),
                        *b = open_search(&f, search_strategy_names[i], 3);
        for (int round = 0; round < 8; round++) {
            struct decision x[3], y[3];
            size_t n = 0;
            while (n < 3 && search_ask(a, &x[n]) == SEARCH_RUN) {
                assert_int_equal(search_ask(b, &y[n]), SEARCH_RUN);
                assert_int_equal(x[n].candidate, y[n].candidate);
                n++;
            }
            for (size_t t = 0; t < n; t++) {
                fixture_tell(a, x[t].candidate, fixture_outcome(&f, &x[t]));
                fixture_tell(b, x[n - 1 - t].candidate, fixture_outcome(&f, &x[n - 1 - t]));
            }
        }
    }
}

struct repeated_event {
    bool asks;
    struct decision decision;
};

/* A search that is repeated knows what was asked for and reported, not when it said that there was nothing to start. */
TEST(every_strategy__repeated_without_its_waits__same_decisions)
{
    for (size_t i = 0; search_strategy_names[i]; i++)
        for (uint64_t order = 1; order < 6; order++) {
            HELD(search_fixture) f = fixture_open(16, false);
            HELD_AT(search) *a = open_search(&f, search_strategy_names[i], 5),
                            *b = open_search(&f, search_strategy_names[i], 5);
            static struct repeated_event events[8192];
            struct decision running[8], next;
            size_t count = 0, width = 0;
            struct rng draws = rng_stream(order, 1);
            while (count + 2 < LENGTH(events)) {
                while (width < 8 && search_ask(a, &next) == SEARCH_RUN)
                    running[width++] = events[count].decision = next, events[count++].asks = true;
                if (width == 0)
                    break;
                size_t ends = rng_below(&draws, width);
                events[count++] = (struct repeated_event){false, running[ends]};
                fixture_tell(a, running[ends].candidate, fixture_outcome(&f, &running[ends]));
                running[ends] = running[--width];
            }
            for (size_t n = 0; n < count; n++)
                if (events[n].asks) {
                    if (search_ask(b, &next) != SEARCH_RUN || next.candidate != events[n].decision.candidate ||
                        strcmp(next.reason, events[n].decision.reason) != 0)
                        fail_msg("%s, order %d, event %zu: \"%s\" became \"%s\"", search_strategy_names[i], (int)order,
                                 n, events[n].decision.reason, next.reason);
                } else
                    fixture_tell(b, events[n].decision.candidate, fixture_outcome(&f, &events[n].decision));
        }
}

TEST(every_strategy__same_again__same_trials)
{
    for (size_t i = 0; search_strategy_names[i]; i++) {
        HELD(search_fixture) f = fixture_open(16, false);
        HELD_AT(search) *a = open_search(&f, search_strategy_names[i], 9),
                        *b = open_search(&f, search_strategy_names[i], 9);
        struct fixture_result x = fixture_run(&f, a, 3, 5), y = fixture_run(&f, b, 3, 5);
        assert_int_equal(x.trials, y.trials);
        assert_memory_equal(x.asked, y.asked, x.trials * sizeof *x.asked);
    }
}

/* The same runs side by side, however many and in whichever order they end, as one after the other. */
TEST_ROWS(staged_and_dsat__beside_others__same_trials_in_the_same_order, (const char *text), {"staged"},
          {"dsat-random"}, {"dsat-binary"}, {"dsat-asha"})
{
    for (uint64_t order = 0; order < 12; order++) {
        HELD(search_fixture) f = fixture_open(16, false);
        HELD_AT(search) *a = open_search(&f, row->text, 42), *b = open_search(&f, row->text, 42);
        struct fixture_result x = fixture_run(&f, a, 1, 0), y = fixture_run(&f, b, 2 + order % 6, order);
        if (x.trials != y.trials || memcmp(x.asked, y.asked, x.trials * sizeof *x.asked) != 0)
            fail_msg("%s, %d at a time, order %d: other trials", row->text, (int)(2 + order % 6), (int)order);
        assert_true(x.trials > 1);
        assert_true(x.best == y.best);
        assert_int_equal(x.most_running, 1);
        assert_true(y.most_running > 1);
    }
}

/* As the documents of dsat say. */
TEST(dsat__limits_not_given__those_of_its_documents)
{
    for (size_t i = 0; search_strategy_names[i]; i++) {
        struct search_options o = search_options_none();
        o.strategy = search_strategy_names[i];
        search_options_complete(&o);
        bool dsat = strncmp(o.strategy, "dsat-", 5) == 0;
        assert_true((o.numbers[SEARCH_MAX_TRIALS] == 50) == dsat);
        assert_true(o.numbers[SEARCH_MAX_CONCURRENT_TRIALS] == 16);
    }
}

/* Buckets are steps of accumulation here: all of them are tried at the best micro-batch. */
FIXTURE_TEST(staged__accumulations__the_best_of_them, 16, false)
{
    for (size_t i = 0; i < f->space.count; i++)
        f->candidates[i].configuration = (size_t)f->candidates[i].zero_stage;
    f->space.configuration_count = FIXTURE_STAGES;
    HELD_AT(search) *s = open_search(f, "staged", 1);
    struct fixture_result r = fixture_run(f, s, 2, 0);
    assert_true(r.best == 1);
    assert_true(r.trials <= 16);
}

/* A key that memory hangs on is looked at only where more memory may pay, and costs no trial where the fastest
 * micro-batch fits. */
TEST(staged__memory_key__only_where_memory_is_short)
{
    static const bool savers[] = {false, true, false};
    for (int plenty = 0; plenty <= 1; plenty++) {
        HELD(search_fixture) f = fixture_open(16, false);
        for (size_t i = 0; i < FIXTURE_STAGES; i++)
            f.limit[i] = plenty ? 16 : 3;
        f.space.saves_memory = savers;
        HELD_AT(search) *s = open_search(&f, "staged", 1);
        struct fixture_result r = fixture_run(&f, s, 1, 0);
        size_t of_others = 0;
        for (size_t i = 0; i < r.trials; i++)
            of_others += f.values[3 * r.asked[i] + 1] != 5e7;
        assert_int_equal(of_others > 0, !plenty);
    }
}

FIXTURE_TEST(binary__no_predictions__largest_and_best_of_every_configuration, 16, false)
{
    HELD_AT(search) *s = open_search(f, "binary", 1);
    struct fixture_result r = fixture_run(f, s, 1, 0);
    assert_float_equal(r.best, 1, 0.01);
    assert_true(r.trials < f->space.count / 3);
    assert_true(r.failures <= 3 * FIXTURE_STAGES); /* brackets are shared by the buckets */
}

/* The first micro-batches that are tried of the first configuration, of which there are 64, where `limit` is the
 * largest that fits. */
static void expect_bisection(double limit, const double *tried, size_t count)
{
    HELD(search_fixture) f = fixture_open(64, false);
    for (size_t i = 0; i < FIXTURE_STAGES; i++)
        f.limit[i] = limit;
    HELD_AT(search) *s = open_search(&f, "binary", 1);
    for (size_t i = 0; i < count; i++) {
        const struct decision d = fixture_ask(s);
        if (f.candidates[d.candidate].micro_batch != tried[i])
            fail_msg("limit %g, trial %zu: %g", limit, i + 1, f.candidates[d.candidate].micro_batch);
        fixture_tell(s, d.candidate, fixture_outcome(&f, &d));
    }
}

#define BISECTION(limit, ...)                                                                                          \
    expect_bisection(limit, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

TEST(binary__no_predictions__halves_what_is_between_the_largest_that_ran_and_the_smallest_that_did_not)
{
    BISECTION(20, 32, 16, 24, 20, 22, 21);
    BISECTION(21, 32, 16, 24, 20, 22, 21);
    BISECTION(64, 32, 64);
    BISECTION(63, 32, 64, 48, 56, 60, 62, 63);
    BISECTION(1, 32, 16, 8, 4, 2, 1);
    BISECTION(0, 32, 16, 8, 4, 2, 1);
    BISECTION(8, 32, 16, 8, 12, 10, 9);
}

/* A trial that fails for another reason than memory lies below what fits: nothing beyond it is tried. */
FIXTURE_TEST(binary__failure_below_what_fits__goes_on_below_it, 64, false)
{
    for (size_t i = 0; i < FIXTURE_STAGES; i++)
        f->limit[i] = 64;
    HELD_AT(search) *s = open_search(f, "binary", 1);
    struct decision d = fixture_ask(s);
    const size_t first = d.candidate - 31, configuration = f->candidates[d.candidate].configuration;
    struct search_outcome failed = outcome_of(OUTCOME_FAILED, NAN, 36);
    failed.out_of_memory = false;
    fixture_tell(s, d.candidate, fixture_outcome(f, &d));
    search_tell(s, first + 7, &failed);
    while (search_ask(s, &d) == SEARCH_RUN) {
        if (f->candidates[d.candidate].configuration == configuration)
            assert_true(d.candidate < first + 7);
        fixture_tell(s, d.candidate, fixture_outcome(f, &d));
    }
}

/* The estimate is half of what fits: doubling goes on beyond it. */
FIXTURE_TEST(binary__estimate_too_small__looks_above, 16, false)
{
    f->peak = 12;
    fixture_predict(f, 2.5);
    HELD_AT(search) *s = open_search(f, "binary", 1);
    struct fixture_result r = fixture_run(f, s, 1, 0);
    assert_float_equal(r.best, 1, 0.02);
}

FIXTURE_TEST(dsat_binary__nothing_fits__the_lower_half_each_time, 16, false)
{
    for (int stage = 0; stage < FIXTURE_STAGES; stage++)
        f->limit[stage] = 0;
    HELD_AT(search) *s = open_search(f, "dsat-binary", 1);
    struct fixture_result r = fixture_run(f, s, 1, 0);
    double last[FIXTURE_STAGES * FIXTURE_BUCKETS] = {0};
    for (size_t t = 0; t < r.trials; t++) {
        const struct candidate *c = &f->candidates[r.asked[t]];
        assert_float_equal(c->micro_batch, last[c->configuration] > 0 ? floor(last[c->configuration] / 2) : 8, 0);
        last[c->configuration] = c->micro_batch;
    }
    assert_true(r.trials >= 4 && last[f->candidates[r.asked[0]].configuration] == 1);
}

FIXTURE_TEST(dsat_binary__estimate_too_small__never_above, 16, false)
{
    fixture_predict(f, 2.5);
    double largest[FIXTURE_STAGES] = {0};
    for (size_t i = 0; i < f->space.count; i++) {
        const struct candidate *c = &f->candidates[i];
        if (c->oom_probability <= 0.5 && c->micro_batch > largest[(size_t)c->zero_stage])
            largest[(size_t)c->zero_stage] = c->micro_batch;
    }
    HELD_AT(search) *s = open_search(f, "dsat-binary", 1);
    struct fixture_result r = fixture_run(f, s, 1, 0);
    for (size_t t = 0; t < r.trials; t++) {
        const struct candidate *c = &f->candidates[r.asked[t]];
        assert_true(c->micro_batch <= fmax(1, largest[(size_t)c->zero_stage]));
    }
}

FIXTURE_TEST(any__known_outcomes__cost_no_trial_no_hours_and_no_patience, 8, false)
{
    HELD_AT(search) *s = open_search(f, "random", 1);
    for (size_t i = 0; i < 20; i++) {
        const struct decision d = {.candidate = i};
        struct search_outcome o = fixture_outcome(f, &d);
        o.device_seconds = 7200;
        search_tell(s, i, &o);
    }
    struct search_counts c = search_counts(s);
    assert_int_equal(c.known, 20);
    assert_int_equal(c.trials + c.ok + c.failed + c.stopped + c.since_best, 0);
    assert_true(c.device_hours == 0);
    struct decision d = fixture_ask(s);
    struct search_outcome o = fixture_outcome(f, &d);
    o.device_seconds = 3600;
    search_tell(s, d.candidate, &o);
    c = search_counts(s);
    assert_int_equal(c.known, 20);
    assert_int_equal(c.trials, 1);
    assert_int_equal(c.ok + c.failed, 1);
    assert_true(c.device_hours == 1);
}

FIXTURE_TEST(asha__rungs__the_best_go_on_and_only_they_run_whole, 8, false)
{
    HELD_AT(search) *s = open_search(f, "asha", 1);
    struct decision d;
    size_t whole = 0, lowest = 0;
    while (search_ask(s, &d) == SEARCH_RUN) {
        whole += d.resource == 0;
        lowest += d.resource == 4; /* min_steps */
        fixture_tell(s, d.candidate, fixture_outcome(f, &d));
    }
    assert_true(whole > 0);
    assert_true(lowest >= 8 * whole);
}

FIXTURE_TEST(stage_by_stage__each_stage__only_its_keys_move_from_the_best, 16, false)
{
    HELD_AT(search) *s = open_search(f, SEARCH_STAGE_BY_STAGE, 7);
    struct decision d;
    size_t made = 0, best;
    double objective, held[3] = {0};
    while (search_ask(s, &d) == SEARCH_RUN) {
        const double *v = f->values + 3 * d.candidate;
        if (made < 40) {
            assert_true(v[1] == 5e7);
            assert_memory_equal(d.reason, "stage 1 of 2, memory: draw ", 27);
        } else {
            assert_true(v[0] == held[0] && v[2] == held[2] && v[1] != 5e7);
            assert_memory_equal(d.reason, "stage 2 of 2, bucket: number ", 29);
        }
        fixture_tell(s, d.candidate, fixture_outcome(f, &d));
        if (++made == 40) {
            assert_true(search_best(s, 0, &best, &objective));
            memcpy(held, f->values + 3 * best, sizeof held);
        }
    }
    assert_int_equal(made, 42);
    assert_string_equal(d.reason, "all 2 stages are done");
    assert_true(search_best(s, 0, &best, &objective));
    assert_true(f->values[3 * best + 1] == 1e8); /* the middle one is the fastest */
}

/* Two groups stay as their own best has them; the first stage begins with what is predicted to fit. */
FIXTURE_TEST(stage_by_stage__two_groups__each_goes_on_from_its_own_best, 16, false)
{
    fixture_predict(f, 1);
    for (size_t i = 0; i < f->space.count; i++) {
        f->candidates[i].group = f->candidates[i].zero_stage >= 2;
        f->candidates[i].oom_probability = f->values[3 * i + 1] == 5e7;
    }
    f->space.group_count = 2;
    struct listed_word first[] = {{.text = "micro_batch"}}, last[] = {{.text = "bucket"}, {.text = "zero_stage"}};
    const struct search_stage two[] = {
        {.name = "batch", .free = {first, 1}, .strategy = "grid", .max_trials = 100},
        {.name = "rest", .free = {last, 2}, .strategy = "grid", .max_trials = 100},
    };
    struct search_options o = search_options_none();
    o.strategy = SEARCH_STAGE_BY_STAGE;
    o.stages = two;
    o.stage_count = 2;
    HELD_AT(search) *s = NULL;
    FAIL_IF(search_create(&f->space, &o, &s, &e));
    struct decision d;
    size_t made = 0;
    /* Micro-batch 3 is the best of stage 0 in the first group, 6 of stage 2 in the second. */
    for (; search_ask(s, &d) == SEARCH_RUN; made++) {
        const double *v = f->values + 3 * d.candidate;
        if (made < 32)
            assert_true(v[1] == 1e8 && (v[0] == 0 || v[0] == 2));
        else
            assert_true(v[2] == (v[0] < 2 ? 3 : 6));
        fixture_tell(s, d.candidate, fixture_outcome(f, &d));
    }
    assert_int_equal(made, 32 + 2 * 5);
}

FIXTURE_TEST(stage_by_stage__key_that_is_free_nowhere__said, 4, true)
{
    struct search_options o = search_options_none();
    o.strategy = SEARCH_STAGE_BY_STAGE;
    struct search *s = NULL;
    FAILS_WITH_PART(search_create(&f->space, &o, &s, &e), "has no [[search.stage]]");
    o.stages = stages;
    o.stage_count = 1;
    FAILS_WITH(search_create(&f->space, &o, &s, &e),
               "[[search.stage]]: `bucket` differs between jobs but is not free in any stage; add it "
               "to `free` of a stage");
}

FIXTURE_TEST(strategies__no_micro_batch__said_by_those_that_bisect, 4, true)
{
    for (size_t i = 0; i < f->space.count; i++)
        f->candidates[i].micro_batch = NAN;
    struct search_options o = search_options_none();
    o.strategy = "binary";
    struct search *s = NULL;
    FAILS_WITH_PART(search_create(&f->space, &o, &s, &e), "strategy binary bisects the micro-batch");
}

FIXTURE_TEST(families_draw__each_stage__all_of_its_own, 4, true)
{
    HELD_AT(search) *s = open_search(f, "binary", 1);
    for (size_t stage = 0; stage < FIXTURE_STAGES; stage++) {
        unsigned drawn = 0;
        for (uint64_t i = 0; i < 100; i++) {
            size_t family = families_draw(s, stage, 1, i);
            assert_int_equal(family_stage(s, family), stage);
            drawn |= 1U << family;
        }
        assert_int_equal(__builtin_popcount(drawn), FIXTURE_BUCKETS);
    }
    assert_true(families_draw(s, FIXTURE_STAGES, 1, 0) == (size_t)-1);
}
