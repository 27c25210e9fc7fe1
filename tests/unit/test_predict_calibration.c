/* predict: weights from measurements, on problems with a known answer and on measured runs. */
#include "frameworks.h"
#include "predict/calibration.h"
#include "published_tables.h"
#include "util/rng.h"

#define DRAWS 40 /* of runs that are known, each from a stream of its own */

static struct calibration calibrated(const struct calibration_prior *prior, const struct observation *o, size_t count,
                                     bool *broken)
{
    struct calibration c;
    assert_true(calibrate(prior, o, count, broken, &c));
    return c;
}

static struct calibration_prior two_terms(double spread)
{
    return (struct calibration_prior){.terms = 2,
                                      .weights = {1, 2},
                                      .noise = 0.05,
                                      .spread = spread,
                                      .sigma = 0.3,
                                      .broken_ratio = 2};
}

static struct observation measured(double x0, double x1, double y)
{
    return (struct observation){.terms = {x0, x1}, .y = y, .kind = OBSERVATION_MEASURED};
}

TEST(calibrate__fewer_than_three__prior_stays)
{
    const struct calibration_prior prior = two_terms(1);
    const struct observation o[] = {measured(1, 1, 5), measured(1, 2, 8)};
    for (size_t count = 0; count <= 2; count++) {
        struct calibration c = calibrated(&prior, o, count, NULL);
        assert_true(c.from_prior && c.measured == count);
        assert_true(c.weights[0] == 1 && c.weights[1] == 2);
    }
}

/* A single term against the closed form c = (Σ z + λ) / (Σ z² + λ). */
TEST(calibrate__one_term__closed_form_of_the_ridge)
{
    const struct calibration_prior prior = {.terms = 1, .weights = {2}, .noise = 0.1, .spread = 0.2, .sigma = 0.3};
    const struct observation o[] = {measured(1, 0, 2.4), measured(2, 0, 5), measured(3, 0, 6.6)};
    double z = 0, zz = 0, lambda = 0.25;
    for (size_t i = 0; i < 3; i++) {
        z += o[i].terms[0] * 2 / o[i].y;
        zz += o[i].terms[0] * 2 / o[i].y * o[i].terms[0] * 2 / o[i].y;
    }
    struct calibration c = calibrated(&prior, o, 3, NULL);
    assert_true(fabs(c.weights[0] / 2 - (z + lambda) / (zz + lambda)) < 1e-9);
}

/* The unconstrained solution has a negative weight; the constrained one has 0 there and the best of the rest.
 */
TEST(calibrate__negative_solution__held_at_zero)
{
    struct calibration_prior prior = two_terms(1000);
    prior.broken_ratio = 0;
    const struct observation o[] = {measured(1, 1, 1), measured(2, 1, 3), measured(3, 1, 5), measured(4, 1, 7)};
    struct calibration c = calibrated(&prior, o, 4, NULL);
    assert_true(c.weights[1] == 0 && fabs(c.weights[0] - 1.3322) < 1e-3);
}

TEST(calibrate__run_three_times_as_slow__reported_and_left_out)
{
    const struct calibration_prior prior = two_terms(1);
    bool broken[5];
    const struct observation o[] = {measured(1, 1, 3.1), measured(2, 1, 4.1), measured(1, 2, 15), measured(3, 1, 5.2),
                                    measured(4, 2, 8.1)};
    struct observation without[4] = {o[0], o[1], o[3], o[4]};
    struct calibration c = calibrated(&prior, o, 5, broken);
    struct calibration expected = calibrated(&prior, without, 4, NULL);
    assert_true(broken[2] && !broken[0] && !broken[1] && !broken[3] && !broken[4]);
    assert_true(c.broken == 1 && c.measured == 4);
    assert_memory_equal(c.weights, expected.weights, sizeof c.weights);
}

/* When everything is slow it is the prior that is off. */
TEST(calibrate__all_runs_three_times_as_slow__none_is_broken)
{
    const struct calibration_prior prior = two_terms(1);
    const struct observation o[] = {measured(1, 1, 9), measured(2, 1, 12), measured(1, 2, 15), measured(3, 1, 15)};
    struct calibration c = calibrated(&prior, o, 4, NULL);
    assert_int_equal(c.broken, 0);
    assert_true(c.weights[0] > 2.5 && c.weights[1] > 5);
}

/* Out of memory at 80 where 60 was predicted: the weights rise, but what was measured still holds. One that
 * was predicted to be out of memory says nothing. */
