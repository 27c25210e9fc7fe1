/* belief/: how far outcomes let predictions be believed, and what they say alone. */
#include "search/belief.h"
#include "search/process.h"
#include "unit_test.h"

/* One in six alone; no more of two that are all but one, twice as much of two that say nothing of each other. */
TEST(better_left__candidates__by_how_they_are_correlated)
{
    const struct left_expectation x[] = {{-1, 1}, {-1, 1}};
    const double none[] = {0, 0}, apart[] = {1, 0, 0, 1}, alike[] = {1, 1, 1, 1}, alone = left_above_alone(x);
    assert_float_equal(alone, 0.1587, 1e-4);
    assert_float_equal(better_left(&(struct candidates_left){1, x, x, 0.5, 1000, none, apart}), alone, 0.025);
    assert_float_equal(better_left(&(struct candidates_left){2, x, x, 0.5, 1000, none, alike}), alone, 0.03);
    assert_float_equal(better_left(&(struct candidates_left){2, x, x, 0.5, 1000, none, apart}), 1 - pow(1 - alone, 2),
                       0.03);
    assert_true(better_left(&(struct candidates_left){0, x, x, 0.5, 1000, none, apart}) == 0);
    /* The spread of few runs may well be larger: Student's distribution of 3 degrees of freedom beyond 3. */
    const struct left_expectation far = {-3, 1};
    assert_float_equal(better_left(&(struct candidates_left){1, &far, &far, 0.5, 3, none, apart}), 0.0288, 0.012);
}

/* One limit decides which of two fail; what is sure to be better is so in one view only. */
TEST(better_left__what_may_fail_and_views__once_for_all)
{
    const struct left_expectation better[] = {{1, 0}, {1, 0}}, worse[] = {{-1, 0}, {-1, 0}};
    const double failure[] = {0.8, 0.9}, none[] = {0, 0}, apart[] = {1, 0, 0, 1};
    assert_float_equal(better_left(&(struct candidates_left){2, better, better, 1, 1000, failure, apart}), 0.2, 0.04);
    assert_float_equal(better_left(&(struct candidates_left){2, better, worse, 0.3, 1000, none, apart}), 0.3, 0.04);
    assert_float_equal(better_left(&(struct candidates_left){2, better, worse, 0.5, 1000, failure, apart}), 0.1, 0.03);
}

/* Another explanation that is as good leaves the trust where it was. */
TEST(memory_belief__explained_otherwise__trusted_by_how_well)
{
    assert_float_equal(memory_belief_trust(0, 0), MEMORY_TRUST, 1e-12);
    assert_float_equal(memory_belief_trust(log(0.3), log(0.3)), MEMORY_TRUST, 1e-12);
    assert_float_equal(memory_belief_trust(log(0.01), log(0.9)), 0.1 / 1.1, 1e-9); /* odds of 9 / 90 */
}

TEST(time_belief_trust__runs__by_how_long_they_took)
{
    const struct compared_time right[] = {{1, 1.1, 0.2}, {2, 1.9, 0.2}}, fast = {10, 1, 0.2}, broken = {1, 12, 0.2};
    assert_float_equal(time_belief_trust(NULL, 0), TIME_TRUST, 1e-9);
    assert_true(time_belief_trust(right, 2) > 0.9);
    assert_true(time_belief_trust(&fast, 1) < 0.01); /* no run is that much faster by accident */
    assert_true(time_belief_trust(&broken, 1) > 0.5);
}

/* The error of predictions is common to all runs: the tenth says no more of it than the first. */
TEST(time_belief_trust__many_runs_alike__count_once)
{
    struct compared_time runs[10];
    for (size_t i = 0; i < 10; i++)
        runs[i] = (struct compared_time){1 + (double)i, 1.1 + 1.1 * (double)i, 0.2};
    assert_float_equal(time_belief_trust(runs, 10), time_belief_trust(runs, 1), 1e-9);
    runs[3].measured *= 12; /* a broken one among them */
    assert_float_equal(time_belief_trust(runs, 10), time_belief_trust(runs, 1), 1e-9);
}

