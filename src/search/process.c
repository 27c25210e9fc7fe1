#include "search/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/belief.h"
#include "search/state.h"
#include "util/hash.h"
#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"

#define PIVOT_LEAST 1e-12 /* of a covariance: rounding for nearly equal rows */

/* --- coordinates --- */

#define SWEPT_MOST 16 /* values of a key that is swept: fewer */

/* Returns whether most candidates have a value of their own that says nothing of what they are like: a word, or one of
 * many whole numbers. */
static bool is_name(const struct search_space *space, size_t key)
{
    size_t n = space->count, own = n > 0;
    OWNED double *values = xcalloc(n + 1, sizeof *values);
    bool words = n > 1, whole = n > 1;
    for (size_t i = 0; i < n; i++) {
        values[i] = space->candidates[i].values[key];
        words &= values[i] < 0;
        whole &= values[i] >= 0 && values[i] == floor(values[i]);
    }
    sort_doubles(values, words || whole ? n : 0);
    for (size_t i = 1; i < n; i++)
        own += values[i] != values[i - 1];
    return (own >= SWEPT_MOST && 2 * own > n && (words || whole)) || (own == n && words);
}

#define TOLD_APART 0.9 /* share of candidates: the others are repeats */

/* Returns whether hardly any two candidates are equal in the keys that are no names. */
static bool others_tell_apart(const struct search_space *space, const bool *named)
{
    OWNED double *others = xcalloc(space->key_count + 1, sizeof *others);
    struct hash_index rows = HASH_INDEX_INIT;
    for (size_t i = 0; i < space->count; i++) {
        for (size_t k = 0; k < space->key_count; k++)
            others[k] = named[k] || isnan(space->candidates[i].values[k]) ? 0 : space->candidates[i].values[k];
        const struct hash128 hash = hash_bytes(others, space->key_count * sizeof *others);
        hash_index_takes(&rows, &hash);
    }
    bool apart = (double)rows.count >= TOLD_APART * (double)space->count;
    hash_index_free(&rows);
    return apart;
}

/* By key: what it repeats nothing of carries nothing, as long as the others tell candidates apart. */
static bool *find_names(const struct search_space *space)
{
    bool *named = xcalloc(space->key_count + 1, sizeof *named), any = false;
    for (size_t k = 0; k < space->key_count; k++)
        any |= named[k] = is_name(space, k);
    if (any && !others_tell_apart(space, named))
        memset(named, 0, space->key_count * sizeof *named);
    return named;
}

/* Numbers become shares of their range in doublings. Texts are huge negative codes: fold them into distinct floats. */
static void take_key(struct process_space *s, const struct search_space *space, size_t key, size_t d)
{
    double low = INFINITY, high = -INFINITY;
    s->is_number[d] = !ANY(i, space->count, !(space->candidates[i].values[key] > 0));
    for (size_t i = 0; i < space->count && s->is_number[d]; i++) {
        low = fmin(low, log2(space->candidates[i].values[key]));
        high = fmax(high, log2(space->candidates[i].values[key]));
    }
    for (size_t i = 0; i < space->count; i++) {
        double value = space->candidates[i].values[key];
        double x = s->is_number[d] ? (log2(value) - low) / (high - low) : isnan(value) ? -1e9 : fmod(value, 8388593);
        s->coordinates[i * s->dimensions + d] = (float)(isfinite(x) ? x : 0);
    }
}

static void take_levels(struct process_space *s, size_t d)
{
    struct key_scale *scale = &s->scales[d];
    struct hash_index levels = HASH_INDEX_INIT;
    for (size_t i = 0; i < s->count; i++) {
        const float x = s->coordinates[i * s->dimensions + d];
        const struct hash128 hash = hash_bytes(&x, sizeof x);
        bool is_new;
        s->levels[i * s->dimensions + d] = (uint32_t)hash_index_add(&levels, &hash, &is_new);
        if (is_new)
            *array_add(scale->values, scale->count) = x;
    }
    hash_index_free(&levels);
}

