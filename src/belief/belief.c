#include "belief/belief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"

/* --- of memory --- */

#define REACH 4.0 /* of the grid, in standard deviations of the prior and not less than LEAST_REACH */
#define LEAST_REACH 1.5
#define BIAS_POINTS 65
#define STRANGE_SHARE 0.3 /* of frameworks and models that the prediction is off for by more than it says */
#define STRANGE_BIAS 0.5
#define LEAST_CHANCE 1e-3 /* of an outcome: no normal distribution is known to its far ends */

static double exceeds(double distance, double sigma)
{
    return 0.5 * erfc(-distance / sigma / M_SQRT2);
}

static double density(double distance, double sigma)
{
    return exp(-distance * distance / (2 * sigma * sigma)) / (sigma * sqrt(2 * M_PI));
}

/* ln(what is known of it / predicted) */
static double distance_of(const struct calibration_prior *prior, const struct calibration *fit,
                          const struct observation *o)
{
    return log(o->y / weighted_sum(fit->weights, o->terms, prior->terms));
}

static double likelihood(const struct observation *o, double distance, double bias, double noise)
{
    if (o->kind == OBSERVATION_MEASURED)
        return fmax(density(distance - bias, noise), LEAST_CHANCE);
    double beyond = exceeds(bias - distance, noise);
    return fmax(o->kind == OBSERVATION_AT_LEAST ? beyond : 1 - beyond, LEAST_CHANCE);
}

/* ln of the likelihood of measured bytes where predictions say nothing. */
static double log_anywhere(const struct calibration_prior *prior, const struct calibration *fit,
                           const struct observation *observations, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const struct observation *o = &observations[i];
        if (o->kind == OBSERVATION_MEASURED)
            sum += log(fmax(density(distance_of(prior, fit, o), MEMORY_ANYWHERE), LEAST_CHANCE));
    }
    return sum;
}

static double log_posterior(const struct calibration_prior *prior, const struct calibration *fit,
                            const struct observation *observations, size_t count, double bias, double sigma)
{
    double sum =
        log((1 - STRANGE_SHARE) * density(bias, sigma) + STRANGE_SHARE * density(bias, fmax(sigma, STRANGE_BIAS)));
    for (size_t i = 0; i < count; i++)
        sum += log(likelihood(&observations[i], distance_of(prior, fit, &observations[i]), bias, sigma));
    return sum;
}

/* Its grid and the posterior on it. */
struct bias {
    double at[BIAS_POINTS], share[BIAS_POINTS], noise, log_evidence;
};

static void find_bias(const struct calibration_prior *prior, const struct calibration *fit,
                      const struct observation *observations, size_t count, struct bias *out)
{
    double sigma = fit->sigma * M_SQRT1_2, reach = fmax(LEAST_REACH, REACH * sigma);
    double step = 2 * reach / (BIAS_POINTS - 1), most = -INFINITY, sum = 0;
    out->noise = sigma;
    for (int i = 0; i < BIAS_POINTS; i++) {
        out->at[i] = -reach + i * step;
        out->share[i] = log_posterior(prior, fit, observations, count, out->at[i], sigma);
        most = fmax(most, out->share[i]);
    }
    for (int i = 0; i < BIAS_POINTS; i++)
        sum += out->share[i] = exp(out->share[i] - most);
    for (int i = 0; i < BIAS_POINTS; i++)
        out->share[i] /= sum;
    out->log_evidence = most + log(sum * step);
}

void memory_belief_learn(const struct calibration_prior *prior, const struct calibration *fit,
                         const struct observation *observations, size_t count, double log_otherwise,
                         struct memory_belief *out)
{
    struct bias bias;
    find_bias(prior, fit, observations, count, &bias);
    double odds = log(MEMORY_TRUST / (1 - MEMORY_TRUST)) + bias.log_evidence -
                  log_anywhere(prior, fit, observations, count) - log_otherwise;
    out->trust = 1 / (1 + exp(-odds));
    for (int k = 0; k < MEMORY_BELIEF_POINTS; k++) {
        double at = MEMORY_BELIEF_REACH * (2.0 * k / (MEMORY_BELIEF_POINTS - 1) - 1);
        out->chance[k] = 0;
        for (int i = 0; i < BIAS_POINTS; i++)
            out->chance[k] += bias.share[i] * exceeds(at + bias.at[i], bias.noise);
    }
}

