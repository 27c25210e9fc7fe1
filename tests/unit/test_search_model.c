/* search/model: what it needs to find the best, what it believes, how long it takes. */
#include "search/process.h"
#include "search_fixture.h"

static struct search *open_seeded(struct search_fixture *f, double gap, size_t seed)
{
    struct search_options o = search_options_none();
    o.strategy = "model";
    o.numbers[SEARCH_TARGET_GAP] = gap;
    o.numbers[SEARCH_MAX_TRIALS] = 0;
    o.numbers[SEARCH_RANDOM_SEED] = (double)seed;
    struct search *s = NULL;
    FAIL_IF(search_create(&f->space, &o, &s, &e) < 0);
    return s;
}

static struct search *open_model(struct search_fixture *f, double gap)
{
    return open_seeded(f, gap, 42);
}

static struct fixture_result run_model(struct search_fixture *f)
{
    HELD_AT(search) *s = open_model(f, 0.02);
    return fixture_run(f, s, 1, 0);
}

FIXTURE_TEST(model__right_predictions__best_first, 16, false)
{
    fixture_predict(f, 1);
    struct fixture_result r = run_model(f);
    print_message("right: %zu trials of %zu, %zu failed, %g of the best\n", r.trials, f->space.count, r.failures,
                  r.best);
    assert_true(r.best > 0.98);
    assert_true(r.trials <= 20);
    assert_true(r.failures <= 2);
}

TEST(model__wrong_predictions__still_found)
{
    static const double wrong[] = {0.7, 1.4};
    HELD(search_fixture) f = fixture_open(16, false);
    for (size_t w = 0; w < 2; w++) {
        fixture_predict(&f, wrong[w]);
        for (size_t i = 0; i < f.space.count; i++)
            f.candidates[i].seconds *= f.candidates[i].micro_batch > 4 ? 1.3 : 1;
        struct fixture_result r = run_model(&f);
        assert_true(r.best > 0.94);
        assert_true(r.trials < f.space.count / 3);
    }
}

/* Predicted times that are turned over are found out by the first outcomes, and are worth what they are worth then. */
FIXTURE_TEST(model__times_turned_over__found_no_later_than_without, 16, false)
{
    struct fixture_result without = run_model(f);
    fixture_predict(f, 1);
    for (size_t i = 0; i < f->space.count; i++)
        f->candidates[i].seconds = 1 / f->candidates[i].seconds;
    struct fixture_result turned = run_model(f);
    print_message("turned over: %zu trials, %g of the best; without: %zu, %g\n", turned.trials, turned.best,
                  without.trials, without.best);
    assert_true(turned.best > 0.95);
    assert_true(turned.trials <= without.trials * 3 / 2);
}

FIXTURE_TEST(model__no_predictions__better_than_all, 16, false)
{
    struct fixture_result r = run_model(f);
    assert_true(r.best > 0.95);
    assert_true(r.trials < f->space.count / 2);
}

/* Few trials are enough without predictions where arithmetic ranks layouts, and no more with such as turn its ranks
 * over: they are not believed to begin with. */
TEST(model__arithmetic_of_layouts__found_early_whatever_is_predicted)
{
    enum { MOST = 6 };
    int trials[2] = {0, 0};
    HELD(search_fixture) f = fixture_open(16, false);
    const double optimum = fixture_optimum(&f);
    fixture_predict(&f, 1);
    for (size_t i = 0; i < f.space.count; i++) {
        f.candidates[i].usual_merit = -log(f.candidates[i].seconds);
        f.candidates[i].usual_bytes = log(f.candidates[i].micro_batch / (1 + f.candidates[i].zero_stage));
        f.candidates[i].seconds = 1 / f.candidates[i].seconds;
        f.candidates[i].memory_terms = NULL;
        f.candidates[i].bytes = f.candidates[i].oom_probability = NAN;
    }
    for (int without = 0; without < 2; without++) {
        struct search *s = open_model(&f, 0.02);
        struct decision d;
        double best = 0;
        for (; best < 0.95 && search_ask(s, &d) == SEARCH_RUN; trials[without]++) {
            struct search_outcome o = fixture_outcome(&f, &d);
            best = fmax(best, o.kind == OUTCOME_OK ? o.objective / optimum : 0);
            search_tell(s, d.candidate, &o);
        }
        print_message("%s: %d trials\n", without ? "without" : "turned over", trials[without]);
        assert_true(best >= 0.95);
        search_free(s);
        for (size_t i = 0; i < f.space.count; i++)
            f.candidates[i].seconds = NAN;
    }
    assert_true(trials[0] <= trials[1] && trials[1] <= MOST);
}

