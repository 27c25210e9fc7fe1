/* report/slowdown: what is slower, and how often that is said of what is not. */
#include "compare/slowdown.h"
#include "unit_test.h"
#include "util/quantile.h"
#include "util/rng.h"

#define COMPARISONS 1000
#define JOBS 8

/* How far the bundled trainer's runs lay from their mean, in thousandths of a logarithm: 24 runs each of the
 * quickstart's jobs 15 and 31 (ZeRO stage 1, micro-batch 4), one at a time on two cores that others used, too. */
static const int processor_time[] = {
    111, 9,  278, 223, -77, 16,  -100, -43, -65, -34, -52, -35, 0,   -55, -38, -7, 47, 3,   -4, -45, -48, -38, -3,  -42,
    34,  -6, 134, 180, -67, -56, -66,  -28, 0,   -16, 4,   20,  -34, -33, 10,  7,  35, -44, 3,  -6,  -54, -21, -13, 16,
};
static const int step_time[] = {
    154,  -304, 67,   583,  200,  351,  201,  -40,  237,  275,  214, -382, -325, -386, -378, -307,
    -299, -348, -347, 265,  421,  299,  228,  -378, -284, -343, -46, 316,  242,  282,  243,  241,
    336,  378,  -371, -341, -369, -376, -356, -311, -243, -386, 428, 1051, 252,  240,  -311, -271,
};

/* A normal number with a deviation of 1 (Box and Muller). */
static double normal(struct rng *r)
{
    double u = ((double)(rng_next(r) >> 11) + 0.5) / 9007199254740992.0;
    return sqrt(-2 * log(u)) * cos(2 * M_PI * (double)(rng_next(r) >> 11) / 9007199254740992.0);
}

static double quiet(struct rng *r)
{
    return 0.03 * normal(r);
}

static double on_the_processor(struct rng *r)
{
    return processor_time[rng_below(r, LENGTH(processor_time))] / 1000.0;
}

static double on_a_busy_machine(struct rng *r)
{
    return step_time[rng_below(r, LENGTH(step_time))] / 1000.0;
}

typedef double (*noise_fn)(struct rng *r);

/* The verdicts in so many comparisons, and those that fixed thresholds of 10 % would have given: for the mean of the
 * jobs' ratios, and for any of them. */
struct tally {
    int none, found, unknown, mean_above, any_above;
};

static struct slowdown_runs draw_runs(noise_fn noise, double cost, int repeats, struct rng *r)
{
    struct slowdown_runs runs = {0};
    for (int i = 0; i < repeats; i++)
        slowdown_add_run(&runs, cost * exp(noise(r)));
    return runs;
}

static void count_verdict(struct tally *t, const struct slowdown_job *jobs)
{
    struct slowdown s = slowdown_judge(jobs, JOBS, 1.05, 1);
    double mean = 0;
    int any = 0;
    for (int i = 0; i < JOBS; i++) {
        double ratio = exp(jobs[i].now.mean - jobs[i].before.mean);
        mean += ratio / JOBS;
        any |= ratio > 1.1;
    }
    t->none += s.verdict == SLOWDOWN_NONE;
    t->found += s.verdict == SLOWDOWN_FOUND;
    t->unknown += s.verdict == SLOWDOWN_UNKNOWN;
    t->mean_above += mean > 1.1;
    t->any_above += any;
}

static struct tally compare(const char *name, noise_fn noise, int repeats, double slower)
{
    struct tally t = {0};
    for (uint64_t c = 0; c < COMPARISONS; c++) {
        struct rng r = rng_stream(11, c);
        struct slowdown_job jobs[JOBS];
        for (int i = 0; i < JOBS; i++)
            jobs[i] = (struct slowdown_job){draw_runs(noise, 1 + i, repeats, &r),
                                            draw_runs(noise, (1 + i) * slower, repeats, &r)};
        count_verdict(&t, jobs);
    }
    print_message("%s, %d jobs, %d repeats, %g times: found %d, none %d, unknown %d; above 10 %%: mean %d, any %d\n",
                  name, JOBS, repeats, slower, t.found, t.none, t.unknown, t.mean_above, t.any_above);
    return t;
}

/* With repeats enough for the noise: at most 1 % of 1,000 equal builds are called slower, and of 1,000 that are slower
 * by 5 % at least 90 % are found. */
static void expect_kept(const char *name, noise_fn noise, int repeats)
{
    struct tally equal = compare(name, noise, repeats, 1), slower = compare(name, noise, repeats, 1.05);
    assert_in_range(equal.found, 0, COMPARISONS / 100);
    assert_in_range(slower.found, COMPARISONS * 9 / 10, COMPARISONS);
    assert_in_range(slower.none, 0, COMPARISONS * 75 / 1000);
    /* A fixed threshold of 10 % finds a tenth of them at most. */
    assert_in_range(slower.mean_above, 0, COMPARISONS / 10);
}

