/* search/strategy with grid and random: limits, orders, draws, outcomes. */

#include "search_fixture.h"

static struct search *open_search(struct search_fixture *f, const char *strategy, enum search_number number,
                                  double value)
{
    struct search_options o = search_options_none();
    o.strategy = strategy;
    o.numbers[number] = value;
    struct search *s = NULL;
    FAIL_IF(search_create(&f->space, &o, &s, &e) < 0);
    return s;
}

FIXTURE_TEST(grid__no_options__every_candidate_once_in_order, 4, true)
{
    HELD_AT(search) *s = open_search(f, "grid", SEARCH_RANDOM_SEED, 1);
    struct fixture_result r = fixture_run(f, s, 3, 0);
    assert_int_equal(r.trials, f->space.count);
    for (size_t i = 0; i < r.trials; i++)
        assert_int_equal(r.asked[i], i);
    assert_float_equal(r.best, 1, 1e-12);
}

/* Trials to come are known without a limit only where all are tried. */
FIXTURE_TEST(search_trials_to_come__without_a_limit__known_of_what_tries_all, 4, true)
{
    static const char *const names[] = {"grid", "random", "model"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        HELD_AT(search) *s = open_search(f, names[i], SEARCH_MAX_TRIALS, 0),
                        *limited = open_search(f, names[i], SEARCH_MAX_TRIALS, 7);
        assert_int_equal(search_trials_to_come(s), i < 2 ? (int64_t)f->space.count : -1);
        fixture_run(f, s, 1, 0);
        assert_int_equal(search_trials_to_come(s), i < 2 ? 0 : -1);
        assert_int_equal(search_trials_to_come(limited), 7);
    }
}

FIXTURE_TEST(grid__predicted_order__fastest_first, 4, true)
{
    fixture_predict(f, 1);
    f->candidates[5].seconds = NAN;
    struct search_options o = search_options_none();
    o.order = SEARCH_ORDER_PREDICTED;
    HELD_AT(search) *s = NULL;
    FAIL_IF(search_create(&f->space, &o, &s, &e));
    struct fixture_result r = fixture_run(f, s, 1, 0);
    for (size_t i = 1; i + 1 < r.trials; i++)
        assert_true(fixture_objective(f, r.asked[i]) <= fixture_objective(f, r.asked[i - 1]));
    assert_int_equal(r.asked[r.trials - 1], 5);
}

/* What was tried, in its order, with that seed. */
static struct fixture_result tried_with(struct search_fixture *f, double seed)
{
    HELD_AT(search) *s = open_search(f, "random", SEARCH_RANDOM_SEED, seed);
    return fixture_run(f, s, 1, 0);
}

FIXTURE_TEST(random__other_candidates_missing__same_order, 4, true)
{
    const struct fixture_result all = tried_with(f, 7);
    f->space.count -= 8;
    const struct fixture_result fewer = tried_with(f, 7);
    size_t at = 0;
    for (size_t i = 0; i < all.trials; i++)
        if (all.asked[i] < f->space.count)
            assert_int_equal(all.asked[i], fewer.asked[at++]);
    assert_int_equal(at, fewer.trials);
}

FIXTURE_TEST(random__other_completion_order__same_trials, 4, true)
{
    struct fixture_result first;
    for (uint64_t order = 0; order < 20; order++) {
        HELD_AT(search) *s = open_search(f, "random", SEARCH_MAX_TRIALS, 10);
        struct fixture_result r = fixture_run(f, s, 4, order);
        if (order == 0)
            first = r;
        assert_int_equal(r.trials, 10);
        assert_memory_equal(r.asked, first.asked, r.trials * sizeof *r.asked);
    }
}

FIXTURE_TEST(random__other_seed__other_order, 4, true)
{
    const struct fixture_result one = tried_with(f, 1), two = tried_with(f, 2);
    assert_memory_not_equal(one.asked, two.asked, one.trials * sizeof *one.asked);
}

