#include <stdlib.h>

#include "belief/regression.h"
#include "search/surrogate_parts.h"
#include "util/linear.h"
#include "util/memory.h"

#define SPREAD_LEAST 0.10
#define BELIEVED 0.5 /* a trust or a slope */

/* Candidate lengths of the kernel: the square of SURROGATE_LENGTH is doubled or halved up to this many times. */
#define LENGTH_STEPS 3

/* --- the prior --- */

/* Probability that predicted times are informative, given the measured step times. */
static double trust_of(const struct surrogate *b, const struct fitted *fits)
{
    struct compared_time runs[OBSERVED_MOST];
    size_t count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct candidate *c = &b->s->space->candidates[b->told[i]];
        const struct trial *t = &b->s->trials[b->told[i]];
        if (surrogate_has_merit(t) && t->seconds > 0 && c->seconds > 0 && fits[c->place].has_time)
            runs[count++] = (struct compared_time){c->seconds, t->seconds, b->s->space->places[c->place].time.sigma};
    }
    double trust = trust_contradicted(time_belief_trust(runs, count), &b->memory, MEMORY_ANYWHERE);
    return trust_contradicted(trust, &b->time, TIME_ANYWHERE);
}

static double prior_merit(const struct surrogate *b, const struct fitted *fits, const struct candidate *c,
                          bool as_fitted)
{
    const struct search_space *space = b->s->space;
    if (isnan(search_predicted_log(space, c)))
        return NAN;
    double seconds = c->seconds;
    if (as_fitted && c->time_terms && fits[c->place].has_time)
        seconds = surrogate_weighted(&fits[c->place].time, &space->places[c->place].time, c->time_terms);
    return (space->relation == SEARCH_RATE ? log(c->work) : 0) - log(seconds);
}

static void fill_priors(struct surrogate *b, const struct fitted *fits, bool as_fitted)
{
    const struct search_space *space = b->s->space;
    double least = INFINITY;
    for (size_t i = 0; i < space->count; i++) {
        b->all[i].mean = prior_merit(b, fits, &space->candidates[i], as_fitted);
        if (b->all[i].mean < least)
            least = b->all[i].mean;
    }
    /* A candidate without a prediction is taken to be as slow as the slowest predicted one. */
    for (size_t i = 0; i < space->count; i++) {
        double predicted = isnan(b->all[i].mean) ? isfinite(least) ? least : 0 : b->all[i].mean;
        double usual = b->usual_level + space->candidates[i].usual_merit;
        b->all[i].mean = TIME_TRUST * predicted + (1 - TIME_TRUST) * usual;
    }
}

/* Error of the predictions, by their own sigma. */
static double spread_predicted(const struct surrogate *b, const struct fitted *fits)
{
    double spread = USUAL_SPREAD;
    for (size_t i = 0; i < b->s->space->place_count; i++)
        if (fits[i].has_time)
            spread = fits[i].time.sigma;
    return spread > SPREAD_LEAST ? spread : SPREAD_LEAST;
}

/* --- the slope --- */

static double slope_of_priors(const struct surrogate *b, const struct fitted *fits)
{
    double prior[OBSERVED_MOST], merit[OBSERVED_MOST];
    size_t n = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        double predicted = prior_merit(b, fits, &b->s->space->candidates[b->told[i]], false);
        if (!surrogate_has_merit(t) || isnan(predicted))
            continue;
        prior[n] = predicted;
        merit[n++] = merit_of(b->s->space, t->objective);
    }
    return time_belief_slope(prior, merit, n, 1, spread_predicted(b, fits)).slope;
}

static bool any_predicted(const struct search_space *space)
{
    size_t i = 0;
    while (i < space->count && isnan(search_predicted_log(space, &space->candidates[i])))
        i++;
    return i < space->count;
}

/* --- the two views --- */

/* Runs that have a merit. */
struct runs {
    size_t at[OBSERVED_MOST]; /* in b->told */
    double predicted[OBSERVED_MOST], usual[OBSERVED_MOST], merits[OBSERVED_MOST];
    size_t count;
    double *alike; /* count × count: surrogate_alike */
};