/* All runs fit, and the best are predicted to take three times what there is: nothing shows where the limit is but a
 * run beyond it. */
FIXTURE_TEST(model__limit_that_nothing_met__one_beyond_it_is_tried, 1024, false)
{
    fixture_predict(f, 1);
    for (size_t i = 0; i < f->space.count; i++) {
        struct candidate *c = &f->candidates[i];
        c->usable_bytes = c->bytes / (c->micro_batch > 2 ? 3 : 0.3);
        c->oom_probability = c->micro_batch > 2 ? 0.999 : 0.001;
    }
    HELD_AT(search) *s = open_model(f, 0.02);
    struct decision d;
    size_t beyond = 0, trials = 0;
    for (; search_ask(s, &d) == SEARCH_RUN; trials++) {
        beyond += f->candidates[d.candidate].micro_batch > 2;
        fixture_tell(s, d.candidate, fixture_outcome(f, &d));
    }
    print_message("%zu trials, %zu beyond\n", trials, beyond);
    assert_true(beyond >= 1);
}

/* The largest micro-batches would gain a quarter, and all but certainly fail. One of them did: another is tried before
 * the end all the same, and as that fails, the end is said to be for the risk of the others. */
FIXTURE_TEST(model__limit_that_was_met_elsewhere__one_beyond_it_is_tried, 16, false)
{
    f->space.memory_class_count = f->space.configuration_count;
    for (size_t i = 0; i < f->space.count; i++) {
        f->candidates[i].seconds = i == 7 ? 1 : 10;
        /* A failure of one says nothing for sure of another. */
        f->candidates[i].memory_class = f->candidates[i].configuration;
        f->candidates[i].zero_stage = NAN;
    }
    for (size_t i = 15; i < f->space.count; i += 16) {
        f->candidates[i].seconds = 0.8;
        f->candidates[i].oom_probability = 0.96;
    }
    HELD_AT(search) *s = open_model(f, 0.02);
    const struct search_outcome oom = outcome_of(OUTCOME_FAILED, NAN, NAN);
    struct decision d;
    size_t beyond = 0, trials = 0;
    search_tell(s, 15, &oom);
    for (; search_ask(s, &d) == SEARCH_RUN; trials++) {
        struct search_outcome o = oom;
        if (f->candidates[d.candidate].seconds >= 1) {
            o.kind = OUTCOME_OK;
            o.out_of_memory = false;
            o.objective = 1 / f->candidates[d.candidate].seconds;
        }
        beyond += o.kind == OUTCOME_FAILED;
        search_tell(s, d.candidate, &o);
    }
    print_message("%zu trials, %zu beyond; %s\n", trials, beyond, d.reason);
    assert_true(beyond >= 1 && beyond < f->space.count / 16 - 1);
    assert_non_null(strstr(d.reason, "might beat the best by 2 %, but each fails with a probability of at least 96 %"));
}

/* Nothing better is left after a few runs that come out alike; after runs that scatter, it may well be. */
TEST(model__outcomes_that_scatter__goes_on_for_longer)
{
    size_t trials[2] = {0, 0};
    HELD(search_fixture) f = fixture_open(16, false);
    for (int scattered = 0; scattered < 2; scattered++) {
        HELD_AT(search) *s = open_model(&f, 0.02);
        struct decision d;
        for (; trials[1] <= 2 * trials[0] && search_ask(s, &d) == SEARCH_RUN; trials[scattered]++) {
            struct search_outcome o = fixture_outcome(&f, &(struct decision){.candidate = 0});
            o.objective = 100 * exp((scattered ? 0.1 : 0.001) * (double)(d.candidate * 7 % 11));
            search_tell(s, d.candidate, &o);
        }
    }
    print_message("alike: %zu trials of %zu\n", trials[0], f.space.count);
    assert_true(trials[0] <= 30 && trials[1] >= 2 * trials[0]);
}

/* Jobs that crash every second time, wherever they are, are expected to. */
TEST(model__crashes_at_random__expected_anywhere)
{
    enum { TRIALS = 30 };
    HELD(search_fixture) f = fixture_open(16, false);
    HELD_AT(search) *s = open_model(&f, 0);
    double expected = 0;
    for (int i = 0; i < TRIALS; i++) {
        const struct decision d = fixture_ask(s);
        const char *fails = strstr(d.reason, "fails with ");
        assert_non_null(fails);
        expected = strtod(fails + strlen("fails with "), NULL);
        struct search_outcome o = fixture_outcome(&f, &(struct decision){.candidate = 0});
        if (i % 2 == 0)
            o.kind = OUTCOME_FAILED, o.out_of_memory = false;
        search_tell(s, d.candidate, &o);
    }
    print_message("after %d trials: fails with %g %%\n", TRIALS, expected);
    assert_true(expected > 30);
}

