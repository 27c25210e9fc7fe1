#include "run/readers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/quantile.h"

static bool any_nan(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(values[i]))
            return true;
    return false;
}

static double mean_of(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

/* Of the sample: n - 1; 0 for one value. */
static double stddev_of(const double *values, size_t n, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

static double taken(const struct summary *s, enum take take, double last)
{
    switch (take) {
    case TAKE_MEAN:
        return s->mean;
    case TAKE_LAST:
        return last;
    case TAKE_MAX:
        return s->maximum;
    case TAKE_MIN:
        return s->minimum;
    case TAKE_P90:
        return s->p90;
    case TAKE_MEDIAN:
        break;
    }
    return s->median;
}

struct summary summarise(double *values, size_t count, int64_t warmup, enum take take)
{
    if (count == 0)
        return (struct summary){NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0};
    size_t dropped = warmup < 0 ? 0 : (size_t)warmup < count ? (size_t)warmup : count - 1;
    size_t n = count - dropped;
    double last = values[count - 1];
    memmove(values, values + dropped, n * sizeof *values);
    if (any_nan(values, n))
        return (struct summary){take == TAKE_LAST ? last : NAN, NAN, NAN, NAN, NAN, NAN, NAN, (int64_t)n};
    double mean = mean_of(values, n), stddev = stddev_of(values, n, mean);
    sort_doubles(values, n);
    struct summary s = {.mean = mean,
                        .median = quantile(values, n, 0.5),
                        .minimum = values[0],
                        .maximum = values[n - 1],
                        .stddev = stddev,
                        .p90 = quantile(values, n, 0.9),
                        .count = (int64_t)n};
    s.value = taken(&s, take, last);
    return s;
}