FIXTURE_TEST(ask__early_stopping__ends_after_so_many_without_a_better_one, 4, true)
{
    HELD_AT(search) *s = open_search(f, "random", SEARCH_EARLY_STOPPING, 3);
    struct fixture_result r = fixture_run(f, s, 1, 0);
    assert_int_equal(search_counts(s).since_best, 3);
    assert_true(r.trials < f->space.count);
    struct decision d;
    assert_int_equal(search_ask(s, &d), SEARCH_FINISHED);
    assert_non_null(strstr(d.reason, "early_stopping"));
}

FIXTURE_TEST(ask__budget__ends_when_spent, 4, true)
{
    HELD_AT(search) *s = open_search(f, "grid", SEARCH_BUDGET, 0.05); /* a trial is 36 device-seconds */
    assert_int_equal(fixture_run(f, s, 1, 0).trials, 5);
}

FIXTURE_TEST(ask__concurrency_and_slots__waits, 4, true)
{
    HELD_AT(search) *slots = open_search(f, "grid", SEARCH_MAX_SLOTS, 5), /* two trials of two devices */
        *single = open_search(f, "grid", SEARCH_MAX_CONCURRENT_TRIALS, 1);
    struct decision d = fixture_ask(slots);
    assert_int_equal(search_ask(slots, &d), SEARCH_RUN);
    assert_int_equal(search_ask(slots, &d), SEARCH_WAIT);
    assert_non_null(strstr(d.reason, "max_slots"));
    assert_int_equal(search_ask(single, &d), SEARCH_RUN);
    assert_int_equal(search_ask(single, &d), SEARCH_WAIT);
}

FIXTURE_TEST(ask__forgotten__asked_again_and_not_counted, 4, true)
{
    HELD_AT(search) *s = open_search(f, "grid", SEARCH_RANDOM_SEED, 1);
    search_forget(s, fixture_ask(s).candidate);
    assert_int_equal(search_counts(s).trials, 0);
    assert_int_equal(fixture_run(f, s, 1, 0).trials, f->space.count);
}

FIXTURE_TEST(tell__known_beforehand__no_trial_and_not_asked, 4, true)
{
    HELD_AT(search) *s = open_search(f, "grid", SEARCH_RANDOM_SEED, 1);
    const struct decision first = {.candidate = 0};
    fixture_tell(s, 0, fixture_outcome(f, &first));
    assert_int_equal(search_counts(s).trials, 0);
    struct fixture_result r = fixture_run(f, s, 1, 0);
    assert_int_equal(r.trials, f->space.count - 1);
    assert_int_equal(r.asked[0], 1);
}

FIXTURE_TEST(tell__objective_not_a_number__never_best, 4, true)
{
    HELD_AT(search) *s = open_search(f, "grid", SEARCH_RANDOM_SEED, 1);
    struct search_outcome o = outcome_of(OUTCOME_OK, NAN, 0);
    search_begin(s, 0, 0);
    search_tell(s, 0, &o);
    size_t candidate;
    double objective;
    assert_false(search_best(s, 0, &candidate, &objective));
    assert_int_equal(search_counts(s).failed, 1);
}

FIXTURE_TEST(best__minimised__least, 4, true)
{
    HELD_AT(search) *s = open_search(f, "grid", SEARCH_RANDOM_SEED, 1);
    f->space.maximise = false;
    struct search_outcome o = outcome_of(OUTCOME_OK, 0, 0);
    for (size_t i = 0; i < 3; i++) {
        o.objective = i == 1 ? 1 : 2;
        search_tell(s, i, &o);
    }
    size_t candidate;
    double objective;
    assert_true(search_best(s, 0, &candidate, &objective));
    assert_int_equal(candidate, 1);
}

