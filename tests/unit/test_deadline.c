/* process/deadline: which limit fires, when, and when to look. */
#include "process/deadline.h"
#include "unit_test.h"

static void expect(const struct deadline_limits *limits, const struct deadline_state *state, int64_t now_ms,
                   struct deadline_answer expected)
{
    const struct deadline_answer got = deadline_check(limits, state, now_ms);
    assert_int_equal(got.fired, expected.fired);
    assert_int_equal(got.limit_ms, expected.limit_ms);
    assert_int_equal(got.due_ms, expected.due_ms);
}

TEST(deadline_check__no_limits__never)
{
    const struct deadline_limits none = {0, 0, 0}, below = {-1, -1, -1};
    const struct deadline_state seen = {100, 100, false};
    expect(&none, &seen, INT64_MAX - 1, (struct deadline_answer){ENDING_NONE, 0, INT64_MAX});
    expect(&below, &seen, INT64_MAX - 1, (struct deadline_answer){ENDING_NONE, 0, INT64_MAX});
}

TEST_ROWS(deadline_check__each_limit__fires_at_its_moment_and_not_before,
          (struct deadline_limits limits; enum ending ending; int64_t due_ms),
          {{500, 0, 0}, ENDING_TIMEOUT, 1500},      /* from the start */
          {{0, 500, 0}, ENDING_IDLE_TIMEOUT, 1800}, /* from the last activity */
          {{0, 0, 500}, ENDING_STARTUP_TIMEOUT, 1500},
          /* from the start */)
{
    const struct deadline_state seen = {1000, 1300, false};
    expect(&row->limits, &seen, row->due_ms - 1, (struct deadline_answer){ENDING_NONE, 0, row->due_ms});
    expect(&row->limits, &seen, row->due_ms, (struct deadline_answer){row->ending, 500, row->due_ms});
}

TEST(deadline_check__several_have_passed__the_one_that_was_due_first)
{
    const struct deadline_limits limits = {900, 300, 600};
    expect(&limits, &(struct deadline_state){0, 0, false}, 5000,
           (struct deadline_answer){ENDING_IDLE_TIMEOUT, 300, 300});
    expect(&limits, &(struct deadline_state){0, 500, false}, 5000,
           (struct deadline_answer){ENDING_STARTUP_TIMEOUT, 600, 600});
    expect(&limits, &(struct deadline_state){0, 700, true}, 5000, (struct deadline_answer){ENDING_TIMEOUT, 900, 900});
    /* The first in the list of equal ones counts. */
    expect(&limits, &(struct deadline_state){0, 600, true}, 900, (struct deadline_answer){ENDING_TIMEOUT, 900, 900});
}

TEST(deadline_check__metric_seen__no_start_up_limit)
{
    const struct deadline_limits limits = {0, 0, 600};
    expect(&limits, &(struct deadline_state){0, 0, true}, 5000, (struct deadline_answer){ENDING_NONE, 0, INT64_MAX});
}

TEST(deadline_check__limits_beyond_the_clock__none_overflows)
{
    const struct deadline_limits limits = {INT64_MAX, INT64_MAX, INT64_MAX};
    const struct deadline_state seen = {1000, 2000, false};
    expect(&limits, &seen, INT64_MAX - 1, (struct deadline_answer){ENDING_NONE, 0, INT64_MAX});
}

TEST_ROWS(deadline_tick_ms__by_limits__an_eighth_within_bounds,
          (struct deadline_limits limits; bool metric_seen; int64_t tick_ms), {{5000, 0, 0}, false, 1000},
          {{0, 40, 0}, true, 10}, {{0, 160, 0}, true, 20}, {{0, 399, 0}, true, 49}, {{0, 400, 0}, true, 50},
          {{0, 60000, 0}, true, 50}, {{0, 0, 4000}, false, 500}, {{0, 0, 8000}, false, 1000},
          {{0, 0, 4000}, true, 1000}, {{0, 0, 40}, false, 10}, {{0, 400, 160}, false, 20}, {{0, 400, 160}, true, 50},
          {{0, 400, 399}, false, 49}, {{0, 400, 400}, false, 50})
{
    if (deadline_tick_ms(&row->limits, row->metric_seen) != row->tick_ms)
        fail_msg("%lld", (long long)deadline_tick_ms(&row->limits, row->metric_seen));
}

TEST(deadline_look_ms__multiples_of_the_tick__or_what_is_due_before)
{
    const struct deadline_state seen = {0, 0, true};
    assert_int_equal(deadline_look_ms(&(struct deadline_limits){0, 400, 0}, &seen, 120), 150);
    assert_int_equal(deadline_look_ms(&(struct deadline_limits){0, 400, 0}, &seen, 150), 200);
    assert_int_equal(deadline_look_ms(&(struct deadline_limits){170, 400, 0}, &seen, 155), 170);
    assert_int_equal(deadline_look_ms(&(struct deadline_limits){0, 0, 0}, &seen, 2500), 3000);
}
