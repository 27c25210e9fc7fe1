/* Quantiles of a sample, and of Student's t. */
#ifndef MESHSWEEP_UTIL_QUANTILE_H
#define MESHSWEEP_UTIL_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. No NaN. */
void sort_doubles(double *values, size_t count);

/* The share-quantile (0 to 1) of sorted values, at least one: linear between neighbours (Hyndman and Fan's type 7).
 * Infinities are values like others. */
double quantile(const double *sorted, size_t count, double share);

/* Sorts the values, at least one. */
double median(double *values, size_t count);

/* The value below which the share (0.5 to below 1) of Student's t with that many degrees of freedom (at least 1) lies,
 * to a millionth: 2.228 for 0.975 and 10. Beyond 1,000 degrees it is that of 1,000, wider by less than 0.2 %. Pure. */
double student_quantile(double share, int64_t freedom);

#endif