void process_space_open(const struct search_space *space, struct process_space *out)
{
    OWNED size_t *keys = xcalloc(space->key_count + 1, sizeof *keys);
    *out = (struct process_space){.count = space->count, .names = find_names(space)};
    for (size_t k = 0; k < space->key_count; k++)
        if (!out->names[k] &&
            ANY(i, space->count, !same_value(space->candidates[i].values[k], space->candidates[0].values[k])))
            keys[out->dimensions++] = k;
    out->is_number = xcalloc(out->dimensions + 1, sizeof *out->is_number);
    out->scales = xcalloc(out->dimensions + 1, sizeof *out->scales);
    out->coordinates = xcalloc(space->count + 1, (out->dimensions + 1) * sizeof *out->coordinates);
    out->levels = xcalloc(space->count + 1, (out->dimensions + 1) * sizeof *out->levels);
    for (size_t d = 0; d < out->dimensions; d++) {
        take_key(out, space, keys[d], d);
        take_levels(out, d);
    }
}

void process_space_close(struct process_space *s)
{
    for (size_t d = 0; s->scales && d < s->dimensions; d++)
        free(s->scales[d].values);
    free_all(s->scales, s->levels, s->coordinates, s->is_number, s->names);
}

/* --- kernels --- */

float process_nearness(const struct process_space *s, size_t i, size_t j)
{
    const float *x = s->coordinates + i * s->dimensions, *y = s->coordinates + j * s->dimensions;
    float sum = 0;
    for (size_t d = 0; d < s->dimensions; d++) {
        float distance = s->is_number[d] ? x[d] - y[d] : x[d] == y[d] ? 0 : 1;
        sum += distance * distance;
    }
    return s->dimensions ? expf(-sum / (2 * (float)(PROCESS_LENGTH * PROCESS_LENGTH) * (float)s->dimensions)) : 1;
}

/* A nearness for a length whose square is 2^steps times as large. */
static float at_length(float nearness, int steps)
{
    for (; steps > 0; steps--)
        nearness = sqrtf(nearness);
    for (; steps < 0; steps++)
        nearness *= nearness;
    return nearness;
}

/* One key's part of the covariance of two of its values. */
static double of_key(const struct process_space *s, const struct kernel *k, size_t d, float x, float y)
{
    double single = k->single / (double)s->dimensions;
    if (!s->is_number[d])
        return x == y ? k->word + single : 0;
    float length = (float)PROCESS_LENGTH * sqrtf((float)s->dimensions);
    return (k->number > 0 ? k->number * ((double)x - 0.5) * ((double)y - 0.5) : 0) +
           (single > 0 ? single * (double)expf(-(x - y) * (x - y) / (2 * length * length)) : 0);
}

double process_covariance(const struct process_space *s, const struct kernel *k, size_t i, size_t j, float nearness)
{
    double sum = k->common + k->nearby * (double)at_length(nearness, k->steps) + (s->dimensions ? 0 : k->single);
    if (k->needs)
        sum += k->need * (double)k->needs[i] * (double)k->needs[j];
    for (size_t d = 0; d < s->dimensions; d++)
        sum += of_key(s, k, d, s->coordinates[i * s->dimensions + d], s->coordinates[j * s->dimensions + d]);
    return sum;
}

double *process_covariances(const struct process_space *s, const struct kernel *k, const struct process_told *told)
{
    size_t n = told->count;
    double *matrix = xcalloc(n * n + 1, sizeof *matrix);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            matrix[i * n + j] = process_covariance(s, k, told->candidates[i], told->candidates[j],
                                                   told->nearness[i][told->candidates[j]]);
    return matrix;
}

void process_add(const struct process_space *s, const struct kernel *k, const struct process_told *told,
                 const double *weights, double *sums)
{
    double all = 0, need = 0;
    for (size_t i = 0; i < told->count; i++) {
        all += weights[i] * (k->common + (s->dimensions ? 0 : k->single));
        need += k->needs ? weights[i] * k->need * (double)k->needs[told->candidates[i]] : 0;
    }
    for (size_t c = 0; c < s->count; c++)
        sums[c] += all + (k->needs ? need * (double)k->needs[c] : 0);
    /* Row by row: a processor does not prefetch a hundred rows at once. */
    for (size_t i = 0; i < told->count; i++)
        for (size_t c = 0; c < s->count; c++)
            sums[c] += k->nearby * weights[i] * (double)at_length(told->nearness[i][c], k->steps);
    for (size_t d = 0; d < s->dimensions; d++) {
        const struct key_scale *scale = &s->scales[d];
        OWNED double *table = xcalloc(scale->count + 1, sizeof *table);
        for (size_t l = 0; l < scale->count; l++)
            for (size_t i = 0; i < told->count; i++)
                table[l] += weights[i] *
                            of_key(s, k, d, scale->values[l], s->coordinates[told->candidates[i] * s->dimensions + d]);
        for (size_t c = 0; c < s->count; c++)
            sums[c] += table[s->levels[c * s->dimensions + d]];
    }
}

