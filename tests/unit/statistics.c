#include "statistics.h"

#include <math.h>
#include <stdlib.h>

/* Counting is quadratic, which for some dozens of numbers is nothing. */
static double rank_of(const double *x, size_t count, size_t i)
{
    double below = 0, equal = 0;
    for (size_t j = 0; j < count; j++) {
        below += x[j] < x[i];
        equal += x[j] == x[i];
    }
    return below + (equal + 1) / 2;
}

double rank_correlation(const double *x, const double *y, size_t count)
{
    double mean = ((double)count + 1) / 2, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        double a = rank_of(x, count, i) - mean, b = rank_of(y, count, i) - mean;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sorted_quantile(double *values, size_t count, double q)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return values[(size_t)(q * (double)(count - 1))];
}
