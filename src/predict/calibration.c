#include "predict/calibration.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"

#define ROUNDS_MOST (4 * CALIBRATION_TERMS)
#define AT_BOUND 1e-12
#define REWEIGHTINGS 4
#define CENSORED_ROUNDS 3
#define ERROR_FLOOR 0.02 /* of a residual, so that no run dominates the re-weighting */
#define CENSORED_MARGIN 0.02
#define CENSORED_SHARE 0.5
#define SIGMA_FLOOR 0.02
#define PRIOR_RUNS 5.0    /* the prior's sigma counts as this many runs */
#define MEMORY_SPREAD 0.1 /* of a weight between clusters: memory follows the software, time also the hardware */
#define TIME_SPREAD 0.25
#define INTERVAL_90 1.6448536269514722

/* Observation i, scaled so that both the prior's weights and y are 1. */
struct regression_row {
    double z[CALIBRATION_TERMS];
    double y;
    double base_weight, weight; /* 0: not used */
    enum observation_kind kind;
};

struct regression {
    const struct calibration_prior *prior;
    struct regression_row *rows;
    size_t count, terms;
    double lambda;
    double c[CALIBRATION_TERMS]; /* weights over the prior's */
};

static double ratio(const struct regression *p, const struct regression_row *row)
{
    return weighted_sum(p->c, row->z, p->terms);
}

static void normal_equations(const struct regression *p, double a[CALIBRATION_TERMS][CALIBRATION_TERMS],
                             double b[CALIBRATION_TERMS])
{
    memset(a, 0, sizeof(double) * CALIBRATION_TERMS * CALIBRATION_TERMS);
    for (size_t j = 0; j < p->terms; j++) {
        a[j][j] = p->lambda;
        b[j] = p->lambda;
    }
    for (size_t i = 0; i < p->count; i++) {
        const struct regression_row *row = &p->rows[i];
        if (row->weight == 0)
            continue;
        for (size_t j = 0; j < p->terms; j++) {
            b[j] += row->weight * row->z[j];
            for (size_t k = 0; k < p->terms; k++)
                a[j][k] += row->weight * row->z[j] * row->z[k];
        }
    }
}

/* Solves a·s = b over the unknowns that are free, the others 0. λ > 0 makes a positive definite. */
static void solve_free(size_t n, double a[CALIBRATION_TERMS][CALIBRATION_TERMS], const double *b, const bool *is_free,
                       double *s)
{
    double part[CALIBRATION_TERMS * CALIBRATION_TERMS], x[CALIBRATION_TERMS];
    size_t at[CALIBRATION_TERMS], count = 0;
    for (size_t j = 0; j < n; j++) {
        s[j] = 0;
        if (is_free[j])
            at[count++] = j;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j <= i; j++)
            part[i * count + j] = a[at[i]][at[j]];
        x[i] = b[at[i]];
    }
    factorise(part, count, DBL_MIN);
    solve_factored(part, x, count);
    for (size_t j = 0; j < count; j++)
        s[at[j]] = x[j];
}

/* Goes from c towards s as far as all stay at least 0, and fixes those that reach 0. False when s itself was
 * reached. */
static bool step_to_bound(size_t n, double *c, const double *s, bool *is_free)
{
    double share = 1;
    bool blocked = false;
    for (size_t j = 0; j < n; j++)
        if (is_free[j] && s[j] < 0) {
            share = fmin(share, c[j] / (c[j] - s[j]));
            blocked = true;
        }
    for (size_t j = 0; j < n; j++) {
        if (!is_free[j])
            continue;
        c[j] += share * (s[j] - c[j]);
        if (blocked && c[j] <= AT_BOUND) {
            c[j] = 0;
            is_free[j] = false;
        }
    }
    return blocked;
}

/* The fixed unknown whose increase would lower the sum most; n if there is none. */
static size_t worst_fixed(size_t n, double a[CALIBRATION_TERMS][CALIBRATION_TERMS], const double *b, const double *c,
                          const bool *is_free)
{
    double steepest = AT_BOUND;
    size_t worst = n;
    for (size_t j = 0; j < n; j++) {
        double slope = b[j];
        if (is_free[j])
            continue;
        for (size_t k = 0; k < n; k++)
            slope -= a[j][k] * c[k];
        if (slope / a[j][j] > steepest) {
            steepest = slope / a[j][j];
            worst = j;
        }
    }
    return worst;
}

