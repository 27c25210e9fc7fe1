#include "belief/memory_limit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/linear.h"
#include "util/memory.h"

/* Of ln(p / (1 - p)). Without predictions: the offset that all candidates share, and the slope per factor of e in the
 * need. In any case, standard deviations of that slope, of a number's line over its range, of what no line explains,
 * and of a word. Fitted to no row, but chosen with drawn landscapes (scripts/tables/landscapes.py), published tables
 * and unit tests in view. */
#define COMMON 8.0
#define SLOPE 4.2
#define SLOPE_SPREAD 2.0
#define NUMBER 5.0
#define NEARBY 2.0
#define WORD 1.0

#define STRANGE_SHARE 0.3 /* share of frameworks and models whose predictions are off by more than their sigma */
#define STRANGE 0.5
#define LOGISTIC 1.702 /* scale of the logistic distribution that is nearest to a normal one */

#define ROUNDS_MOST 30
#define HALVINGS_MOST 12
#define GAIN_LEAST 1e-9      /* of ln of the posterior: a smaller gain means that the mode is reached */
#define CURVATURE_LEAST 1e-6 /* of an outcome that is almost certain */
#define PIVOT_LEAST 1e-12

double memory_limit_chance(double log_odds)
{
    return 1 / (1 + exp(-log_odds));
}

/* Value of the process at each outcome. The caller frees it. */
static double *values_at(const struct limit_evidence *o, const double *weights)
{
    double *values = xcalloc(o->count + 1, sizeof *values);
    for (size_t i = 0; i < o->count; i++)
        values[i] = weighted_sum(o->covariance + i * o->count, weights, o->count);
    return values;
}

/* ln of the posterior, up to a constant. */
static double log_posterior(const struct limit_evidence *o, const double *weights)
{
    double *values = values_at(o, weights), sum = 0;
    for (size_t i = 0; i < o->count; i++) {
        double odds = o->prior[i] + values[i];
        sum -= log1p(exp(o->out_of_memory[i] ? -odds : odds)) + weights[i] * values[i] / 2;
    }
    free(values);
    return sum;
}

/* 1 + W½ K W½, where W is the curvature of the likelihood at `values`; `root` gets the
 * diagonal of W½. The caller frees the matrix. */