/* A limit is learned from what failed: it is bisected, not walked down to, and one stage's holds for those below. */
FIXTURE_TEST(model__no_predictions_and_a_limit__few_run_out_of_memory, 64, false)
{
    f->peak = 64;
    for (size_t stage = 0; stage < FIXTURE_STAGES; stage++)
        f->limit[stage] = 18 + 3 * (double)stage;
    for (size_t i = 0; i < f->space.count; i++)
        f->candidates[i].memory_class = f->candidates[i].configuration;
    f->space.memory_class_count = f->space.configuration_count;
    struct fixture_result r = run_model(f);
    print_message("%zu trials, %zu failed, %g of the best\n", r.trials, r.failures, r.best);
    assert_true(r.best > 0.95);
    assert_true(r.failures * 2 <= r.trials);
}

/* A limit that one configuration shows holds for its neighbours, which stages and buckets do not move far. */
FIXTURE_TEST(model__no_predictions_and_doublings__few_run_out_of_memory, 10, true)
{
    f->peak = 100;
    for (size_t stage = 0; stage < FIXTURE_STAGES; stage++)
        f->limit[stage] = stage < 2 ? 16 : 32;
    for (size_t i = 0; i < f->space.count; i++) {
        f->candidates[i].memory_class = f->candidates[i].configuration;
        f->candidates[i].zero_stage = NAN;
    }
    f->space.memory_class_count = f->space.configuration_count;
    size_t trials = 0, failures = 0;
    for (size_t seed = 1; seed <= 10; seed++) {
        HELD_AT(search) *s = open_seeded(f, 0.02, seed);
        struct fixture_result r = fixture_run(f, s, 1, 0);
        assert_true(r.best > 0.95);
        trials += r.trials;
        failures += r.failures;
    }
    print_message("%zu trials, %zu failed\n", trials, failures);
    assert_true(failures * 9 <= trials * 4); /* one of each search beyond the limit, before its end */
}

/* Far from the one job that has run nothing tells jobs apart: a draw does, and not which is farthest. */
FIXTURE_TEST(model__nothing_tells_jobs_apart__drawn, 16, false)
{
    size_t different = 0, first = 0;
    for (size_t seed = 1; seed <= 5; seed++) {
        HELD_AT(search) *s = open_seeded(f, 0.02, seed);
        fixture_tell(s, fixture_ask(s).candidate, outcome_of(OUTCOME_OK, 1, 0));
        const struct decision d = fixture_ask(s);
        different += seed > 1 && d.candidate != first;
        first = seed == 1 ? d.candidate : first;
    }
    assert_true(different >= 3);
}

/* Runs at the same time may end in any order. */
FIXTURE_TEST(model__outcomes_in_another_order__same_decisions, 16, false)
{
    fixture_predict(f, 1.2);
    HELD_AT(search) *forwards = open_model(f, 0), *backwards = open_model(f, 0);
    for (int round = 0; round < 10; round++) {
        struct decision a[4], b[4];
        for (int i = 0; i < 4; i++) {
            assert_int_equal(search_ask(forwards, &a[i]), SEARCH_RUN);
            assert_int_equal(search_ask(backwards, &b[i]), SEARCH_RUN);
            assert_int_equal(a[i].candidate, b[i].candidate);
            assert_string_equal(a[i].reason, b[i].reason);
        }
        for (int i = 0; i < 4; i++) {
            fixture_tell(forwards, a[i].candidate, fixture_outcome(f, &a[i]));
            fixture_tell(backwards, b[3 - i].candidate, fixture_outcome(f, &b[3 - i]));
        }
    }
}

FIXTURE_TEST(model__oom_at_a_micro_batch__larger_ones_of_the_class_not_tried, 16, false)
{
    HELD_AT(search) *s = open_model(f, 0);
    const struct search_outcome oom = outcome_of(OUTCOME_FAILED, NAN, NAN);
    const struct decision one = {.candidate = 0};
    fixture_tell(s, 0, fixture_outcome(f, &one));
    for (size_t stage = 0; stage < FIXTURE_STAGES; stage++)
        search_tell(s, stage * FIXTURE_BUCKETS * 16 + 3, &oom); /* micro-batch 4 of the first buckets */
    struct decision d;
    while (search_ask(s, &d) == SEARCH_RUN) {
        assert_true(f->candidates[d.candidate].micro_batch < 4);
        fixture_tell(s, d.candidate, outcome_of(OUTCOME_OK, 1, NAN));
    }
}