/* Two groups, in units of their own: 1000 times apart. */
TEST(claims__against_arithmetic__only_such_as_turn_it_over_lose_trust)
{
    const double arithmetic[] = {0, 0.5, 1, 0, 0.5, 1}, silent[] = {0, 0, 0, 7, 7, 7};
    const double alike[] = {0, 0.8, 1.1, 7, 7.4, 8}, over[] = {0, -0.8, -1.1, 7, 6.6, 6}, none[] = {2, 2, 2, 7, 7, 7};
    const size_t group[] = {0, 0, 0, 1, 1, 1};
    struct contradiction c = claims_compare(&(struct two_claims){alike, arithmetic, group, 6, 2}, 0.3);
    assert_true(c.distance < 0.05);
    assert_float_equal(trust_contradicted(TIME_TRUST, &c, TIME_ANYWHERE), TIME_TRUST, 1e-9);
    c = claims_compare(&(struct two_claims){over, arithmetic, group, 6, 2}, 0.3);
    assert_float_equal(c.distance, 2 * sqrt(1.0 / 6), 0.02); /* twice the deviation of what arithmetic says */
    assert_true(trust_contradicted(TIME_TRUST, &c, TIME_ANYWHERE) < 0.05);
    c = claims_compare(&(struct two_claims){over, silent, group, 6, 2}, 0.3);
    assert_float_equal(trust_contradicted(TIME_TRUST, &c, TIME_ANYWHERE), TIME_TRUST, 1e-9);
    c = claims_compare(&(struct two_claims){none, arithmetic, group, 6, 2}, 0.3);
    assert_float_equal(trust_contradicted(TIME_TRUST, &c, TIME_ANYWHERE), TIME_TRUST, 1e-9);
}

/* A candidate that is not predicted says nothing against those that are. */
TEST(claims__some_not_predicted__left_out)
{
    const double arithmetic[] = {0, 1, 5, 2}, predicted[] = {0, 1, NAN, 2};
    const size_t group[] = {0, 0, 0, 0};
    const struct contradiction c = claims_compare(&(struct two_claims){predicted, arithmetic, group, 4, 1}, 0.3);
    assert_float_equal(c.distance, 0, 1e-9);
}

TEST(time_belief_slope__merits__right_wrong_turned_over)
{
    const double predicted[] = {0, 1, 2}, right[] = {5, 6, 7}, flat[] = {5, 5, 5}, over[] = {7, 6, 5};
    assert_float_equal(time_belief_slope(predicted, right, 0, 0.3), 1, 0);
    assert_float_equal(time_belief_slope(predicted, right, 3, 0.3), 1, 0.02);
    assert_true(fabs(time_belief_slope(predicted, flat, 3, 0.3)) < 0.1);
    assert_true(time_belief_slope(predicted, over, 3, 0.3) < -0.8);
}

/* Places on a line, covariance 1 + 4·x·y, that run out of memory above 0: an outcome's weight is what was not
 * expected of it, which only the mode of the posterior fulfils. A prior that is far off is where Newton overshoots. */
TEST(memory_limit__outcomes_on_a_line__mode_of_the_posterior)
{
    enum { COUNT = 40 };
    double covariance[COUNT * COUNT], prior[COUNT], weights[COUNT], at[COUNT];
    bool out_of_memory[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        at[i] = ((double)i - COUNT / 2.0 + 0.5) / 10;
        prior[i] = 4 * at[i] - 9;
        out_of_memory[i] = at[i] > 0;
    }
    for (size_t i = 0; i < COUNT * COUNT; i++)
        covariance[i] = 1 + 4 * at[i / COUNT] * at[i % COUNT];
    memory_limit_learn(&(struct limit_evidence){COUNT, out_of_memory, prior, covariance}, weights);
    double last = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double odds = prior[i];
        for (size_t j = 0; j < COUNT; j++)
            odds += weights[j] * covariance[j * COUNT + i];
        double chance = memory_limit_chance(odds);
        assert_float_equal(weights[i], (out_of_memory[i] ? 1 : 0) - chance, 1e-4);
        assert_true(chance > last);
        last = chance;
    }
    assert_true(last > 0.99);
}