FIXTURE_TEST(create__impossible__says_so, 4, true)
{
    struct search_options o = search_options_none();
    struct search *s = NULL;
    o.numbers[SEARCH_MAX_SLOTS] = 1;
    FAILS_WITH(search_create(&f->space, &o, &s, &e), "max_slots: a trial needs 2 devices, but at most 1 may be in use");
    f->space.count = 0;
    FAILS_WITH(search_create(&f->space, &o, &s, &e), "there is nothing to search: no candidate is left");
    assert_null(s);
}

FIXTURE_TEST(create__zero_stages__only_those, 4, true)
{
    struct search_options o = search_options_none();
    o.zero_stages[1] = true;
    HELD_AT(search) *s = NULL;
    FAIL_IF(search_create(&f->space, &o, &s, &e));
    struct fixture_result r = fixture_run(f, s, 1, 0);
    assert_int_equal(r.trials, FIXTURE_BUCKETS * 4);
    for (size_t i = 0; i < r.trials; i++)
        assert_float_equal(f->candidates[r.asked[i]].zero_stage, 1, 0);
}

TEST_ROWS(options__number_out_of_range__says_so, (enum search_number number; double value; const char *text),
          {SEARCH_DIVISOR, 1, "divisor: 1 is less than 2"},
          {SEARCH_MAX_TRIALS, 2.5, "max_trials: 2.5 is not a whole number"},
          {SEARCH_CONFIDENCE, 2, "confidence: 2 is more than 0.999999"})
{
    FAILS_WITH(search_number_check(row->number, row->value, &e), row->text);
}

TEST(options__overlay__given_wins)
{
    struct search_options under = search_options_none(), over = search_options_none();
    under.numbers[SEARCH_DIVISOR] = 3;
    under.numbers[SEARCH_MAX_TRIALS] = 9;
    over.numbers[SEARCH_MAX_TRIALS] = 0;
    struct search_options o = search_options_overlay(&under, &over);
    search_options_complete(&o);
    assert_string_equal(o.strategy, "grid");
    assert_float_equal(o.numbers[SEARCH_DIVISOR], 3, 0);
    assert_float_equal(o.numbers[SEARCH_MAX_TRIALS], 0, 0);
    assert_float_equal(o.numbers[SEARCH_RANDOM_SEED], 42, 0);
    assert_true(o.zero_stages[0]);
    assert_false(o.racing);
}

TEST_ROWS(options__of_a_strategy__its_own_defaults,
          (const char *strategy; double first_step; enum search_number number; double value),
          {"dsat-asha", SEARCH_NOT_GIVEN, SEARCH_MAX_TRIALS, 50},
          {"dsat-asha", SEARCH_NOT_GIVEN, SEARCH_MAX_CONCURRENT_TRIALS, 16},
          {"dsat-asha", SEARCH_NOT_GIVEN, SEARCH_START_PROFILE_STEP, 3},
          {"dsat-asha", SEARCH_NOT_GIVEN, SEARCH_END_PROFILE_STEP, 5},
          {"dsat-asha", SEARCH_NOT_GIVEN, SEARCH_MAX_RUNGS, 5},
          {"dsat-asha", SEARCH_NOT_GIVEN, SEARCH_MIN_BINARY_SEARCH_TRIALS, 3},
          {"dsat-random", 9, SEARCH_END_PROFILE_STEP, 11},
          {"model", SEARCH_NOT_GIVEN, SEARCH_START_PROFILE_STEP, SEARCH_NOT_GIVEN},
          {"model", SEARCH_NOT_GIVEN, SEARCH_END_PROFILE_STEP, SEARCH_NOT_GIVEN})
{
    struct search_options o = search_options_none();
    o.strategy = row->strategy;
    o.numbers[SEARCH_START_PROFILE_STEP] = row->first_step;
    search_options_complete(&o);
    assert_float_equal(o.numbers[row->number], row->value, 0);
    const bool is_dsat = strncmp(o.strategy, "dsat-", 5) == 0;
    assert_true(o.zero_stages[0] == !is_dsat && o.zero_stages[3] && o.racing == !is_dsat);
}