TEST(calibrate__out_of_memory__censored_from_below)
{
    struct calibration_prior prior = two_terms(0.5);
    prior.broken_ratio = 0;
    struct observation o[] = {measured(10, 5, 20), measured(12, 5, 22), measured(20, 1, 22), measured(2, 29, 80)};
    o[3].kind = OBSERVATION_AT_LEAST;
    struct calibration before = calibrated(&prior, o, 3, NULL), after = calibrated(&prior, o, 4, NULL);
    double x = 2 * before.weights[0] + 29 * before.weights[1], y = 2 * after.weights[0] + 29 * after.weights[1];
    assert_true(x < 61 && y > 70);
    assert_int_equal(after.censored, 1);
    o[3].y = 50;
    struct calibration consistent = calibrated(&prior, o, 4, NULL);
    assert_int_equal(consistent.censored, 0);
    assert_memory_equal(consistent.weights, before.weights, sizeof before.weights);
}

TEST(calibrate__fitted_without_a_number__censored_from_above)
{
    struct calibration_prior prior = two_terms(0.5);
    prior.broken_ratio = 0;
    struct observation o[] = {measured(10, 5, 20), measured(12, 5, 22), measured(20, 1, 22), measured(2, 29, 50)};
    o[3].kind = OBSERVATION_AT_MOST;
    struct calibration c = calibrated(&prior, o, 4, NULL);
    assert_int_equal(c.censored, 1);
    assert_true(2 * c.weights[0] + 29 * c.weights[1] < 55);
}

/* From twenty runs on the interval is the quantile of the residuals, not of a normal distribution. */
TEST(calibrate__twenty_runs__interval_covers_nine_in_ten)
{
    struct calibration_prior prior = {.terms = 1, .weights = {1}, .noise = 0.1, .spread = 0.1, .sigma = 0.3};
    struct observation o[40];
    for (size_t i = 0; i < 40; i++)
        o[i] = measured(1, 0, i % 10 == 0 ? 2 : 1 + 0.001 * (double)i);
    struct calibration c = calibrated(&prior, o, 40, NULL);
    size_t covered = 0;
    for (size_t i = 0; i < 40; i++)
        covered += fabs(log(o[i].y / c.weights[0])) <= c.interval;
    assert_true(covered >= 36 && c.interval > 0.02);
}

TEST(calibrate__senseless__refused_untouched)
{
    const struct calibration_prior good = two_terms(1);
    struct calibration_prior priors[] = {good, good, good, good};
    priors[0].terms = 0;
    priors[1].terms = CALIBRATION_TERMS + 1;
    priors[2].noise = NAN;
    priors[3].weights[0] = -1;
    const struct observation fine = measured(1, 1, 3);
    struct observation bad[] = {measured(1, 1, 0), measured(NAN, 1, 3),      measured(-1, 1, 3),
                                measured(0, 0, 3), measured(1, 1, INFINITY), fine};
    bad[5].kind = 0;
    struct calibration c = {.measured = 42};
    for (size_t i = 0; i < LENGTH(priors); i++)
        assert_false(calibrate(&priors[i], &fine, 1, NULL, &c));
    for (size_t i = 0; i < LENGTH(bad); i++)
        assert_false(calibrate(&good, &bad[i], 1, NULL, &c));
    assert_true(c.measured == 42);
}

TEST(calibration_apply__prior_alone__row_as_it_was)
{
    struct memory_coefficients memory = framework_find("deepspeed")->memory;
    struct calibration_prior prior = calibration_of_memory(&memory);
    struct calibration c = calibrated(&prior, NULL, 0, NULL);
    calibration_apply_memory(&c, &memory);
    assert_memory_equal(&memory, &framework_find("deepspeed")->memory, sizeof memory);
    c.from_prior = false;
    c.sigma = 0.07;
    calibration_apply_memory(&c, &memory);
    assert_true(memory.calibrated && memory.sigma == 0.07);
}

/* `count` numbers out of 0 … of - 1, the first of a shuffle. */
static void draw(struct rng *rng, size_t *numbers, size_t of, size_t count)
{
    for (size_t i = 0; i < of; i++)
        numbers[i] = i;
    for (size_t i = 0; i < count; i++) {
        size_t j = i + (size_t)rng_below(rng, of - i), swapped = numbers[i];
        numbers[i] = numbers[j];
        numbers[j] = swapped;
    }
}