static void take_runs(const struct surrogate *b, struct runs *r)
{
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        if (!surrogate_has_merit(t))
            continue;
        r->at[r->count] = i;
        r->predicted[r->count] = b->all[b->told[i]].mean;
        r->usual[r->count] = b->s->space->candidates[b->told[i]].usual_merit;
        r->merits[r->count++] = merit_of(b->s->space, t->objective);
    }
    r->alike = xcalloc(r->count * r->count + 1, sizeof *r->alike);
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < r->count; j++)
            r->alike[i * r->count + j] = surrogate_alike(b, b->told[r->at[i]], b->told[r->at[j]]);
}

/* The kernel for a length whose square is 2^steps times as large. */
static float at_length(float kernel, int steps)
{
    for (; steps > 0; steps--)
        kernel = sqrtf(kernel);
    for (; steps < 0; steps++)
        kernel *= kernel;
    return kernel;
}

static double covariance_of(const struct surrogate *b, const struct runs *r, int steps, size_t i, size_t j)
{
    return SURROGATE_SUM * r->alike[i * r->count + j] +
           (1 - SURROGATE_SUM) * (double)at_length(b->kernels[r->at[i]][b->told[r->at[j]]], steps);
}

static void learn(const struct surrogate *b, const struct runs *r, const double *expected, int steps,
                  struct regression_view view, struct explained *out)
{
    size_t n = r->count;
    double *covariance = xcalloc(n * n + 1, sizeof *covariance);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            covariance[i * n + j] = covariance_of(b, r, steps, i, j);
    view.covariance = covariance;
    regression_explain(&(struct regression_runs){n, expected, r->merits}, &view, out);
    free(covariance);
}

struct views {
    struct explained believed, doubted;
};

static void learn_both(const struct surrogate *b, const struct runs *r, int steps, double spread, struct views *out)
{
    learn(b, r, r->predicted, steps, (struct regression_view){1, BELIEF_SLOPE_DEVIATION, spread, NULL}, &out->believed);
    learn(b, r, r->usual, steps, (struct regression_view){1, BELIEF_SLOPE_DEVIATION, USUAL_SPREAD, NULL},
          &out->doubted);
}

static void views_free(struct views *v)
{
    explained_free(&v->believed);
    explained_free(&v->doubted);
}

/* ln of the prior density of a length: log-normal around SURROGATE_LENGTH, variance 3. */
static double log_prior_of_length(int steps)
{
    double length = log(SURROGATE_LENGTH) + steps * M_LN2 / 2;
    return -length - (length - M_SQRT2) * (length - M_SQRT2) / (2 * 3);
}

/* Posterior mean of the kernel's length, in steps; with few runs it stays in the middle. `trust` is that in the
 * predictions before any run. */
static int find_length(const struct surrogate *b, const struct runs *r, double spread, double trust)
{
    double log_posterior[2 * LENGTH_STEPS + 1], most = -INFINITY, sum = 0, weighted = 0;
    if (r->count < 2)
        return 0;
    for (int steps = -LENGTH_STEPS; steps <= LENGTH_STEPS; steps++) {
        struct views v;
        learn_both(b, r, steps, spread, &v);
        double believed = v.believed.log_evidence, doubted = v.doubted.log_evidence, larger = fmax(believed, doubted);
        double p = log_prior_of_length(steps) + larger +
                   log(trust * exp(believed - larger) + (1 - trust) * exp(doubted - larger));
        log_posterior[steps + LENGTH_STEPS] = p;
        most = fmax(most, p);
        views_free(&v);
    }
    for (int steps = -LENGTH_STEPS; steps <= LENGTH_STEPS; steps++) {
        double weight = exp(log_posterior[steps + LENGTH_STEPS] - most);
        sum += weight;
        weighted += weight * steps;
    }
    return (int)lround(weighted / sum);
}

/* --- what runs leave open --- */

/* Limit on candidates × (runs used for the variance)²: 20 ms. */
#define OPERATIONS_MOST 1.6e7

/* Factors of the covariance of selected runs, in the order of selection. */
struct pivots {
    size_t count;
    size_t at[OBSERVED_MOST]; /* in struct runs */
    double *factors;          /* by run and pivot: number of runs × OBSERVED_MOST */
};

