/* Statistics of lists of numbers that tests print or assert. */
#pragma once

#include <stddef.h>

/* Spearman's rank correlation, ties with their mean rank; 0 when one list is all the same. */
double rank_correlation(const double *x, const double *y, size_t count);

/* Sorts. */
double sorted_quantile(double *values, size_t count, double q);