static double *curved(const struct limit_evidence *o, const double *values, double *root)
{
    size_t n = o->count;
    double *matrix = xcalloc(n * n + 1, sizeof *matrix);
    for (size_t i = 0; i < n; i++) {
        double p = memory_limit_chance(o->prior[i] + values[i]);
        root[i] = sqrt(fmax(p * (1 - p), CURVATURE_LEAST));
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            matrix[i * n + j] = root[i] * o->covariance[i * n + j] * root[j] + (i == j ? 1 : 0);
    return matrix;
}

/* One Newton step from `weights`: algorithm 3.1 of the book. */
static void newton(const struct limit_evidence *o, const double *weights, double *next)
{
    size_t n = o->count;
    double *values = values_at(o, weights), *root = xcalloc(n + 1, sizeof *root), *b = xcalloc(n + 1, sizeof *b);
    double *matrix = curved(o, values, root);
    for (size_t i = 0; i < n; i++) {
        double p = memory_limit_chance(o->prior[i] + values[i]);
        b[i] = root[i] * root[i] * values[i] + (o->out_of_memory[i] ? 1 : 0) - p;
    }
    for (size_t i = 0; i < n; i++)
        next[i] = root[i] * weighted_sum(o->covariance + i * n, b, n);
    solve_positive_definite(matrix, next, n, PIVOT_LEAST);
    for (size_t i = 0; i < n; i++)
        next[i] = b[i] - root[i] * next[i];
    free(values);
    free(root);
    free(b);
    free(matrix);
}

/* ln of the determinant of 1 + W½ K W½. */
static double log_determinant(const struct limit_evidence *o, const double *weights)
{
    size_t n = o->count;
    double *values = values_at(o, weights), *root = xcalloc(n + 1, sizeof *root), *unit = xcalloc(n + 1, sizeof *unit);
    double *matrix = curved(o, values, root), sum = 0;
    solve_positive_definite(matrix, unit, n, PIVOT_LEAST);
    for (size_t i = 0; i < n; i++)
        sum += 2 * log(matrix[i * n + i]); /* diagonal of the Cholesky factor, which the call left in the matrix */
    free(values);
    free(root);
    free(unit);
    free(matrix);
    return sum;
}

double memory_limit_learn(const struct limit_evidence *o, double *weights)
{
    size_t n = o->count;
    double *next = xcalloc(n + 1, sizeof *next), *tried = xcalloc(n + 1, sizeof *tried);
    for (size_t i = 0; i < n; i++)
        weights[i] = 0;
    double best = log_posterior(o, weights), gain = INFINITY;
    for (int round = 0; round < ROUNDS_MOST && gain > GAIN_LEAST; round++) {
        newton(o, weights, next);
        gain = 0;
        /* A full step may overshoot if the prior was far off. */
        double step = 1;
        for (int halving = 0; halving < HALVINGS_MOST && gain <= 0; halving++, step /= 2) {
            for (size_t i = 0; i < n; i++)
                tried[i] = weights[i] + step * (next[i] - weights[i]);
            gain = log_posterior(o, tried) - best;
        }
        if (gain > 0) {
            memcpy(weights, tried, n * sizeof *weights);
            best += gain;
        }
    }
    free(next);
    free(tried);
    return best - log_determinant(o, weights) / 2;
}

/* --- of candidates --- */

struct limit_expectation limit_unpredicted(double rare)
{
    return (struct limit_expectation){log(rare / (1 - rare)), SLOPE, COMMON};
}

struct limit_expectation limit_predicted(double sigma)
{
    double strange = fmax(sigma, STRANGE);
    double half = sqrt(((1 - STRANGE_SHARE) * sigma * sigma + STRANGE_SHARE * strange * strange) / 2);
    return (struct limit_expectation){0, LOGISTIC / half, LOGISTIC};
}

/* ln(p / (1 - p)) before any outcome, from the need alone. */
static double prior_of(const struct limit_space *space, size_t candidate)
{
    const struct limit_expectation *x = &space->expected;
    return space->need ? x->odds + x->slope * (double)space->need[candidate] : x->odds;
}

/* Covariance of two candidates without the kernel and the words. */
static double covariance_of(const struct limit_space *space, const struct limit_outcome *o, size_t candidate)
{
    const float *x = space->coordinates + o->candidate * space->dimensions;
    const float *y = space->coordinates + candidate * space->dimensions;
    double numbers = 0, words = 0, needs = 0;
    for (size_t d = 0; d < space->dimensions; d++) {
        numbers += space->is_number[d] ? ((double)x[d] - 0.5) * ((double)y[d] - 0.5) : 0;
        words += !space->is_number[d] && x[d] == y[d] ? 1 : 0;
    }
    if (space->need)
        needs = SLOPE_SPREAD * SLOPE_SPREAD * (double)space->need[o->candidate] * (double)space->need[candidate];
    return space->expected.common * space->expected.common + NUMBER * NUMBER * numbers + needs + WORD * WORD * words +
           NEARBY * NEARBY * (double)o->kernel[candidate];
}

/* Sums over outcomes of the parts of Σ_i weights[i] · covariance_of(outcome i, candidate). */
struct folded {
    double common, need;
    double *numbers; /* by dimension */
};

static void fold(const struct limit_space *space, const struct limit_outcome *outcomes, const double *weights,
                 size_t count, struct folded *out)
{
    out->numbers = xcalloc(space->dimensions + 1, sizeof *out->numbers);
    for (size_t i = 0; i < count; i++) {
        const float *x = space->coordinates + outcomes[i].candidate * space->dimensions;
        out->common += space->expected.common * space->expected.common * weights[i];
        if (space->need)
            out->need += SLOPE_SPREAD * SLOPE_SPREAD * weights[i] * (double)space->need[outcomes[i].candidate];
        for (size_t d = 0; d < space->dimensions; d++)
            if (space->is_number[d])
                out->numbers[d] += NUMBER * NUMBER * weights[i] * ((double)x[d] - 0.5);
    }
}

static double words_of(const struct limit_space *space, const struct limit_outcome *outcomes, const double *weights,
                       size_t count, const float *y)
{
    double sum = 0;
    for (size_t d = 0; d < space->dimensions; d++)
        for (size_t i = 0; i < count && !space->is_number[d]; i++)
            if (space->coordinates[outcomes[i].candidate * space->dimensions + d] == y[d])
                sum += WORD * WORD * weights[i];
    return sum;
}

static void fill_chances(const struct limit_space *space, const struct limit_outcome *outcomes, const double *weights,
                         size_t count, double *chances)
{
    struct folded f = {0, 0, NULL};
    fold(space, outcomes, weights, count, &f);
    for (size_t c = 0; c < space->count; c++)
        chances[c] = prior_of(space, c) + f.common + (space->need ? f.need * (double)space->need[c] : 0);
    for (size_t i = 0; i < count; i++) {
        const float *kernel = outcomes[i].kernel;
        for (size_t c = 0; c < space->count; c++)
            chances[c] += NEARBY * NEARBY * weights[i] * (double)kernel[c];
    }
    for (size_t c = 0; c < space->count; c++) {
        const float *y = space->coordinates + c * space->dimensions;
        double odds = chances[c] + words_of(space, outcomes, weights, count, y);
        for (size_t d = 0; d < space->dimensions; d++)
            odds += space->is_number[d] ? f.numbers[d] * ((double)y[d] - 0.5) : 0;
        chances[c] = memory_limit_chance(odds);
    }
    free(f.numbers);
}

/* Fills `weights`, one per outcome. */
static double learn_from(const struct limit_space *space, const struct limit_outcome *outcomes, size_t count,
                         double *weights)
{
    double *covariance = xcalloc(count * count + 1, sizeof *covariance), *prior = xcalloc(count + 1, sizeof *prior);
    bool *out_of_memory = xcalloc(count + 1, sizeof *out_of_memory);
    for (size_t i = 0; i < count; i++) {
        prior[i] = prior_of(space, outcomes[i].candidate);
        out_of_memory[i] = outcomes[i].out_of_memory;
        for (size_t j = 0; j < count; j++)
            covariance[i * count + j] = covariance_of(space, &outcomes[i], outcomes[j].candidate);
    }
    double log_evidence =
        memory_limit_learn(&(struct limit_evidence){count, out_of_memory, prior, covariance}, weights);
    free(covariance);
    free(prior);
    free(out_of_memory);
    return log_evidence;
}

void memory_limit_chances(const struct limit_space *space, const struct limit_outcome *outcomes, size_t count,
                          double *chances)
{
    double *weights = xcalloc(count + 1, sizeof *weights);
    learn_from(space, outcomes, count, weights);
    fill_chances(space, outcomes, weights, count, chances);
    free(weights);
}

double memory_limit_log_evidence(const struct limit_space *space, const struct limit_outcome *outcomes, size_t count)
{
    double *weights = xcalloc(count + 1, sizeof *weights), log_evidence = learn_from(space, outcomes, count, weights);
    free(weights);
    return log_evidence;
}