/* Least squares under c ≥ 0 by active set (Lawson and Hanson), starting from the previous c. */
static void solve(struct regression *p)
{
    double a[CALIBRATION_TERMS][CALIBRATION_TERMS], b[CALIBRATION_TERMS] = {0}, s[CALIBRATION_TERMS] = {0};
    bool is_free[CALIBRATION_TERMS];
    normal_equations(p, a, b);
    for (size_t j = 0; j < p->terms; j++)
        is_free[j] = p->c[j] > 0;
    /* Each round fixes or frees one; the bound only guards against cycles due to rounding. */
    for (int round = 0; round < ROUNDS_MOST; round++) {
        solve_free(p->terms, a, b, is_free, s);
        if (step_to_bound(p->terms, p->c, s, is_free))
            continue;
        size_t freed = worst_fixed(p->terms, a, b, p->c, is_free);
        if (freed == p->terms)
            return;
        is_free[freed] = true;
    }
}

static size_t count_used(const struct regression *p, bool measured)
{
    size_t used = 0;
    for (size_t i = 0; i < p->count; i++)
        used += p->rows[i].weight > 0 && (p->rows[i].kind == OBSERVATION_MEASURED) == measured;
    return used;
}

/* Re-weights by the residuals; the mean weight stays 1, otherwise λ would change its meaning. */
static void reweight(struct regression *p)
{
    double sum = 0, used = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct regression_row *row = &p->rows[i];
        if (row->base_weight == 0 || row->kind != OBSERVATION_MEASURED)
            continue;
        row->weight = 1 / fmax(ERROR_FLOOR, fabs(ratio(p, row) - 1));
        sum += row->weight;
        used++;
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->rows[i].kind == OBSERVATION_MEASURED)
            p->rows[i].weight *= used / sum;
}

static void solve_robustly(struct regression *p)
{
    solve(p);
    for (int i = 0; i < REWEIGHTINGS && count_used(p, true) >= CALIBRATION_ROBUST_FROM; i++) {
        reweight(p);
        solve(p);
    }
}

/* A censored run counts only while the model contradicts it. */
static bool activate_censored(struct regression *p)
{
    bool changed = false;
    for (size_t i = 0; i < p->count; i++) {
        struct regression_row *row = &p->rows[i];
        if (row->kind == OBSERVATION_MEASURED)
            continue;
        double predicted = ratio(p, row);
        bool contradicted = row->kind == OBSERVATION_AT_LEAST ? predicted < 1 : predicted > 1;
        double weight = contradicted ? row->base_weight : 0;
        changed |= weight != row->weight;
        row->weight = weight;
    }
    return changed;
}

/* Scales a row to y = 1. */
static void fill_row(const struct calibration_prior *prior, const struct observation *o, struct regression_row *out)
{
    double target = o->kind == OBSERVATION_AT_LEAST  ? o->y * (1 + CENSORED_MARGIN)
                    : o->kind == OBSERVATION_AT_MOST ? o->y * (1 - CENSORED_MARGIN)
                                                     : o->y;
    *out = (struct regression_row){.y = o->y, .kind = o->kind};
    out->base_weight = o->kind == OBSERVATION_MEASURED ? 1 : CENSORED_SHARE;
    out->weight = o->kind == OBSERVATION_MEASURED ? 1 : 0;
    for (size_t j = 0; j < prior->terms; j++)
        out->z[j] = o->terms[j] * prior->weights[j] / target;
}

/* The prior's predictions over what was measured are 1 / slowness. Returns how many are broken. */
static size_t mark_broken(struct regression *p, bool *broken)
{
    OWNED double *slowness = xcalloc(p->count + 1, sizeof *slowness);
    size_t measured = 0, found = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->rows[i].kind == OBSERVATION_MEASURED)
            slowness[measured++] = 1 / fmax(ratio(p, &p->rows[i]), 1e-300);
    /* If most are slow, the prior is wrong and not the runs. */
    double usual = measured > 0 ? fmax(1, median(slowness, measured)) : 1;
    for (size_t i = 0; i < p->count; i++) {
        struct regression_row *row = &p->rows[i];
        bool is_broken = p->prior->broken_ratio > 0 && row->kind == OBSERVATION_MEASURED &&
                         ratio(p, row) * p->prior->broken_ratio * usual < 1;
        if (is_broken)
            row->base_weight = row->weight = 0;
        found += is_broken;
        if (broken)
            broken[i] = is_broken;
    }
    return found;
}

static bool can_use(const struct calibration_prior *prior, const struct observation *o)
{
    double predicted = 0;
    bool good = o->kind >= OBSERVATION_MEASURED && o->kind <= OBSERVATION_AT_MOST && o->y > 0 && isfinite(o->y);
    for (size_t j = 0; j < prior->terms; j++) {
        good &= o->terms[j] >= 0 && isfinite(o->terms[j]);
        predicted += o->terms[j] * prior->weights[j];
    }
    return good && predicted > 0 && isfinite(predicted / o->y) && isfinite(predicted * o->y);
}

