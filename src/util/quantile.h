/* Quantiles of a sample. */
#ifndef MESHSWEEP_UTIL_QUANTILE_H
#define MESHSWEEP_UTIL_QUANTILE_H

#include <stddef.h>

/* Ascending. No NaN. */
void sort_doubles(double *values, size_t count);

/* The share-quantile (0 to 1) of sorted values, at least one: linear between neighbours (Hyndman and Fan's type 7).
 * Infinities are values like others. */
double quantile(const double *sorted, size_t count, double share);

/* Sorts the values, at least one. */
double median(double *values, size_t count);

#endif