/* --- numbers --- */

#define SPREAD_LEAST REGRESSION_NOISE /* below the noise, a spread cannot be told from it */
#define PRIOR_RUNS 3.0                /* runs that the prior of the spread counts as */
#define BROKEN 1.0                    /* a run even slower than this is broken; its neighbours may not be */
#define FAR 2.0                       /* caps how far below its view a run counts: no single run can invert the slope */

/* Residuals of slope · (predicted - middle), minus their median; returns the median. */
static double leave_over(const struct viewed_runs *r, double slope, double middle, double *out)
{
    for (size_t i = 0; i < r->count; i++)
        out[i] = r->merits[i] - slope * (r->predicted[i] - middle);
    double level = median(out, r->count);
    for (size_t i = 0; i < r->count; i++)
        out[i] -= level;
    return level;
}

/* The factor of covariance + noise, which the caller frees, and ln of the determinant. */
static double *factor_of(const struct viewed_runs *r, double spread, double *log_determinant)
{
    const size_t count = r->count;
    double *matrix = xcalloc(count * count + 1, sizeof *matrix);
    memcpy(matrix, r->covariance, count * count * sizeof *matrix);
    for (size_t i = 0; i < count; i++)
        matrix[i * count + i] += REGRESSION_NOISE * REGRESSION_NOISE / (spread * spread);
    *log_determinant = factorise(matrix, count, PIVOT_LEAST);
    return matrix;
}

/* ln of Student's density of `count` runs, the first of which sets the level. `squares`: their generalised square. */
static double log_student(size_t count, double squares, double spread, double log_determinant)
{
    double freedom = count > 0 ? (double)count - 1 : 0, scale = PRIOR_RUNS * spread * spread;
    return lgamma((PRIOR_RUNS + freedom) / 2) - lgamma(PRIOR_RUNS / 2) - freedom / 2 * log(M_PI * scale) -
           log_determinant / 2 - (PRIOR_RUNS + freedom) / 2 * log1p(squares / scale);
}

