#include <stdlib.h>

#include "search/surrogate_parts.h"
#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"

#define NOISE 0.05        /* of a measurement, relative: repeats of a step time differ by that */
#define PIVOT_LEAST 1e-12 /* of the kernel's matrix: what rounding leaves of alike rows */
#define SPREAD_LEAST 0.10
#define SPREAD_UNKNOWN 0.30 /* where nothing is predicted and little measured */
#define RESIDUAL_MOST 1.0   /* a run that is slower still is broken: its neighbours need not be */
#define BELIEVED 0.5        /* a trust or a slope */

/* --- the prior --- */

/* The probability that predicted times say something, by the seconds that runs took. */
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
    return time_belief_trust(runs, count);
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
    /* What cannot be predicted is taken for no better than the worst that can. */
    for (size_t i = 0; i < space->count; i++)
        if (isnan(b->all[i].mean))
            b->all[i].mean = isfinite(least) ? least : 0;
}

static double spread_of(const struct surrogate *b, const struct fitted *fits, const double *residuals, size_t count)
{
    double squares = 0, prior = SPREAD_UNKNOWN;
    for (size_t i = 0; i < b->s->space->place_count; i++)
        if (fits[i].has_time)
            prior = fits[i].time.sigma;
    for (size_t i = 0; i < count; i++)
        squares += residuals[i] * residuals[i];
    /* The prior counts as three measurements: what a calibration needs before it is believed at all. */
    double spread = sqrt((3 * prior * prior + squares) / (3 + (double)count));
    return spread > SPREAD_LEAST ? spread : SPREAD_LEAST;
}

/* --- the slope --- */

static struct time_slope slope_of_priors(const struct surrogate *b, const struct fitted *fits, bool as_fitted,
                                         double trust)
{
    double prior[OBSERVED_MOST], merit[OBSERVED_MOST];
    size_t n = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        double predicted = prior_merit(b, fits, &b->s->space->candidates[b->told[i]], as_fitted);
        if (!surrogate_has_merit(t) || isnan(predicted))
            continue;
        prior[n] = predicted;
        merit[n++] = merit_of(b->s->space, t->objective);
    }
    return time_belief_slope(prior, merit, n, trust, spread_of(b, fits, NULL, 0));
}

static bool any_predicted(const struct search_space *space)
{
    size_t i = 0;
    while (i < space->count && isnan(search_predicted_log(space, &space->candidates[i])))
        i++;
    return i < space->count;
}

/* With the weights as fitted where the predictions rank well as they are: a fit to what contradicts them bends them. */
static void fill_prior_means(struct surrogate *b, const struct fitted *fits)
{
    double trust = trust_of(b, fits);
    bool as_fitted = slope_of_priors(b, fits, false, 1).slope > BELIEVED;
    struct time_slope slope = slope_of_priors(b, fits, as_fitted, trust);
    b->believed = any_predicted(b->s->space) && trust > BELIEVED && slope.slope > BELIEVED;
    fill_priors(b, fits, as_fitted);
    for (size_t i = 0; i < b->s->space->count; i++)
        b->all[i].mean = slope.middle + slope.slope * (b->all[i].mean - slope.middle);
}

/* --- residuals --- */

/* Numbers in b->told of those with a merit, and what each lies above the prior and level. */
struct residuals {
    size_t at[OBSERVED_MOST];
    double values[OBSERVED_MOST];
    size_t count;
    double level;
};

static void take_residuals(const struct surrogate *b, struct residuals *r)
{
    double sorted[OBSERVED_MOST];
    r->count = 0;
    for (size_t i = 0; i < b->told_count; i++) {
        const struct trial *t = &b->s->trials[b->told[i]];
        if (!surrogate_has_merit(t))
            continue;
        r->at[r->count] = i;
        r->values[r->count] = merit_of(b->s->space, t->objective) - b->all[b->told[i]].mean;
        sorted[r->count] = r->values[r->count];
        r->count++;
    }
    r->level = r->count ? median(sorted, r->count) : 0;
    for (size_t i = 0; i < r->count; i++) {
        double value = r->values[i] - r->level;
        r->values[i] = value > RESIDUAL_MOST ? RESIDUAL_MOST : value < -RESIDUAL_MOST ? -RESIDUAL_MOST : value;
    }
}

static void add_kernel(const float *kernels, float weight, size_t count, float *sums, float *nearest)
{
    for (size_t c = 0; c < count; c++) {
        sums[c] += weight * kernels[c];
        nearest[c] = kernels[c] > nearest[c] ? kernels[c] : nearest[c];
    }
}

static void correct(struct surrogate *b, const struct residuals *r, double spread)
{
    size_t n = r->count, count = b->s->space->count;
    double *k = xcalloc(n * n + 1, sizeof *k), *weights = xcalloc(n + 1, sizeof *weights);
    double noise = NOISE * NOISE / (spread * spread);
    for (size_t i = 0; i < n; i++) {
        weights[i] = r->values[i];
        for (size_t j = 0; j < n; j++)
            k[i * n + j] = (double)b->kernels[r->at[i]][b->told[r->at[j]]] + (i == j ? noise : 0);
    }
    solve_positive_definite(k, weights, n, PIVOT_LEAST);
    /* Row by row: a hundred rows at once are more than a processor fetches ahead. */
    float *sums = xcalloc(count + 1, sizeof *sums), *nearest = xcalloc(count + 1, sizeof *nearest);
    for (size_t i = 0; i < n; i++)
        add_kernel(b->kernels[r->at[i]], (float)weights[i], count, sums, nearest);
    for (size_t c = 0; c < count; c++) {
        double left = 1 - (double)nearest[c] * (double)nearest[c];
        b->all[c].mean += r->level + (double)sums[c];
        b->all[c].deviation = sqrt(spread * spread * (left > 0 ? left : 0) + NOISE * NOISE);
    }
    free(sums);
    free(nearest);
    free(k);
    free(weights);
}

void surrogate_fill_means(struct surrogate *b, const struct fitted *fits)
{
    struct residuals *r = xcalloc(1, sizeof *r);
    fill_prior_means(b, fits);
    take_residuals(b, r);
    correct(b, r, spread_of(b, fits, r->values, r->count));
    free(r);
}