/* Selects the runs that tell most about the others, by pivoted Cholesky, until `most` or only noise is left. */
static void pick_pivots(const struct surrogate *b, const struct runs *r, int steps, double noise, size_t most,
                        struct pivots *out)
{
    double left[OBSERVED_MOST] = {0};
    out->count = 0;
    out->factors = xcalloc(r->count + 1, OBSERVED_MOST * sizeof *out->factors);
    for (size_t i = 0; i < r->count; i++)
        left[i] = 1 + noise;
    while (out->count < most) {
        size_t best = 0, m = out->count;
        for (size_t i = 1; i < r->count; i++)
            best = left[i] > left[best] ? i : best;
        if (left[best] < 2 * noise)
            break;
        const double *row = out->factors + best * OBSERVED_MOST, root = sqrt(left[best]);
        for (size_t i = 0; i < r->count; i++) {
            double *own = out->factors + i * OBSERVED_MOST;
            own[m] = (covariance_of(b, r, steps, best, i) + (i == best ? noise : 0) - weighted_sum(own, row, m)) / root;
            left[i] -= own[m] * own[m];
        }
        left[best] = 0;
        out->at[out->count++] = best;
    }
}

/* By candidate, the share of the process's variance that the runs leave. The caller frees it. */
static float *variance_left(const struct surrogate *b, const struct runs *r, int steps, double noise)
{
    size_t count = b->s->space->count, most = (size_t)sqrt(OPERATIONS_MOST / (double)(count + 1)) + 1;
    struct pivots p;
    pick_pivots(b, r, steps, noise, most < r->count ? most : r->count, &p);
    float *left = xcalloc(count + 1, sizeof *left), *rows = xcalloc(p.count * count + 1, sizeof *rows);
    for (size_t c = 0; c < count; c++)
        left[c] = 1;
    for (size_t m = 0; m < p.count; m++) {
        const double *factors = p.factors + p.at[m] * OBSERVED_MOST, one = 1;
        float *row = rows + m * count;
        surrogate_add_alike(b, &r->at[p.at[m]], &one, 1, row);
        for (size_t c = 0; c < count; c++)
            row[c] += (float)(1 - SURROGATE_SUM) * at_length(b->kernels[r->at[p.at[m]]][c], steps);
        for (size_t q = 0; q < m; q++)
            for (size_t c = 0; c < count; c++)
                row[c] -= (float)factors[q] * rows[q * count + c];
        for (size_t c = 0; c < count; c++) {
            row[c] /= (float)factors[m];
            left[c] = fmaxf(left[c] - row[c] * row[c], 0);
        }
    }
    free(p.factors);
    free(rows);
    return left;
}

/* The process at every candidate under each view. */
struct process {
    float *believed, *doubted;
};

static void add_kernel(const float *kernels, int steps, float believed, float doubted, size_t count,
                       const struct process *p)
{
    for (size_t c = 0; c < count; c++) {
        float kernel = at_length(kernels[c], steps);
        p->believed[c] += (float)(1 - SURROGATE_SUM) * believed * kernel;
        p->doubted[c] += (float)(1 - SURROGATE_SUM) * doubted * kernel;
    }
}

static struct expectation expect(const struct explained *r, double predicted, float process, float left)
{
    double distance = predicted - r->middle;
    double spread = r->calibration * r->spread, variance = spread * spread + r->slope_variance * distance * distance;
    return (struct expectation){r->level + r->slope * distance + (double)process,
                                sqrt(variance * (double)left + REGRESSION_NOISE * REGRESSION_NOISE)};
}

static void mix(struct estimate *e)
{
    double trust = e->trust, apart = e->believed.mean - e->doubted.mean;
    e->mean = trust * e->believed.mean + (1 - trust) * e->doubted.mean;
    e->deviation =
        sqrt(trust * e->believed.deviation * e->believed.deviation +
             (1 - trust) * e->doubted.deviation * e->doubted.deviation + trust * (1 - trust) * apart * apart);
}

