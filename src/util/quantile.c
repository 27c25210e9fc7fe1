#include "util/quantile.h"

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
