#include "compare/ratios.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/quantile.h"
#include "util/rng.h"

/* Enough for two digits of the interval's ends. Large samples need fewer, because their ends vary less. */
#define RESAMPLES_MOST 2000
#define RESAMPLES_LEAST 500
#define DRAWS_MOST 200000
#define RESAMPLED_MOST 400 /* with more ratios the limit is as good */

/* The median of a sample given by how often each value was drawn. */
static double drawn_median(const double *sorted, const unsigned *times, size_t count)
{
    size_t lower = (count - 1) / 2, upper = count / 2, seen = 0;
    double first = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = seen;
        seen += times[i];
        if (before <= lower && lower < seen)
            first = sorted[i];
        if (before <= upper && upper < seen)
            return (first + sorted[i]) / 2;
    }
    return first;
}

static void bootstrap(const double *sorted, size_t count, uint64_t seed, struct ratio_summary *out)
{
    size_t resamples = DRAWS_MOST / count;
    resamples = resamples > RESAMPLES_MOST ? RESAMPLES_MOST : resamples < RESAMPLES_LEAST ? RESAMPLES_LEAST : resamples;
    double *medians = xmalloc(resamples * sizeof *medians);
    unsigned *times = xmalloc(count * sizeof *times);
    struct rng rng = rng_stream(seed, count);
    for (size_t r = 0; r < resamples; r++) {
        memset(times, 0, count * sizeof *times);
        for (size_t i = 0; i < count; i++)
            times[rng_below(&rng, count)]++;
        medians[r] = drawn_median(sorted, times, count);
    }
    sort_doubles(medians, resamples);
    out->low = quantile(medians, resamples, 0.025);
    out->high = quantile(medians, resamples, 0.975);
    free(medians);
    free(times);
}

/* The rank of the bootstrap's median follows a binomial count (Efron 1979, section 3). For many values it is normal
 * around the middle, with a standard deviation of half the square root of their number. */
static void bootstrap_limit(const double *sorted, size_t count, struct ratio_summary *out)
{
    double half = 1.96 * sqrt((double)count) / 2 / (double)(count - 1);
    out->low = quantile(sorted, count, 0.5 - half);
    out->high = quantile(sorted, count, 0.5 + half);
}

static enum ratio_verdict judge(const struct ratio_summary *s)
{
    if (s->count < RATIOS_LEAST)
        return RATIO_TOO_FEW;
    if (s->low > 1)
        return RATIO_HIGHER;
    return s->high < 1 ? RATIO_LOWER : RATIO_SAME;
}

struct ratio_summary ratios_summarise(double *ratios, size_t count, uint64_t seed)
{
    struct ratio_summary s = {count, NAN, NAN, NAN, NAN, NAN, NAN, NAN, RATIO_TOO_FEW};
    if (count == 0)
        return s;
    sort_doubles(ratios, count);
    s.minimum = ratios[0];
    s.quarter = quantile(ratios, count, 0.25);
    s.median = quantile(ratios, count, 0.5);
    s.three_quarters = quantile(ratios, count, 0.75);
    s.maximum = ratios[count - 1];
    if (count > RESAMPLED_MOST)
        bootstrap_limit(ratios, count, &s);
    else if (count > 1)
        bootstrap(ratios, count, seed, &s);
    s.verdict = judge(&s);
    return s;
}