TEST(judge__repeats_enough__few_false_alarms_and_most_found)
{
    NEEDS(!rounds_are_few());
    expect_kept("quiet", quiet, 3);
    expect_kept("processor time", on_the_processor, 12);
    expect_kept("busy machine", on_a_busy_machine, 240);
}

TEST(judge__too_few_repeats__unknown_rather_than_wrong)
{
    NEEDS(!rounds_are_few());
    static const noise_fn noises[] = {quiet, on_the_processor, on_a_busy_machine};
    static const char *const names[] = {"quiet", "processor time", "busy machine"};
    for (size_t i = 0; i < LENGTH(noises); i++)
        for (int repeats = 1; repeats < 3; repeats++) {
            struct tally equal = compare(names[i], noises[i], repeats, 1);
            struct tally slower = compare(names[i], noises[i], repeats, 1.05);
            assert_in_range(equal.found, 0, COMPARISONS / 100);
            assert_in_range(slower.none, 0, COMPARISONS * 75 / 1000);
        }
}

/* As many repeats as it asks for tell, in most cases. */
TEST(judge__as_many_repeats_as_it_wants__tell)
{
    NEEDS(!rounds_are_few());
    int told = 0, asked = 0;
    for (uint64_t c = 0; c < COMPARISONS; c++) {
        struct rng r = rng_stream(12, c);
        struct slowdown_job jobs[JOBS];
        for (int i = 0; i < JOBS; i++)
            jobs[i] =
                (struct slowdown_job){draw_runs(on_the_processor, 1, 2, &r), draw_runs(on_the_processor, 1, 2, &r)};
        struct slowdown s = slowdown_judge(jobs, JOBS, 1.05, 1);
        if (s.verdict != SLOWDOWN_UNKNOWN)
            continue;
        asked++;
        for (int i = 0; i < JOBS; i++)
            jobs[i] = (struct slowdown_job){draw_runs(on_the_processor, 1, (int)s.repeats_wanted, &r),
                                            draw_runs(on_the_processor, 1, (int)s.repeats_wanted, &r)};
        told += slowdown_judge(jobs, JOBS, 1.05, 1).verdict != SLOWDOWN_UNKNOWN;
    }
    print_message("asked for more repeats %d times, then told %d times\n", asked, told);
    assert_in_range(asked, 100, COMPARISONS);
    assert_in_range(told, asked * 8 / 10, asked);
}

/* One run in ten is slower by the same step: two such runs of one job on one side are alike, and look certain. */
static double stepped(struct rng *r)
{
    return (rng_below(r, 10) == 0 ? 0.1 : 0) + 0.01 * normal(r);
}

/* Skewed without a step. */
static double stalled(struct rng *r)
{
    return 0.01 * exp(normal(r));
}

/* The lower bound of equal builds lies above 1 in at most 0.5 %, and the upper one of builds slower by the limit lies
 * below it in at most 5 %, as that of equal builds does below 1; 0.6 and 5.5 % allow for chance in so many. */
TEST(judge__few_jobs_and_repeats_with_outliers__false_alarms_as_stated)
{
    ROWS(noises, const char *name; noise_fn draw) = {{"quiet", quiet},
                                                     {"processor time", on_the_processor},
                                                     {"busy machine", on_a_busy_machine},
                                                     {"one in ten slower", stepped},
                                                     {"skewed", stalled}};
    static const int sizes[][2] = {{2, 2}, {3, 2}, {4, 2}, {8, 2}, {3, 3}};
    NEEDS(!rounds_are_few());
    for (size_t k = 0; k < LENGTH(noises); k++)
        for (size_t i = 0; i < LENGTH(sizes); i++) {
            const int rounds = 8000;
            int alarms = 0, missed = 0;
            struct rng r = rng_stream(31, k * 10 + i);
            for (int c = 0; c < rounds; c++) {
                struct slowdown_job jobs[JOBS];
                for (int j = 0; j < sizes[i][0]; j++)
                    jobs[j] = (struct slowdown_job){draw_runs(noises[k].draw, 1, sizes[i][1], &r),
                                                    draw_runs(noises[k].draw, 1, sizes[i][1], &r)};
                const struct slowdown s = slowdown_judge(jobs, (size_t)sizes[i][0], 1e9, 1);
                alarms += s.least > 1;
                missed += s.most < 1;
            }
            print_message("%s, %d jobs, %d repeats: %.2f %% false alarms, %.1f %% missed\n", noises[k].name,
                          sizes[i][0], sizes[i][1], 100.0 * alarms / rounds, 100.0 * missed / rounds);
            assert_in_range(alarms, 0, rounds * 6 / 1000);
            assert_in_range(missed, 0, rounds * 55 / 1000);
        }
}