static bool can_fit(const struct calibration_prior *prior, const struct observation *observations, size_t count)
{
    const double scales[] = {prior->noise, prior->spread, prior->sigma};
    return prior->terms > 0 && prior->terms <= CALIBRATION_TERMS &&
           !ANY(i, LENGTH(scales), !(scales[i] > 0 && isfinite(scales[i]))) &&
           !ANY(j, prior->terms, !(prior->weights[j] >= 0 && isfinite(prior->weights[j]))) &&
           !ANY(i, count, !can_use(prior, &observations[i]));
}

/* Spread of the residuals, the prior's sigma counting as PRIOR_RUNS runs; the interval is their quantile once
 * there are enough of them. */
static void summarise(const struct regression *p, struct calibration *out)
{
    OWNED double *residuals = xcalloc(p->count + 1, sizeof *residuals);
    double squares = PRIOR_RUNS * p->prior->sigma * p->prior->sigma;
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct regression_row *row = &p->rows[i];
        if (row->kind != OBSERVATION_MEASURED || row->base_weight == 0)
            continue;
        residuals[n] = fabs(log(fmax(ratio(p, row), 1e-300)));
        squares += residuals[n] * residuals[n];
        n++;
    }
    out->measured = n;
    out->sigma = fmax(SIGMA_FLOOR, sqrt(squares / (PRIOR_RUNS + (double)n)));
    out->interval = INTERVAL_90 * out->sigma;
    if (n >= CALIBRATION_INTERVAL_FROM) {
        sort_doubles(residuals, n);
        size_t rank = (size_t)ceil(0.9 * ((double)n + 1));
        out->interval = fmax(INTERVAL_90 * SIGMA_FLOOR, residuals[(rank < n ? rank : n) - 1]);
    }
}

static void fit(struct regression *p, struct calibration *out)
{
    if (count_used(p, true) < CALIBRATION_LEAST) {
        out->from_prior = true;
        return;
    }
    solve_robustly(p);
    for (int round = 0; round < CENSORED_ROUNDS && activate_censored(p); round++)
        solve(p);
    out->censored = count_used(p, false);
}

bool calibrate(const struct calibration_prior *prior, const struct observation *observations, size_t count,
               bool *broken, struct calibration *out)
{
    struct regression p = {.prior = prior, .count = count, .terms = prior->terms};
    struct calibration result = {0};
    if (!can_fit(prior, observations, count))
        return false;
    p.lambda = prior->noise * prior->noise / (prior->spread * prior->spread);
    p.rows = xcalloc(count + 1, sizeof *p.rows);
    for (size_t i = 0; i < count; i++)
        fill_row(prior, &observations[i], &p.rows[i]);
    for (size_t j = 0; j < p.terms; j++)
        p.c[j] = 1;
    result.broken = mark_broken(&p, broken);
    fit(&p, &result);
    summarise(&p, &result);
    for (size_t j = 0; j < p.terms; j++)
        result.weights[j] = prior->weights[j] * p.c[j];
    free(p.rows);
    *out = result;
    return true;
}

struct calibration_prior calibration_of_memory(const struct memory_coefficients *c)
{
    struct calibration_prior prior = {.terms = MEMORY_TERM_COUNT,
                                      .noise = 0.12,
                                      .spread = c->spread,
                                      .sigma = c->sigma};
    memcpy(prior.weights, c->weights, sizeof c->weights);
    return prior;
}

struct calibration_prior calibration_of_time(const struct time_coefficients *c)
{
    struct calibration_prior prior = {.terms = TIME_TERM_COUNT,
                                      .noise = 0.05,
                                      .spread = c->spread,
                                      .sigma = c->sigma,
                                      .broken_ratio = 2};
    memcpy(prior.weights, c->weights, sizeof c->weights);
    return prior;
}

void calibration_apply_memory(const struct calibration *fit, struct memory_coefficients *c)
{
    if (fit->from_prior)
        return;
    memcpy(c->weights, fit->weights, sizeof c->weights);
    c->sigma = fit->sigma;
    c->spread = MEMORY_SPREAD;
    c->calibrated = true;
}

void calibration_apply_time(const struct calibration *fit, struct time_coefficients *c)
{
    if (fit->from_prior)
        return;
    memcpy(c->weights, fit->weights, sizeof c->weights);
    c->sigma = fit->sigma;
    c->spread = TIME_SPREAD;
    c->calibrated = true;
}