static double dot(const double *x, const double *w, size_t terms)
{
    double sum = 0;
    for (size_t j = 0; j < terms; j++)
        sum += x[j] * w[j];
    return sum;
}

/* Mean error over the observations from `known` on, in the order of `numbers`; of throughput when `inverse`.
 */
static double mean_error(const struct observation *all, const size_t *numbers, size_t known, size_t count,
                         const double *weights, bool inverse)
{
    double sum = 0;
    for (size_t i = known; i < count; i++) {
        const struct observation *o = &all[numbers[i]];
        double predicted = dot(o->terms, weights, CALIBRATION_TERMS);
        sum += fabs((inverse ? o->y / predicted : predicted / o->y) - 1);
    }
    return sum / (double)(count - known);
}

/* Mean over draws of the error on the rest, once `known` runs drawn at random are known. */
static double few_shot_error(const struct calibration_prior *prior, const struct observation *all, size_t count,
                             size_t known, bool inverse)
{
    OWNED size_t *numbers = xcalloc(count, sizeof *numbers);
    OWNED struct observation *drawn = xcalloc(known + 1, sizeof *drawn);
    double sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct rng rng = rng_stream(1, i);
        draw(&rng, numbers, count, known);
        for (size_t k = 0; k < known; k++)
            drawn[k] = all[numbers[k]];
        struct calibration c = calibrated(prior, drawn, known, NULL);
        sum += mean_error(all, numbers, known, count, c.weights, inverse);
    }
    return sum / DRAWS;
}

/* nanotron's runs with tp <= 8 that fitted, memory of rank 0; the prior is the row of the coefficients.
 * Reached, mean error on the rest after 0, 3, 5, 12, 20, 50 runs drawn at random (mean of 40
 * draws): 7.8, 8.1, 8.2, 8.0, 7.9, 7.9 %. The prior is where these rows' noise begins (repeats differ by 8 to
 * 20 %), so there is little to gain: what is tested is that calibration loses no more than that. From weights
 * a third too low: 35, 11, 10, 9.5, 8.8, 8.1 %. */
TEST(calibrate__ultrascale_memory__error_after_runs)
{
    static const size_t known[] = {0, 3, 5, 12, 20, 50};
    struct memory_coefficients c = framework_find("nanotron")->memory;
    HELD(shared_table) t;
    OWNED struct observation *all = NULL;
    size_t count = 0;
    NEEDS(shared_table_load("ultrascale-1B-8B.csv", &t));
    for (size_t row = 0; row < t.row_count; row++) {
        struct published_run run;
        if (!ultrascale_read(&t, row, 8, &run) || run.failed)
            continue;
        struct memory_prediction m = published_memory(&run, &c);
        all = array_grow(all, count, sizeof *all);
        all[count] = (struct observation){.y = run.memory_bytes, .kind = OBSERVATION_MEASURED};
        memcpy(all[count++].terms, m.first.terms, sizeof m.first.terms);
    }
    struct calibration_prior prior = calibration_of_memory(&c), wrong = prior;
    wrong.spread = framework_find("deepspeed")->memory.spread;
    for (size_t j = 0; j < wrong.terms; j++)
        wrong.weights[j] *= 0.67;
    for (size_t i = 0; i < LENGTH(known); i++) {
        double error = few_shot_error(&prior, all, count, known[i], false);
        double from_wrong = few_shot_error(&wrong, all, count, known[i], false);
        print_message("memory after %2zu runs: mean error %.2f %%; from weights a third too low %.2f %%\n", known[i],
                      100 * error, 100 * from_wrong);
        assert_true(error <= (known[i] == 20 ? 0.08 : 0.10));
        assert_true(known[i] < 20 || from_wrong <= 0.10);
    }
}

struct mpt_table {
    struct observation *runs[MPT_CLUSTERS];
    size_t count[MPT_CLUSTERS];
};

static bool mpt_load(struct mpt_table *out)
{
    struct shared_table t;
    *out = (struct mpt_table){0};
    if (!shared_table_load("llm-foundry-mpt.csv", &t))
        return false;
    for (int c = 0; c < MPT_CLUSTERS; c++)
        for (size_t row = 0; row < t.row_count; row++) {
            struct published_run run;
            struct step_prediction s;
            if (!published_read(&t, row, published_table(mpt_clusters[c]), &run) || run.step_s <= 0)
                continue;
            assert_true(step_predict(&run.architecture, &run.plan, &run.cluster, framework_find("fsdp"), &s));
            struct observation o = {.y = run.step_s, .kind = OBSERVATION_MEASURED};
            memcpy(o.terms, s.terms, sizeof s.terms);
            out->runs[c] = array_grow(out->runs[c], out->count[c], sizeof *out->runs[c]);
            out->runs[c][out->count[c]++] = o;
        }
    shared_table_free(&t);
    return true;
}

