#include "util/linear.h"

#include <math.h>

double weighted_sum(const double *weights, const double *terms, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += weights[i] * terms[i];
    return sum;
}

double factorise(double *a, size_t n, double least_pivot)
{
    double log_determinant = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(fmax(sum, least_pivot)) : sum / a[j * n + j];
        }
    for (size_t i = 0; i < n; i++)
        log_determinant += 2 * log(a[i * n + i]);
    return log_determinant;
}

void solve_factored(const double *a, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= a[i * n + k] * x[k];
        x[i] /= a[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            x[i] -= a[k * n + i] * x[k];
        x[i] /= a[i * n + i];
    }
}
