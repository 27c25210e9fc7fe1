/* predict/baseline: a constant utilisation. */
#include "predict/baseline.h"
#include "unit_test.h"
#include "util/rng.h"

TEST(baseline_compare__constant_utilisation__baseline_wins_over_a_model_that_is_off)
{
    const struct timed_run runs[] = {{1, 2, 1}, {4, 4, 2}, {3, 6, 3}, {8, 8, 4}};
    struct baseline_comparison c;
    assert_true(baseline_compare(runs, 4, 10, &c));
    assert_int_equal(c.compared, 3);
    assert_true(c.baseline_wins && c.baseline_error == 0 && fabs(c.model_error - 0.5 / 3) < 1e-12);
    assert_true(baseline_compare(runs, 4, 2, &c));
    assert_int_equal(c.compared, 2);
}

/* A constant factor is the first thing that both learn; without noise nothing is left of it. */
TEST(baseline_compare__model_off_by_a_factor__model_wins)
{
    struct rng r = rng_stream(7, 0);
    for (int noisy = 0; noisy < 2; noisy++) {
        struct timed_run runs[60];
        struct baseline_comparison c;
        for (size_t i = 0; i < 60; i++) {
            const double peak = 1 + (double)(i % 5), mfu = 0.3 + 0.02 * (double)(i % 7);
            const double noise = noisy ? 1 + 0.02 * ((double)rng_below(&r, 100) / 50 - 1) : 1;
            runs[i] = (struct timed_run){peak / mfu, 1.4 * noise * peak / mfu, peak};
        }
        assert_true(baseline_compare(runs, 60, 50, &c));
        assert_false(c.baseline_wins);
        assert_true(c.model_error < (noisy ? 0.02 : 1e-12) && c.baseline_error > 0.05);
    }
}

TEST(baseline_compare__senseless__refused)
{
    const struct timed_run good[] = {{1, 1, 1}, {1, 1, 1}}, bad[] = {{1, 1, 1}, {1, 0, 1}};
    struct baseline_comparison c = {.compared = 42};
    assert_false(baseline_compare(good, 1, 10, &c));
    assert_false(baseline_compare(good, 2, 0, &c));
    assert_false(baseline_compare(bad, 2, 10, &c));
    assert_int_equal(c.compared, 42);
}