static void mpt_table_free(struct mpt_table *m)
{
    for (int c = 0; c < MPT_CLUSTERS; c++)
        free(m->runs[c]);
}

/* FSDP's row before any measurement, its weights those that hold for anybody. */
static struct time_coefficients uncalibrated(void)
{
    struct time_coefficients time = framework_find("torch-ddp")->time;
    assert_false(time.calibrated);
    return time;
}

/* Calibrated on every cluster but one, beginning with weights that are `off` times too high and too low in
 * turn. */
static struct calibration_prior from_other_clusters(const struct mpt_table *m, int left_out, double off)
{
    struct time_coefficients time = uncalibrated();
    struct calibration_prior prior = calibration_of_time(&time);
    for (size_t j = 0; j < prior.terms; j++)
        prior.weights[j] *= j % 2 ? off : 1 / off;
    OWNED struct observation *others = NULL;
    size_t count = 0;
    for (int c = 0; c < MPT_CLUSTERS; c++)
        for (size_t i = 0; c != left_out && i < m->count[c]; i++) {
            others = array_grow(others, count, sizeof *others);
            others[count++] = m->runs[c][i];
        }
    struct calibration fit = calibrated(&prior, others, count, NULL);
    calibration_apply_time(&fit, &time);
    return calibration_of_time(&time);
}

/* Runs that the tool would report as broken are left out of `kept`; returns how many are kept. */
static size_t without_broken(const struct calibration_prior *prior, const struct observation *all, size_t count,
                             struct observation *kept)
{
    OWNED bool *broken = xcalloc(count, sizeof *broken);
    size_t n = 0;
    calibrated(prior, all, count, broken);
    for (size_t i = 0; i < count; i++)
        if (!broken[i])
            kept[n++] = all[i];
    return n;
}

/* MosaicML's throughput, 455 runs in three clusters. Each cluster is predicted from the other two alone
 * (leave one cluster out; the weights that this begins with are from elsewhere), then after runs of its own
 * drawn at random (mean of 40 draws). Reached for A100-40, A100-80, H100: before any run 4.8, 5.6, 6.3 %;
 * after 12 runs 4.2, 4.4, 4.1 %. Three runs of the A100-40 cluster took 3 to 5 times as long as their like
 * and are reported as broken, which is what the figures leave out; with them that cluster's means are 14.2
 * and 13.4 %. What the calibration on the other clusters begins with hardly matters: weights off by a factor
 * of 2 in turn change these figures by at most 0.2 points. */
TEST(calibrate__mpt_throughput__error_across_clusters)
{
    static const size_t known[] = {0, 3, 5, 12, 20};
    HELD(mpt_table) m;
    NEEDS(mpt_load(&m));
    for (int c = 0; c < MPT_CLUSTERS; c++) {
        struct calibration_prior prior = from_other_clusters(&m, c, 1), off = from_other_clusters(&m, c, 2);
        OWNED struct observation *kept = xcalloc(m.count[c], sizeof *kept);
        size_t kept_count = without_broken(&prior, m.runs[c], m.count[c], kept);
        print_message("%s: %zu runs, %zu broken\n", mpt_clusters[c], m.count[c], m.count[c] - kept_count);
        for (size_t i = 0; i < LENGTH(known); i++) {
            double all = few_shot_error(&prior, m.runs[c], m.count[c], known[i], true);
            double error = few_shot_error(&prior, kept, kept_count, known[i], true);
            print_message("  after %2zu runs: mean error %.1f %%, with broken ones %.1f %%\n", known[i], 100 * error,
                          100 * all);
            assert_true(known[i] > 0 || all <= 0.15);
            assert_true(known[i] < 12 || error <= 0.07);
        }
        double from_off = few_shot_error(&off, kept, kept_count, 0, true);
        print_message("  begun with weights off by a factor of 2: before any run %.1f %%\n", 100 * from_off);
        assert_true(from_off <= 0.15);
    }
}