/* The evidence of one outcome whose odds are even and uncertain is a half, that of two alike more than a quarter;
 * Laplace's approximation is off by some hundredths. */
TEST(memory_limit__evidence__as_probable_as_the_outcomes)
{
    const bool failed[] = {true, true}, mixed[] = {true, false};
    const double prior[] = {0, 0}, same[] = {1, 1, 1, 1}, apart[] = {1, 0, 0, 1};
    double weights[2];
    assert_float_equal(exp(memory_limit_learn(&(struct limit_evidence){1, failed, prior, same}, weights)), 0.5, 0.02);
    double alike = exp(memory_limit_learn(&(struct limit_evidence){2, failed, prior, same}, weights));
    double unlike = exp(memory_limit_learn(&(struct limit_evidence){2, mixed, prior, same}, weights));
    double alone = exp(memory_limit_learn(&(struct limit_evidence){2, mixed, prior, apart}, weights));
    assert_float_equal(alike + unlike, 0.5, 0.03);
    assert_float_equal(alone, 0.25, 0.02);
    assert_true(alike > unlike + 0.05);
}

/* Candidates whose bytes are predicted as shares of what there is; `kernel` says of none more than of itself. */
enum { PREDICTED = 5 };
static const float predicted_need[PREDICTED] = {-0.7F, -0.1F, 0, 0.1F, 0.7F};

static void predict_chances(double sigma, size_t candidate, bool failed, size_t count, double *chances)
{
    static const float apart[PREDICTED] = {0};
    const float *const nearness = apart;
    const struct process_space space = {.count = PREDICTED};
    const struct limit limit = {&space,
                                predicted_need,
                                limit_predicted(sigma),
                                {count, &candidate, &nearness},
                                &failed};
    memory_limit_chances(&limit, chances);
}

TEST(memory_limit__predicted__bias_is_learnt_near_the_limit)
{
    double before[PREDICTED], after[PREDICTED], coarse[PREDICTED];
    predict_chances(0.12, 0, false, 0, before);
    assert_float_equal(before[2], 0.5, 1e-9);
    assert_float_equal(before[1] + before[3], 1, 1e-6);
    /* Half of the variance: a normal distribution of deviation 0.21 has 0.69 below 0.1. */
    assert_float_equal(before[3], 0.69, 0.02);
    predict_chances(1, 0, false, 0, coarse);
    assert_true(coarse[3] < before[3]);
    predict_chances(0.12, 3, false, 1, after);
    assert_true(after[2] < 0.4 && after[3] < 0.6 * before[3]);
    predict_chances(0.12, 1, true, 1, after);
    assert_true(after[2] > 0.6 && after[1] > 1.4 * before[1]);
    predict_chances(0.12, 0, false, 1, after);
    assert_float_equal(after[2], before[2], 0.01);
}

TEST(process_add__told_outcomes__as_their_covariances)
{
    static const float near[][PREDICTED] = {{0, 0.1F, 0.2F, 0.3F, 0.4F}, {0.5F, 0.6F, 0, 0.1F, 0.2F}};
    static const size_t told[] = {0, 2};
    static const double weights[] = {0.5, -2};
    const float *const nearness[] = {near[0], near[1]};
    const struct process_space space = {.count = PREDICTED};
    const struct kernel k =
        {.common = 0.7, .need = 0.3, .single = 0.2, .nearby = 0.9, .steps = 1, .needs = predicted_need};
    double sums[PREDICTED] = {1, 1, 1, 1, 1};
    process_add(&space, &k, &(struct process_told){2, told, nearness}, weights, sums);
    for (size_t c = 0; c < PREDICTED; c++) {
        double expected = 1;
        for (size_t i = 0; i < 2; i++)
            expected += weights[i] * process_covariance(&space, &k, told[i], c, near[i][c]);
        assert_float_equal(sums[c], expected, 1e-9);
    }
}

