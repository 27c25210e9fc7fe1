/* search/race: who is beaten, and how often wrongly. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "search/race.h"
#include "util/rng.h"

static void lost__all_steps_worse__after_enough_of_them(void **state)
{
    (void)state;
    const double worse[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct race race = {.incumbent = 2, .maximise = true, .confidence = 0.95, .look = 1};
    /* 2^-n <= 0.05 / 2 from n = 6 on */
    for (size_t n = 0; n <= 8; n++)
        assert_int_equal(race_is_lost(&race, worse, n), n >= 6);
    const struct race second = {.incumbent = 2, .maximise = true, .confidence = 0.95, .look = 2};
    assert_false(race_is_lost(&second, worse, 6)); /* 0.05 / 6 */
    assert_true(race_is_lost(&second, worse, 7));
}

static void lost__direction_of_the_objective__heeded(void **state)
{
    (void)state;
    const double values[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct race less = {.incumbent = 2, .maximise = false, .confidence = 0.95, .look = 1};
    assert_false(race_is_lost(&less, values, 8));
    const struct race least = {.incumbent = 0.5, .maximise = false, .confidence = 0.95, .look = 1};
    assert_true(race_is_lost(&least, values, 8));
}

static void lost__some_step_not_a_number__never(void **state)
{
    (void)state;
    const double values[8] = {1, 1, 1, NAN, 1, 1, 1, 1};
    const struct race race = {.incumbent = 2, .maximise = true, .confidence = 0.95, .look = 1};
    assert_false(race_is_lost(&race, values, 8));
}

/* A job whose median is that of the incumbent, looked at after each of 40 steps. */
static void lost__as_good_as_the_incumbent__wrong_no_more_often_than_said(void **state)
{
    (void)state;
    int wrong = 0;
    for (uint64_t job = 0; job < 2000; job++) {
        struct rng r = rng_stream(3, job);
        double values[40];
        bool lost = false;
        for (size_t n = 1; n <= 40 && !lost; n++) {
            values[n - 1] = (double)rng_below(&r, 1001); /* median 500 */
            const struct race race = {.incumbent = 499.5, .maximise = true, .confidence = 0.9, .look = n};
            lost = race_is_lost(&race, values, n);
        }
        wrong += lost;
    }
    assert_true(wrong <= 200); /* 10 % */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost__all_steps_worse__after_enough_of_them),
        cmocka_unit_test(lost__direction_of_the_objective__heeded),
        cmocka_unit_test(lost__some_step_not_a_number__never),
        cmocka_unit_test(lost__as_good_as_the_incumbent__wrong_no_more_often_than_said),
    };
    return cmocka_run_group_tests_name("search_race", tests, NULL, NULL);
}