/* A step of one job is found with three runs, whatever the other jobs say. */
TEST(judge__one_job_slower__found_with_three_runs)
{
    for (int repeats = 2; repeats <= 3; repeats++) {
        struct rng r = rng_stream(32, 0);
        struct slowdown_job jobs[JOBS];
        for (int j = 0; j < JOBS; j++)
            jobs[j] = (struct slowdown_job){draw_runs(quiet, 1, repeats, &r), draw_runs(quiet, j ? 1 : 2, repeats, &r)};
        struct slowdown s = slowdown_judge(jobs, JOBS, 1.05, 1);
        assert_int_equal(s.verdict, repeats < 3 ? SLOWDOWN_UNKNOWN : SLOWDOWN_FOUND);
        assert_int_equal(s.repeats_wanted, repeats < 3 ? 3 : 0);
    }
}

static struct slowdown_job one_each(double before, double now)
{
    struct slowdown_job j = {0};
    slowdown_add_run(&j.before, before);
    slowdown_add_run(&j.now, now);
    return j;
}

TEST(judge__one_job_once__nothing_says_how_much_runs_differ)
{
    struct slowdown_job j = one_each(1, 2);
    struct slowdown s = slowdown_judge(&j, 1, 1.05, 1);
    assert_int_equal(s.verdict, SLOWDOWN_UNKNOWN);
    assert_true(fabs(s.ratio - 2) < 1e-12 && isnan(s.least) && isnan(s.most));
    assert_int_equal(s.repeats_wanted, 0);
    s = slowdown_judge(NULL, 0, 1.05, 1);
    assert_int_equal(s.verdict, SLOWDOWN_UNKNOWN);
    assert_true(isnan(s.ratio));
}

TEST(judge__always_the_same__certain)
{
    struct slowdown_job equal[] = {one_each(1, 1), one_each(2, 2)},
                        slower[] = {one_each(1, 1.0625), one_each(2, 2.125)},
                        little[] = {one_each(1, 1.03125), one_each(2, 2.0625)};
    assert_int_equal(slowdown_judge(equal, 2, 1.05, 1).verdict, SLOWDOWN_NONE);
    assert_int_equal(slowdown_judge(slower, 2, 1.05, 1).verdict, SLOWDOWN_FOUND);
    assert_int_equal(slowdown_judge(little, 2, 1.05, 1).verdict, SLOWDOWN_NONE); /* slower, but not by as much */
}

/* By hand: the logarithms' means differ by 0.2, each run lies 0.1 from its mean, 2 degrees of freedom, so that the
 * standard error is sqrt((4 * 0.01) / 2 * (1/2 + 1/2)). */
TEST(judge__two_runs_on_each_side__interval_by_hand)
{
    struct slowdown_job j = {{2, 0, 0.02}, {2, 0.2, 0.02}};
    struct slowdown s = slowdown_judge(&j, 1, 1.05, 1);
    double error = sqrt(0.02);
    assert_true(fabs(log(s.least) - (0.2 - 9.9248 * error)) < 1e-4);
    assert_true(fabs(log(s.most) - (0.2 + 2.9200 * error)) < 1e-4);
    assert_true(slowdown_judge(&j, 1, 1.05, 10).least < s.least);
}

TEST(student_quantile__as_tabulated)
{
    ROWS(rows, double share, freedom, value) = {
        {0.975, 1, 12.706}, {0.95, 2, 2.920},    {0.995, 3, 5.841},       {0.975, 10, 2.228},
        {0.995, 30, 2.750}, {0.95, 1000, 1.646}, {0.95, INFINITY, 1.645},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_true(fabs(student_quantile(rows[i].share, rows[i].freedom) - rows[i].value) < 6e-4);
    /* The quantile of one degree is the tangent; that of two, (2p - 1) / sqrt(2p (1 - p)). */
    assert_true(fabs(student_quantile(0.9999, 1) / tan(M_PI * 0.4999) - 1) < 1e-6);
    assert_true(fabs(student_quantile(0.9999, 2) / (0.9998 / sqrt(2 * 0.9999 * 0.0001)) - 1) < 1e-6);
}

/* With two runs on one side and many on the other Welch's degrees of freedom lie between 1 and 2, where the quantile
 * falls from 12.7 to 4.3: those of a whole number would be of another one. */
TEST(welch__degrees_of_freedom_between_whole_numbers__kept)
{
    const struct standard_error a = {3, 1}, b = {1.5, 20};
    const double freedom = 11.25 * 11.25 / (81 + 5.0625 / 20);
    assert_true(freedom > 1.5 && freedom < 1.6);
    assert_true(fabs(welch_half_width(a, b, 0.025) - student_quantile(0.975, freedom) * sqrt(11.25)) < 1e-9);
    assert_true(student_quantile(0.975, freedom) < 0.5 * student_quantile(0.975, 1));
    assert_true(isnan(welch_half_width(a, (struct standard_error){1, 0}, 0.025)));
    assert_true(welch_half_width((struct standard_error){0, 1}, (struct standard_error){0, 1}, 0.025) == 0);
}
