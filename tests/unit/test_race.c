/* belief/race: who is beaten, and how often wrongly. */
#include "search/belief.h"
#include "unit_test.h"
#include "util/rng.h"

TEST(lost__all_steps_worse__after_enough_of_them)
{
    const double worse[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct race race = {.incumbent = 2, .maximise = true, .confidence = 0.95, .look = 1};
    /* 2^-n <= 0.05 / 2 from n = 6 on */
    for (size_t n = 0; n <= 8; n++)
        assert_int_equal(race_is_lost(&race, worse, n), n >= 6);
    const struct race second = {.incumbent = 2, .maximise = true, .confidence = 0.95, .look = 2};
    assert_false(race_is_lost(&second, worse, 6)); /* 0.05 / 6 */
    assert_true(race_is_lost(&second, worse, 7));
}

TEST(lost__direction_of_the_objective__heeded)
{
    const double values[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct race less = {.incumbent = 2, .maximise = false, .confidence = 0.95, .look = 1};
    assert_false(race_is_lost(&less, values, 8));
    const struct race least = {.incumbent = 0.5, .maximise = false, .confidence = 0.95, .look = 1};
    assert_true(race_is_lost(&least, values, 8));
}

TEST(lost__some_step_not_a_number__never)
{
    const double values[8] = {1, 1, 1, NAN, 1, 1, 1, 1};
    const struct race race = {.incumbent = 2, .maximise = true, .confidence = 0.95, .look = 1};
    assert_false(race_is_lost(&race, values, 8));
}

/* A job whose median is that of the incumbent, looked at after each of 40 steps. */
TEST(lost__as_good_as_the_incumbent__wrong_no_more_often_than_said)
{
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