TEST(memory_limit__no_outcome__no_weight)
{
    assert_float_equal(memory_limit_learn(&(struct limit_evidence){0}, NULL), 0, 0);
    assert_float_equal(memory_limit_chance(0), 0.5, 0);
}

/* ln of the evidence of predictions by far-off runs, and the slope that these show. */
static double log_evidence(const double *predicted, const double *merits, size_t count, double *slope)
{
    const double apart[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, near[4] = {1, 0, 0, 1};
    struct explained r;
    regression_explain(&(struct viewed_runs){count, predicted, merits, 0.3, count == 2 ? near : apart}, &r);
    *slope = r.slope;
    return r.log_evidence;
}

TEST(regression__views__by_what_came_out)
{
    const double predicted[] = {0, -0.5, -1}, over[] = {-1, -0.5, 0}, broken[] = {0, -0.5, -5};
    double right, wrong, ignored;
    assert_float_equal(log_evidence(predicted, predicted, 0, &right), 0, 1e-12);
    assert_true(log_evidence(predicted, predicted, 3, &right) > log_evidence(predicted, over, 3, &wrong) + 1.5);
    assert_float_equal(right, 1, 1e-9);
    assert_true(wrong < 0.6);
    assert_true(log_evidence(predicted, over, 2, &wrong) < log_evidence(predicted, predicted, 2, &right));
    assert_true(log_evidence(predicted, broken, 3, &ignored) < log_evidence(predicted, predicted, 3, &right));
}

TEST(regression__one_run__sets_the_level_alone)
{
    const double predicted = -3, merit = 7, one = 1;
    struct explained r;
    regression_explain(&(struct viewed_runs){1, &predicted, &merit, 0.3, &one}, &r);
    assert_float_equal(r.level, 7, 1e-12);
    assert_float_equal(r.middle, -3, 1e-12);
    assert_float_equal(r.slope, 1, 1e-12);
    assert_float_equal(r.weights[0], 0, 1e-12);
    assert_float_equal(r.slope_variance, 0.0625, 1e-12);
}

/* Runs that are nearly one and differ all the same say that all others may differ by far more. */
TEST(regression__alike_runs_apart__the_spread_is_large)
{
    const double predicted[] = {0, 0}, merits[] = {-0.2, 0.2}, apart[] = {1, 0, 0, 1}, alike[] = {1, 0.9, 0.9, 1};
    struct explained few, many;
    regression_explain(&(struct viewed_runs){2, predicted, merits, 0.3, apart}, &few);
    regression_explain(&(struct viewed_runs){2, predicted, merits, 0.3, alike}, &many);
    assert_float_equal(few.spread, sqrt((3 * 0.09 + 0.08 / (1 + 1.0 / 36)) / 4), 1e-9);
    assert_float_equal(many.spread, sqrt((3 * 0.09 + 0.08 / (0.1 + 1.0 / 36)) / 4), 1e-9);
}

/* Runs that the others foretell say that more can be said of the rest than was thought; one that they do not foretell,
 * less. */
TEST(regression__runs_left_out_one_by_one__calibrate_what_is_said_of_others)
{
    enum { COUNT = 6 };
    const double predicted[COUNT] = {0}, foretold[COUNT] = {0}, alone[] = {0, 0, 0, 0, 0, 0.9};
    double alike[COUNT * COUNT];
    struct explained right, wrong, one;
    for (size_t i = 0; i < COUNT * COUNT; i++)
        alike[i] = i % (COUNT + 1) == 0 ? 1 : 0.9;
    regression_explain(&(struct viewed_runs){COUNT, predicted, foretold, 0.1, alike}, &right);
    regression_explain(&(struct viewed_runs){COUNT, predicted, alone, 0.1, alike}, &wrong);
    regression_explain(&(struct viewed_runs){1, predicted, alone, 0.1, alike}, &one);
    assert_float_equal(right.calibration, sqrt(1.0 / COUNT), 1e-9);
    assert_true(wrong.calibration > 1);
    assert_float_equal(one.calibration, 1, 1e-9);
}

/* A run that is far better than its view says is no broken one. */
TEST(regression__far_better_run__counts_in_full)
{
    enum { COUNT = 4 };
    const double predicted[COUNT] = {0}, merits[COUNT] = {0, 0, 0, 4};
    double covariance[COUNT * COUNT] = {0};
    struct explained r;
    for (size_t i = 0; i < COUNT; i++)
        covariance[i * COUNT + i] = 1;
    regression_explain(&(struct viewed_runs){COUNT, predicted, merits, 0.3, covariance}, &r);
    assert_float_equal(r.level + r.weights[3], 4, 0.1);
}

static struct layout with_64_devices(size_t dp, size_t tp, size_t pp, size_t micro_batch, size_t micro_batches,
                                     size_t zero_stage)
{
    const struct {
        size_t input, value;
    } given[] = {{AT_DEVICES_PER_NODE, 8},
                 {AT_DP, dp},
                 {AT_TP, tp},
                 {AT_PP, pp},
                 {AT_MICRO_BATCH, micro_batch},
                 {AT_GRADIENT_ACCUMULATION, micro_batches},
                 {AT_SEQ, 2048},
                 {AT_ZERO_STAGE, zero_stage}};
    struct input_value all[INPUT_COUNT] = {{INPUT_ABSENT, 0, NULL}};
    for (size_t i = 0; i < LENGTH(given); i++)
        all[given[i].input] = (struct input_value){INPUT_NUMBER, (double)given[i].value, NULL};
    return layout_of(all, 64);
}

TEST(layout_seconds__other_degrees__as_arithmetic_says)
{
    const struct layout base = with_64_devices(8, 8, 1, 1, 8, 1), stages = with_64_devices(8, 1, 8, 1, 8, 1),
                        few = with_64_devices(8, 1, 8, 8, 1, 1), wide = with_64_devices(2, 32, 1, 4, 8, 1),
                        larger = with_64_devices(8, 8, 1, 4, 2, 1);
    assert_true(layout_seconds(&few) > 2.5 * layout_seconds(&stages)); /* idle stages: 8 against 15 / 8 */
    assert_true(layout_seconds(&wide) > layout_seconds(&base));        /* beyond a host */
    assert_true(layout_seconds(&larger) < layout_seconds(&base));
}

TEST(layout_bytes__shards_and_micro_batches__rise_and_fall)
{
    const struct layout base = with_64_devices(8, 8, 1, 1, 8, 1), sharded = with_64_devices(8, 8, 1, 1, 8, 3),
                        larger = with_64_devices(8, 8, 1, 2, 8, 1);
    struct layout again = base;
    again.recomputed = 1;
    assert_true(layout_bytes(&sharded) < layout_bytes(&base));
    assert_true(layout_bytes(&larger) > layout_bytes(&base));
    assert_true(layout_bytes(&again) < layout_bytes(&base));
}

/* A script's own keys are all unknown to the layout. */
TEST(layout__nothing_known__a_number)
{
    const struct input_value none[INPUT_COUNT] = {{INPUT_ABSENT, 0, NULL}};
    const struct layout l = layout_of(none, 1);
    assert_true(isfinite(log(layout_seconds(&l))) && isfinite(log(layout_bytes(&l))));
}