/* Sets slope, slope_variance and log_evidence; `factor` of the covariance with noise. */
static void find_slope(const struct viewed_runs *r, const double *factor, double log_determinant, struct explained *out)
{
    size_t n = r->count;
    OWNED double *x = xcalloc(n + 1, sizeof *x), *solved_x = xcalloc(n + 1, sizeof *solved_x);
    OWNED double *y = xcalloc(n + 1, sizeof *y), *solved_y = xcalloc(n + 1, sizeof *solved_y);
    leave_over(r, 1, out->middle, y);
    for (size_t i = 0; i < n; i++) {
        solved_x[i] = x[i] = r->predicted[i] - out->middle;
        solved_y[i] = y[i] = fmax(-FAR, y[i]);
    }
    solve_factored(factor, solved_x, n);
    solve_factored(factor, solved_y, n);
    double xx = weighted_sum(x, solved_x, n), xy = weighted_sum(x, solved_y, n), yy = weighted_sum(y, solved_y, n);
    double variance = r->spread * r->spread;
    double prior = variance / (BELIEF_SLOPE_DEVIATION * BELIEF_SLOPE_DEVIATION);
    out->slope = 1 + xy / (prior + xx);
    out->slope_variance = variance / (prior + xx);
    out->log_evidence = log_student(n, yy - xy * xy / (prior + xx), r->spread, log_determinant + log1p(xx / prior));
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
static void weigh(const struct viewed_runs *r, const double *left, struct explained *out)
{
    const size_t n = r->count;
    double squares = 0, ignored;
    OWNED double *factor = factor_of(r, out->spread, &ignored), *column = xcalloc(n + 1, sizeof *column);
    memcpy(out->weights, left, n * sizeof *left);
    solve_factored(factor, out->weights, n);
    for (size_t i = 0; i < n; i++)
        squares += out->weights[i] * out->weights[i] / inverse_at(factor, n, i, column);
    out->calibration = n > 0 ? sqrt((1 + squares / (out->spread * out->spread)) / (double)n) : 1;
}

void regression_explain(const struct viewed_runs *r, struct explained *out)
{
    size_t n = r->count;
    double freedom = n > 0 ? (double)n - 1 : 0, log_determinant; /* the first sets the level */
    OWNED double *left = xcalloc(n + 1, sizeof *left), *solved = xcalloc(n + 1, sizeof *solved);
    OWNED double *factor = factor_of(r, r->spread, &log_determinant);
    out->middle = median(r->predicted, n);
    find_slope(r, factor, log_determinant, out);
    out->level = leave_over(r, out->slope, out->middle, left);
    for (size_t i = 0; i < n; i++)
        solved[i] = left[i] = fmax(-BROKEN, left[i]);
    /* Under the runs' covariance: similar runs with similar residuals count little more than one. */
    solve_factored(factor, solved, n);
    double squares = weighted_sum(left, solved, n);
    out->freedom = (size_t)(PRIOR_RUNS + freedom);
    out->spread = sqrt((PRIOR_RUNS * r->spread * r->spread + squares) / (PRIOR_RUNS + freedom));
    out->spread = fmax(SPREAD_LEAST, out->spread);
    weigh(r, left, out);
}

/* --- a class --- */

/* Constants for ln(p / (1 - p)). Without predictions: the offset that all candidates share, and the slope per factor of
 * e in the need. In any case, standard deviations of that slope, of a number's line over its range, of what no line
 * explains, and of a word. Fitted to no row, but chosen with drawn landscapes (scripts/tables/landscapes.py), published
 * tables and unit tests in view. */
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

/* One Newton step from `weights`: algorithm 3.1 of the book. Returns ln of the determinant of 1 + W½ K W½, where W, of
 * which `root` is the root, is the curvature of the likelihood. */
static double newton(const struct limit_evidence *o, const double *weights, double *next)
{
    size_t n = o->count;
    OWNED double *values = values_at(o, weights), *root = xcalloc(n + 1, sizeof *root), *b = xcalloc(n + 1, sizeof *b),
                 *matrix = xcalloc(n * n + 1, sizeof *matrix);
    for (size_t i = 0; i < n; i++) {
        double p = memory_limit_chance(o->prior[i] + values[i]);
        root[i] = sqrt(fmax(p * (1 - p), CURVATURE_LEAST));
        b[i] = root[i] * root[i] * values[i] + (o->out_of_memory[i] ? 1 : 0) - p;
    }
    for (size_t i = 0; i < n; i++) {
        next[i] = root[i] * weighted_sum(o->covariance + i * n, b, n);
        for (size_t j = 0; j < n; j++)
            matrix[i * n + j] = root[i] * o->covariance[i * n + j] * root[j] + (i == j ? 1 : 0);
    }
    double log_determinant = factorise(matrix, n, PIVOT_LEAST);
    solve_factored(matrix, next, n);
    for (size_t i = 0; i < n; i++)
        next[i] = b[i] - root[i] * next[i];
    return log_determinant;
}

double memory_limit_learn(const struct limit_evidence *o, double *weights)
{
    size_t n = o->count;
    OWNED double *next = xcalloc(n + 1, sizeof *next), *tried = xcalloc(n + 1, sizeof *tried);
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
    return best - newton(o, weights, next) / 2;
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
static double prior_of(const struct limit *l, size_t candidate)
{
    return l->expected.odds + (l->need ? l->expected.slope * (double)l->need[candidate] : 0);
}

double memory_limit_chances(const struct limit *l, double *chances)
{
    const struct kernel k = {.common = l->expected.common * l->expected.common,
                             .need = SLOPE_SPREAD * SLOPE_SPREAD,
                             .number = NUMBER * NUMBER,
                             .word = WORD * WORD,
                             .nearby = NEARBY * NEARBY,
                             .needs = l->need};
    size_t n = l->told.count;
    OWNED double *covariance = process_covariances(l->space, &k, &l->told);
    OWNED double *prior = xcalloc(n + 1, sizeof *prior), *weights = xcalloc(n + 1, sizeof *weights);
    for (size_t i = 0; i < n; i++)
        prior[i] = prior_of(l, l->told.candidates[i]);
    double log_evidence = memory_limit_learn(&(struct limit_evidence){n, l->out_of_memory, prior, covariance}, weights);
    for (size_t c = 0; chances && c < l->space->count; c++)
        chances[c] = prior_of(l, c);
    if (chances)
        process_add(l->space, &k, &l->told, weights, chances);
    for (size_t c = 0; chances && c < l->space->count; c++)
        chances[c] = memory_limit_chance(chances[c]);
    return log_evidence;
}
