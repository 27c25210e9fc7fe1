/* Weighted sums and systems of linear equations. */
#pragma once

#include <stddef.h>

/* Σ weights[i]·terms[i], from the first to the last. */
double weighted_sum(const double *weights, const double *terms, size_t count);

/* Replaces a matrix by its lower Cholesky factor: symmetric and positive definite, n × n by rows, of which the lower
 * triangle is read and overwritten. Where rounding leaves a pivot below `least_pivot` (above 0), that is taken instead.
 * Returns ln of the determinant. */
double factorise(double *a, size_t n, double least_pivot);

/* Solves A·s = b in place: `x` holds b, then s. `factor` is that of A. */
void solve_factored(const double *factor, double *x, size_t n);
