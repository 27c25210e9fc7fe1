#include "search/time_belief.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/quantile.h"

#define SLOPE_SPREAD 0.5
#define ANYWHERE 2.0      /* standard deviation of ln(seconds) where predictions say nothing */
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
    double odds = log(TIME_TRUST / (1 - TIME_TRUST));
    for (const struct compared_time *r = runs; r < runs + count; r++) {
        double distance = log(r->measured / r->predicted);
        odds += log(sound_or_broken(distance, r->sigma) / (normal(distance, ANYWHERE) + LEAST_DENSITY));
    }
    return 1 / (1 + exp(-odds));
}

static double median_of(const double *values, size_t count)
{
    double *copy = xcalloc(count, sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    double middle = median(copy, count);
    free(copy);
    return middle;
}

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
