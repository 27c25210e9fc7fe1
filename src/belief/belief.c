#include "belief/belief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/quantile.h"

/* --- memory --- */

double memory_belief_trust(double log_predicted, double log_otherwise)
{
    double odds = log(MEMORY_TRUST / (1 - MEMORY_TRUST)) + log_predicted - log_otherwise;
    return 1 / (1 + exp(-odds));
}

/* --- time --- */

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

/* Means by group. The caller frees it. */
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

/* --- slopes --- */

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