/* Candidates that may fail come after those worth a run, and before those run only because predictions may be wrong. */
FIXTURE_TEST(model__risky_with_a_gain__before_safe_without, 16, false)
{
    for (size_t i = 0; i < f->space.count; i++)
        f->candidates[i].seconds = i == 100 ? 0.5 : i == 7 ? 1 : 10; /* of other memory classes */
    f->candidates[100].oom_probability = 0.5;
    HELD_AT(search) *s = open_model(f, 0.02);
    assert_int_equal(fixture_ask(s).candidate, 7);
    fixture_tell(s, 7, outcome_of(OUTCOME_OK, 1, NAN));
    assert_int_equal(fixture_ask(s).candidate, 100);
}

/* The best is risky and occupies many devices: it is put off, but not left out as long as a gain is expected of it. */
TEST(model__gain_with_a_risk__tried_before_the_end)
{
    enum { BEST = 111 };
    HELD(search_fixture) f = fixture_open(16, false);
    for (size_t i = 0; i < f.space.count; i++)
        f.candidates[i].seconds = i == BEST ? 0.965 : i == 7 ? 1 : 1.2;
    f.candidates[BEST].oom_probability = 0.45;
    f.candidates[BEST].devices = 1000;
    HELD_AT(search) *s = open_model(&f, 0.02);
    struct decision d;
    bool tried = false;
    size_t trials = 0;
    for (; search_ask(s, &d) == SEARCH_RUN; trials++) {
        tried |= d.candidate == BEST;
        fixture_tell(s, d.candidate, outcome_of(OUTCOME_OK, 1 / f.candidates[d.candidate].seconds, NAN));
    }
    print_message("%zu trials\n", trials);
    assert_true(tried && trials < 12);
}

/* Two keys of two words: of the last combination what ran tells all but what the keys do together. */
TEST(model__keys_that_ran_apart__little_is_open_of_them_together)
{
    static const char *const keys[] = {"a", "b"};
    static const double values[4][2] = {{-1, -1}, {-1, -2}, {-2, -1}, {-2, -2}};
    HELD(search_fixture) f = fixture_open(16, false);
    f.space.keys = keys;
    f.space.key_count = 2;
    f.space.count = 4;
    for (size_t i = 0; i < 4; i++) {
        f.candidates[i].values = values[i];
        f.candidates[i].micro_batch = f.candidates[i].zero_stage = NAN;
    }
    HELD_AT(search) *s = open_model(&f, 0.02);
    for (size_t i = 0; i < 3; i++)
        fixture_tell(s, i, outcome_of(OUTCOME_OK, 100, NAN));
    int objective, deviation;
    const struct decision d = fixture_ask(s);
    assert_int_equal(d.candidate, 3);
    assert_int_equal(sscanf(d.reason, "expected objective %d ± %d %%", &objective, &deviation), 2);
    assert_int_equal(objective, 100);
    assert_true(deviation <= 18); /* of 21 where the nearest run alone counts, as none has both words */
}

/* One job is predicted to be a little faster than another that arithmetic says is far better. */
FIXTURE_TEST(model__predictions_and_arithmetic__both_weigh_before_any_run, 16, false)
{
    for (size_t i = 0; i < f->space.count; i++) {
        f->candidates[i].seconds = i == 7 ? 1 : i == 6 ? 1.05 : 10;
        f->candidates[i].usual_merit = i == 7 ? -1 : i == 6 ? 0 : -2;
    }
    HELD_AT(search) *s = open_model(f, 0.02);
    assert_int_equal(fixture_ask(s).candidate, 6);
}

/* Runs a search in which all is as predicted, except that the first run seems `first` times as fast. Sets what was
 * tried and returns the number of trials. */
static size_t run_as_predicted(struct search_fixture *f, double first, bool *tried)
{
    HELD_AT(search) *s = open_model(f, 0.02);
    struct decision d;
    size_t trials = 0;
    for (; search_ask(s, &d) == SEARCH_RUN; trials++) {
        const double seconds = f->candidates[d.candidate].seconds;
        tried[d.candidate] = true;
        fixture_tell(s, d.candidate, outcome_of(OUTCOME_OK, (trials == 0 ? first : 1) / seconds, NAN));
        assert_true(first == 1 || trials != 2 || strstr(d.reason, "if the best is a mistake"));
    }
    print_message("%zu trials of %zu\n", trials, f->space.count);
    return trials;
}

