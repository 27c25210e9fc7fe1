#include "util/quantile.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_doubles(double *values, size_t count)
{
    if (count > 0)
        qsort(values, count, sizeof *values, by_value);
}

double quantile(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    double part = at - (double)below, left = sorted[below], right = sorted[below + 1];
    /* Not interpolated where it need not be: infinity times zero is no number, nor is infinity less infinity. */
    return part > 0 && left < right ? (1 - part) * left + part * right : left;
}

double median(double *values, size_t count)
{
    sort_doubles(values, count);
    return quantile(values, count, 0.5);
}

#define FREEDOM_MOST 1000

/* The chance that |T| < t: Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964, 26.7.3 and 26.7.4. */
static double within(double t, int64_t freedom)
{
    double angle = atan(t / sqrt((double)freedom)), square = cos(angle) * cos(angle);
    double term = freedom % 2 ? cos(angle) : 1, sum = 0;
    for (int64_t i = freedom % 2; i < freedom - 1; i += 2) {
        sum += term;
        term *= square * (double)(i + 1) / (double)(i + 2);
    }
    return freedom % 2 ? M_2_PI * (angle + sin(angle) * sum) : sin(angle) * sum;
}

/* Newton's method from the middle: where the density falls, it comes from below and never goes beyond. */
double student_quantile(double share, int64_t freedom)
{
    freedom = freedom > FREEDOM_MOST ? FREEDOM_MOST : freedom;
    const double n = (double)freedom, scale = 2 * exp(lgamma((n + 1) / 2) - lgamma(n / 2)) / sqrt(n * M_PI);
    double t = 0, step;
    do {
        step = (2 * share - 1 - within(t, freedom)) / (scale * pow(1 + t * t / n, -(n + 1) / 2));
        t += step;
    } while (step > 1e-9 * t);
    return t;
}
