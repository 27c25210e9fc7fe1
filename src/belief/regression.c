#include "belief/regression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"

#define PIVOT_LEAST 1e-12             /* of the covariance: rounding for nearly equal rows */
#define SPREAD_LEAST REGRESSION_NOISE /* below the noise, a spread cannot be told from it */
#define PRIOR_RUNS 3.0                /* runs that the prior of the spread counts as */
#define BROKEN 1.0                    /* a run even slower than this is broken; its neighbours may not be */
#define FAR 2.0                       /* caps how far below its view a run counts: no single run can invert the slope */

static double median_of(const double *values, size_t count)
{
    double *copy = xcalloc(count + 1, sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    double middle = count ? median(copy, count) : 0;
    free(copy);
    return middle;
}

/* Residuals of slope · (predicted - middle), minus their median; returns the median. */
static double leave_over(const struct regression_runs *runs, double slope, double middle, double *out)
{
    for (size_t i = 0; i < runs->count; i++)
        out[i] = runs->merits[i] - slope * (runs->predicted[i] - middle);
    double level = median_of(out, runs->count);
    for (size_t i = 0; i < runs->count; i++)
        out[i] -= level;
    return level;
}

/* The caller frees it. */
static double *covariance_with_noise(const struct regression_view *view, double spread, size_t count)
{
    double *matrix = xcalloc(count * count + 1, sizeof *matrix);
    memcpy(matrix, view->covariance, count * count * sizeof *matrix);
    for (size_t i = 0; i < count; i++)
        matrix[i * count + i] += REGRESSION_NOISE * REGRESSION_NOISE / (spread * spread);
    return matrix;
}

/* Replaces `values` by (covariance + noise)⁻¹ values; returns ln of the determinant. */
static double solve(const struct regression_view *view, double spread, double *values, size_t count)
{
    double *matrix = covariance_with_noise(view, spread, count), log_determinant = 0;
    solve_positive_definite(matrix, values, count, PIVOT_LEAST);
    for (size_t i = 0; i < count; i++)
        log_determinant += 2 * log(matrix[i * count + i]); /* diagonal of the Cholesky factor, which the call left in
                                                            * the matrix */
    free(matrix);
    return log_determinant;
}

/* Square of the residuals under the runs' covariance: similar runs with similar residuals count little more than one.
 */
static double generalised_square(const struct regression_view *view, const double *left, size_t count)
{
    double *solved = xcalloc(count + 1, sizeof *solved);
    memcpy(solved, left, count * sizeof *solved);
    solve(view, view->spread, solved, count);
    double square = weighted_sum(left, solved, count);
    free(solved);
    return square;
}

/* ln of Student's density of `count` runs, the first of which sets the level. `squares`: their generalised square. */
static double log_student(size_t count, double squares, double spread, double log_determinant)
{
    double freedom = count > 0 ? (double)count - 1 : 0, scale = PRIOR_RUNS * spread * spread;
    return lgamma((PRIOR_RUNS + freedom) / 2) - lgamma(PRIOR_RUNS / 2) - freedom / 2 * log(M_PI * scale) -
           log_determinant / 2 - (PRIOR_RUNS + freedom) / 2 * log1p(squares / scale);
}

/* Sets slope, slope_variance and log_evidence. */
static void find_slope(const struct regression_runs *runs, const struct regression_view *view, struct explained *out)
{
    size_t n = runs->count;
    double *x = xcalloc(n + 1, sizeof *x), *solved_x = xcalloc(n + 1, sizeof *solved_x);
    double *y = xcalloc(n + 1, sizeof *y), *solved_y = xcalloc(n + 1, sizeof *solved_y);
    leave_over(runs, view->slope, out->middle, y);
    for (size_t i = 0; i < n; i++) {
        solved_x[i] = x[i] = runs->predicted[i] - out->middle;
        solved_y[i] = y[i] = fmax(-FAR, y[i]);
    }
    solve(view, view->spread, solved_x, n);
    double log_determinant = solve(view, view->spread, solved_y, n);
    double xx = weighted_sum(x, solved_x, n), xy = weighted_sum(x, solved_y, n), yy = weighted_sum(y, solved_y, n);
    double variance = view->spread * view->spread;
    double prior = variance / (view->slope_deviation * view->slope_deviation);
    out->slope = view->slope + xy / (prior + xx);
    out->slope_variance = variance / (prior + xx);
    out->log_evidence = log_student(n, yy - xy * xy / (prior + xx), view->spread, log_determinant + log1p(xx / prior));
    free(x);
    free(solved_x);
    free(y);
    free(solved_y);
}

/* Element (i, i) of the inverse of an n × n matrix, from its lower Cholesky factor: the sum of squares of a column of
 * the factor's inverse. `column` is scratch space for n numbers. */
static double inverse_at(const double *factor, size_t n, size_t i, double *column)
{
    double squares = 0;
    for (size_t k = i; k < n; k++) {
        double sum = k == i ? 1 : -weighted_sum(factor + k * n + i, column + i, k - i);
        column[k] = sum / factor[k * n + k];
        squares += column[k] * column[k];
    }
    return squares;
}

/* Sets weights and calibration. */
static void weigh(const struct regression_view *view, const double *left, size_t n, struct explained *out)
{
    double *matrix = covariance_with_noise(view, out->spread, n), *column = xcalloc(n + 1, sizeof *column), squares = 0;
    out->weights = xcalloc(n + 1, sizeof *out->weights);
    memcpy(out->weights, left, n * sizeof *left);
    solve_positive_definite(matrix, out->weights, n, PIVOT_LEAST); /* leaves the factor in the matrix */
    for (size_t i = 0; i < n; i++)
        squares += out->weights[i] * out->weights[i] / inverse_at(matrix, n, i, column);
    out->calibration = n > 0 ? sqrt((1 + squares / (out->spread * out->spread)) / (double)n) : 1;
    free(matrix);
    free(column);
}

void regression_explain(const struct regression_runs *runs, const struct regression_view *view, struct explained *out)
{
    size_t n = runs->count;
    double *left = xcalloc(n + 1, sizeof *left), freedom = n > 0 ? (double)n - 1 : 0; /* the first sets the level */
    out->middle = median_of(runs->predicted, n);
    find_slope(runs, view, out);
    out->level = leave_over(runs, out->slope, out->middle, left);
    for (size_t i = 0; i < n; i++)
        left[i] = fmax(-BROKEN, left[i]);
    double squares = generalised_square(view, left, n);
    out->freedom = (size_t)(PRIOR_RUNS + freedom);
    out->spread = sqrt((PRIOR_RUNS * view->spread * view->spread + squares) / (PRIOR_RUNS + freedom));
    out->spread = fmax(SPREAD_LEAST, out->spread);
    weigh(view, left, n, out);
    free(left);
}

void explained_free(struct explained *r)
{
    free(r->weights);
    r->weights = NULL;
}