static void fill_estimates(struct surrogate *b, const struct runs *r, int steps, const struct views *v, double trust)
{
    size_t count = b->s->space->count;
    double spread = trust > BELIEVED ? v->believed.spread : v->doubted.spread, noise = REGRESSION_NOISE / spread;
    b->steps = steps;
    b->noise = noise * noise;
    b->freedom = v->doubted.freedom;
    float *sums = xcalloc(2 * count + 1, sizeof *sums), *left = variance_left(b, r, steps, noise * noise);
    struct process p = {sums, sums + count};
    /* Row by row: a processor does not prefetch a hundred rows at once. */
    for (size_t i = 0; i < r->count; i++)
        add_kernel(b->kernels[r->at[i]], steps, (float)v->believed.weights[i], (float)v->doubted.weights[i], count, &p);
    surrogate_add_alike(b, r->at, v->believed.weights, r->count, p.believed);
    surrogate_add_alike(b, r->at, v->doubted.weights, r->count, p.doubted);
    for (size_t c = 0; c < count; c++) {
        struct estimate *e = &b->all[c];
        double predicted = e->mean;
        e->trust = trust;
        e->believed = expect(&v->believed, predicted, p.believed[c], left[c]);
        e->doubted = expect(&v->doubted, b->s->space->candidates[c].usual_merit, p.doubted[c], left[c]);
        mix(e);
    }
    free(sums);
    free(left);
}

/* Uses the fitted weights if the predictions rank well as they are; a fit to runs that contradict them would distort
 * them. */
void surrogate_fill_means(struct surrogate *b, const struct fitted *fits)
{
    bool predicted = any_predicted(b->s->space);
    struct runs *r = xcalloc(1, sizeof *r);
    struct views v;
    fill_priors(b, fits, slope_of_priors(b, fits) > BELIEVED);
    take_runs(b, r);
    double spread = spread_predicted(b, fits), before = predicted ? trust_of(b, fits) : 0;
    double trust = before > BELIEVED ? 1 : 0; /* before any run the views' units differ: only one counts */
    int steps = find_length(b, r, spread, before);
    learn_both(b, r, steps, spread, &v);
    if (before > 0 && r->count > 0)
        trust = 1 / (1 + exp(v.doubted.log_evidence - v.believed.log_evidence) * (1 - before) / before);
    fill_estimates(b, r, steps, &v, trust);
    views_free(&v);
    free(r->alike);
    free(r);
}

/* --- what is left, jointly --- */

#define LEFT_LEAST 1e-9 /* of the process's variance: below this is rounding at a measured candidate */

static double joint(const struct surrogate *b, size_t i, size_t j)
{
    return SURROGATE_SUM * surrogate_alike(b, i, j) +
           (1 - SURROGATE_SUM) * (double)at_length(surrogate_kernel(b, i, j), b->steps);
}

/* Fills `out` with the candidate's factor for each pivot. */
static void fill_row(const struct surrogate *b, const struct runs *r, const struct pivots *p, size_t candidate,
                     double *out)
{
    for (size_t m = 0; m < p->count; m++) {
        const double *factors = p->factors + p->at[m] * OBSERVED_MOST;
        double left = joint(b, b->told[r->at[p->at[m]]], candidate) - weighted_sum(factors, out, m);
        out[m] = left / factors[m];
    }
}

/* Turns covariances into correlations. */
static void normalise(double *matrix, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            double own = fmax(matrix[i * count + i], LEFT_LEAST), other = fmax(matrix[j * count + j], LEFT_LEAST);
            matrix[i * count + j] = matrix[j * count + i] = matrix[i * count + j] / sqrt(own * other);
        }
    for (size_t i = 0; i < count; i++)
        matrix[i * count + i] = 1;
}

void surrogate_correlation(const struct surrogate *b, const size_t *candidates, size_t count, double *out)
{
    struct runs *r = xcalloc(1, sizeof *r);
    struct pivots p;
    take_runs(b, r);
    pick_pivots(b, r, b->steps, b->noise, r->count, &p);
    double *rows = xcalloc(count * p.count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++)
        fill_row(b, r, &p, candidates[i], rows + i * p.count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++)
            out[i * count + j] =
                joint(b, candidates[i], candidates[j]) - weighted_sum(rows + i * p.count, rows + j * p.count, p.count);
    normalise(out, count);
    free(rows);
    free(p.factors);
    free(r->alike);
    free(r);
}

size_t surrogate_freedom(const struct surrogate *b)
{
    return b->freedom;
}
