/* report/ratios: medians, intervals and what they let one say. */
#include <math.h>
#include <string.h>

#include "compare/ratios.h"
#include "unit_test.h"
#include "util/rng.h"

TEST(summarise__none__all_unknown)
{
    struct ratio_summary s = ratios_summarise(NULL, 0, 1);
    assert_int_equal(s.count, 0);
    assert_true(isnan(s.median) && isnan(s.low) && isnan(s.high) && isnan(s.minimum));
    assert_int_equal(s.verdict, RATIO_TOO_FEW);
}

TEST(summarise__one__a_median_without_an_interval)
{
    double one[] = {1.5};
    struct ratio_summary s = ratios_summarise(one, 1, 1);
    assert_true(s.median == 1.5 && s.minimum == 1.5 && s.maximum == 1.5);
    assert_true(isnan(s.low) && isnan(s.high));
    assert_int_equal(s.verdict, RATIO_TOO_FEW);
}

TEST(summarise__unsorted__quartiles)
{
    double values[] = {5, 1, 4, 2, 3};
    struct ratio_summary s = ratios_summarise(values, 5, 1);
    assert_true(s.minimum == 1 && s.quarter == 2 && s.median == 3 && s.three_quarters == 4 && s.maximum == 5);
    assert_true(s.low >= 1 && s.low < 3 && s.high > 3 && s.high <= 5);
    assert_int_equal(s.verdict, RATIO_TOO_FEW); /* all above 1, but only five */
}

TEST(summarise__six_on_one_side__told_apart)
{
    double above[] = {1.1, 1.2, 1.15, 1.3, 1.05, 1.12}, below[] = {0.9, 0.8, 0.95, 0.7, 0.99, 0.85};
    assert_int_equal(ratios_summarise(above, 6, 1).verdict, RATIO_HIGHER);
    assert_int_equal(ratios_summarise(below, 6, 1).verdict, RATIO_LOWER);
}

TEST(summarise__around_one__cannot_be_told_apart)
{
    double values[] = {0.9, 1.1, 0.95, 1.05, 1.2, 0.8, 1.0, 1.01};
    struct ratio_summary s = ratios_summarise(values, 8, 1);
    assert_int_equal(s.verdict, RATIO_SAME);
    assert_true(s.low <= 1 && s.high >= 1);
}

TEST(summarise__all_one__cannot_be_told_apart)
{
    double values[] = {1, 1, 1, 1, 1, 1, 1};
    struct ratio_summary s = ratios_summarise(values, 7, 1);
    assert_true(s.low == 1 && s.high == 1);
    assert_int_equal(s.verdict, RATIO_SAME);
}

TEST(summarise__same_seed__same_interval)
{
    double a[] = {1.3, 0.9, 1.2, 1.7, 1.1, 0.8, 1.9}, b[] = {1.9, 0.8, 1.1, 1.7, 1.2, 0.9, 1.3};
    struct ratio_summary first = ratios_summarise(a, 7, 42), again = ratios_summarise(b, 7, 42);
    assert_true(first.low == again.low && first.high == again.high);
}

/* The interval of a median covers the true one in about 95 of 100 samples; 25 uniform values each, fixed seeds. */
TEST(summarise__many_samples__covers_about_95_percent)
{
    enum { SAMPLES = 300, VALUES = 25 };
    int covered = 0;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        struct rng r = rng_stream(7, i);
        double values[VALUES];
        for (int v = 0; v < VALUES; v++)
            values[v] = 0.5 + (double)rng_below(&r, 1000001) / 1e6; /* true median 1 */
        struct ratio_summary s = ratios_summarise(values, VALUES, i);
        covered += s.low <= 1 && s.high >= 1;
    }
    assert_in_range(covered, SAMPLES * 90 / 100, SAMPLES * 99 / 100);
}

/* On either side of the change from drawing to the limit the intervals are nearly the same. */
TEST(summarise__around_the_limit__nearly_the_same_interval)
{
    double few[400], many[402];
    for (int i = 0; i < 402; i++) {
        many[i] = 0.8 + i * 0.001;
        if (i > 0 && i < 401)
            few[i - 1] = many[i];
    }
    struct ratio_summary drawn = ratios_summarise(few, 400, 3), limit = ratios_summarise(many, 402, 3);
    assert_true(fabs(drawn.low - limit.low) < 0.004);
    assert_true(fabs(drawn.high - limit.high) < 0.004);
    assert_true(fabs(limit.low - (1.0005 - 0.0197)) < 0.001);
}