double memory_belief_chance(const struct memory_belief *b, double log_share)
{
    double at = (log_share / MEMORY_BELIEF_REACH + 1) / 2 * (MEMORY_BELIEF_POINTS - 1);
    at = fmin(fmax(at, 0), MEMORY_BELIEF_POINTS - 1.001);
    size_t k = (size_t)at;
    return b->chance[k] + (at - (double)k) * (b->chance[k + 1] - b->chance[k]);
}

/* --- of time --- */

#define BROKEN_SHARE 0.15 /* of runs */
#define BROKEN_MOST 3.5   /* ln of how many times slower a broken run is */
#define LEAST_DENSITY 1e-6

static double normal(double distance, double spread)
{
    return exp(-distance * distance / (2 * spread * spread)) / (spread * sqrt(2 * M_PI));
}

static double sound_or_broken(double distance, double spread)
{
    double broken = distance > 0 && distance < BROKEN_MOST ? 1 / BROKEN_MOST : 0;
    return (1 - BROKEN_SHARE) * normal(distance, spread) + BROKEN_SHARE * broken + LEAST_DENSITY;
}

double time_belief_trust(const struct compared_time *runs, size_t count)
{
    double odds = log(TIME_TRUST / (1 - TIME_TRUST)), sigma = 0;
    if (count == 0)
        return TIME_TRUST;
    double *distances = xcalloc(count, sizeof *distances);
    for (size_t i = 0; i < count; i++) {
        distances[i] = log(runs[i].measured / runs[i].predicted);
        sigma += runs[i].sigma / (double)count;
    }
    double level = median(distances, count);
    free(distances);
    odds += log(sound_or_broken(level, sigma) / (normal(level, TIME_ANYWHERE) + LEAST_DENSITY));
    return 1 / (1 + exp(-odds));
}

/* --- before any outcome --- */

struct means {
    double count, predicted, arithmetic;
};

/* Of every group; the caller's. */
static struct means *means_of(const struct two_claims *c)
{
    struct means *means = xcalloc(c->group_count + 1, sizeof *means);
    for (size_t i = 0; i < c->count; i++) {
        struct means *m = &means[c->group[i]];
        if (isnan(c->predicted[i]))
            continue;
        m->count++;
        m->predicted += (c->predicted[i] - m->predicted) / m->count;
        m->arithmetic += (c->arithmetic[i] - m->arithmetic) / m->count;
    }
    return means;
}

struct contradiction claims_compare(const struct two_claims *c, double spread)
{
    struct means *means = means_of(c);
    double xx = 0, xy = 0, yy = 0, count = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct means *m = &means[c->group[i]];
        if (isnan(c->predicted[i]))
            continue;
        double x = c->predicted[i] - m->predicted, y = c->arithmetic[i] - m->arithmetic;
        xx += x * x;
        xy += x * y;
        yy += y * y;
        count++;
    }
    free(means);
    if (!(xx > 0) || !(yy > 0))
        return (struct contradiction){0, spread};
    double claimed = sqrt(yy / count), slopes = M_SQRT2 * BELIEF_SLOPE_DEVIATION * claimed;
    return (struct contradiction){(1 - xy / sqrt(xx * yy)) * claimed, hypot(slopes, spread / sqrt(count))};
}

double trust_contradicted(double trust, const struct contradiction *c, double anywhere)
{
    double ratio = fmin(1, normal(c->distance, c->deviation) / normal(c->distance, anywhere));
    return trust * ratio / (trust * ratio + 1 - trust);
}

/* --- of slopes --- */

static double median_of(const double *values, size_t count)
{
    double *copy = xcalloc(count, sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    double middle = median(copy, count);
    free(copy);
    return middle;
}

#define SLOPE_SPREAD 0.5

struct time_slope time_belief_slope(const double *predicted, const double *merits, size_t count, double trust,
                                    double spread)
{
    double belief = spread * spread / 2 / (SLOPE_SPREAD * SLOPE_SPREAD), xx = 0, xy = 0;
    if (count == 0)
        return (struct time_slope){1, 0};
    double middle = median_of(predicted, count), level = median_of(merits, count);
    for (size_t i = 0; i < count; i++) {
        xx += (predicted[i] - middle) * (predicted[i] - middle);
        xy += (predicted[i] - middle) * (merits[i] - level);
    }
    return (struct time_slope){(belief * trust + xy) / (belief + xx), middle};
}
