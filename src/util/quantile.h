/* Quantiles of a sample, and of Student's t. */
#pragma once

#include <stddef.h>

/* Ascending. No NaN. */
void sort_doubles(double *values, size_t count);

/* The share-quantile (0 to 1) of sorted values, at least one: linear between neighbours (Hyndman and Fan's type 7).
 * Infinities are values like others. */
double quantile(const double *sorted, size_t count, double share);

/* 0 of none. */
double median(const double *values, size_t count);

/* The value below which the share (0.5 to below 1) of Student's t with that many degrees of freedom lies, to a
 * millionth: 2.228 for 0.975 and 10. They are at least 1 and need not be a whole number (Welch's are not). Beyond a
 * million it is that of a million, which is that of the normal distribution. Pure. */
double student_quantile(double share, double freedom);

/* The standard error of a mean, and its degrees of freedom; below 1: not known. */
struct standard_error {
    double error, freedom;
};

/* Half the width of the interval of the difference of two means that misses the share on either side (Welch 1947). NaN
 * if an error is not known. */
double welch_half_width(struct standard_error a, struct standard_error b, double missed);

/* The same for the first of `count` and one of the others, which is as if it missed 2.5 % of all of them: the first was
 * chosen because it came out first. The truly best one is neither it nor among those that cannot be told apart from it
 * only if one of the others beats it by chance (the subset selection of Gupta 1965, by Bonferroni). */
double lead_half_width(struct standard_error first, struct standard_error other, size_t count);
