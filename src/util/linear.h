/* Weighted sums and systems of linear equations. */
#pragma once

#include <stddef.h>

/* Σ weights[i]·terms[i], from the first to the last. */
double weighted_sum(const double *weights, const double *terms, size_t count);

/* Solves A·s = b in place by Cholesky's factors: `x` holds b, then s. `a` is A, symmetric and positive definite, n × n
 * by rows, of which the lower triangle is read and overwritten. Where rounding leaves a pivot below `least_pivot`
 * (above 0), that is taken instead. */
void solve_positive_definite(double *a, double *x, size_t n, double least_pivot);