/* Arithmetic says the same: each candidate takes `ratio` times as long as the one before. */
static void predict_in_order(struct search_fixture *f, double ratio)
{
    for (size_t i = 0; i < f->space.count; i++) {
        f->candidates[i].seconds = pow(ratio, (double)i);
        f->candidates[i].usual_merit = -log(f->candidates[i].seconds);
    }
}

/* Predictions hold, so that they are believed; but the end asks once what would be better if they did not:
 * four trials, and a fifth. */
FIXTURE_TEST(model__better_if_predictions_were_wrong__tried_before_the_end, 16, false)
{
    enum { BEST = 7, OTHER = 6 };
    OWNED bool *tried = xcalloc(f->space.count, sizeof *tried);
    for (size_t i = 0; i < f->space.count; i++) {
        f->candidates[i].seconds = i == BEST ? 1 : i == OTHER ? 4 : 1.5;
        f->candidates[i].usual_merit = i == OTHER ? 0.3 : 0;
    }
    size_t trials = run_as_predicted(f, 1, tried);
    assert_true(trials > 4 && trials < 8);
}

/* One run agrees with any order of the candidates: the next one runs, too, however far behind it is expected. */
FIXTURE_TEST(model__one_run__not_the_end, 16, false)
{
    OWNED bool *tried = xcalloc(f->space.count, sizeof *tried);
    f->space.count = f->micro_batches;
    predict_in_order(f, 20);
    assert_int_equal(run_as_predicted(f, 1, tried), 2);
    assert_true(tried[0] && tried[1]);
}

/* The second run says that the first is a mistake, and the third what is best without it. */
FIXTURE_TEST(model__one_wrong_measurement__not_the_end, 4, false)
{
    OWNED bool *tried = xcalloc(f->space.count, sizeof *tried);
    predict_in_order(f, 1.7);
    assert_int_equal(run_as_predicted(f, 4, tried), 3);
    assert_true(tried[0] && tried[1] && tried[2]);
}

enum { NAMED = 20, KEYS = 3 };

/* How many of two keys, which tell `apart` candidates apart, and a third are coordinates. */
static size_t coordinates_with(const double *third, size_t apart)
{
    struct candidate candidates[NAMED];
    double values[NAMED][KEYS];
    struct search_space space = {.candidates = candidates, .count = NAMED, .key_count = KEYS};
    struct process_space found;
    for (size_t i = 0; i < NAMED; i++) {
        const double row[KEYS] = {(double)(1 + i % apart % 4), -(double)(1 + i % apart / 4), third[i]};
        memcpy(values[i], row, sizeof row);
        candidates[i] = (struct candidate){.values = values[i]};
    }
    process_space_open(&space, &found);
    size_t dimensions = found.dimensions;
    assert_int_equal(found.names[2], dimensions == 2);
    process_space_close(&found);
    return dimensions;
}

/* A word or a whole number of its own for most candidates is no coordinate, unless nothing else tells candidates apart,
 * or the numbers are few. */
TEST(process_space__values_that_hardly_repeat__are_names)
{
    double words[NAMED], places[NAMED], ids[NAMED], drawn[NAMED];
    for (size_t i = 0; i < NAMED; i++) {
        words[i] = -1000 - 7 * (double)(i * i);
        places[i] = (double)((i * 7) % NAMED);
        ids[i] = 90000 + 11 * (double)(i * i % 17) + (double)i;
        drawn[i] = 1e-4 * (double)(1 + i * i);
    }
    assert_int_equal(coordinates_with(words, NAMED), 2);
    assert_int_equal(coordinates_with(places, NAMED), 2);
    assert_int_equal(coordinates_with(ids, NAMED), 2);
    assert_int_equal(coordinates_with(drawn, NAMED), 3);
    assert_int_equal(coordinates_with(words, NAMED / 2), 3);
    words[3] = words[4];
    ids[3] = ids[4];
    assert_int_equal(coordinates_with(words, NAMED), 2);
    assert_int_equal(coordinates_with(ids, NAMED), 2);
    for (size_t i = 0; i < NAMED; i++)
        ids[i] = (double)(1 + i % 15);
    assert_int_equal(coordinates_with(ids, NAMED), 3);
}

TEST(model__many_candidates__a_decision_after_an_outcome)
{
    HELD(search_fixture) f = fixture_open(8400, false); /* 100,800 candidates */
    HELD_AT(search) *s = open_model(&f, 0);
    for (int i = 0; i < 8; i++) {
        const struct decision d = fixture_ask(s);
        fixture_tell(s, d.candidate, fixture_outcome(&f, &d));
    }
}
