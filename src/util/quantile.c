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

double student_quantile(double share, int64_t freedom)
{
    double low = 0, high = 1;
    freedom = freedom > FREEDOM_MOST ? FREEDOM_MOST : freedom;
    while (within(high, freedom) < 2 * share - 1 && high < 1e9)
        high *= 2;
    while (high - low > 1e-7 * high) {
        double middle = (low + high) / 2;
        *(within(middle, freedom) < 2 * share - 1 ? &low : &high) = middle;
    }
    return high;
}
