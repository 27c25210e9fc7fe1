#include "util/quantile.h"

#include <math.h>
#include <stdlib.h>

#include "util/memory.h"

BY_NUMBER(by_value, double, [0])

void sort_doubles(double *values, size_t count)
{
    array_sort(values, count, by_value);
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

double median(const double *values, size_t count)
{
    OWNED double *sorted = xcalloc(count + 1, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = values[i];
    sort_doubles(sorted, count);
    return count ? quantile(sorted, count, 0.5) : 0;
}

#define FREEDOM_MOST 1e6

/* The continued fraction of the incomplete beta function by Lentz's method (Press et al., "Numerical Recipes", 6.4). It
 * converges fast where x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), fraction = d, change;
    double m = 1;
    do {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        fraction *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        change = d * c;
        fraction *= change;
        m++;
    } while (fabs(change - 1) > 1e-14 && m < 10000);
    return fraction;
}

/* The chance that |T| > t: the regularised incomplete beta function of n / (n + t²), with n / 2 and 1 / 2 (Abramowitz
 * and Stegun, "Handbook of Mathematical Functions", 1964, 26.7.1). */
static double beyond(double t, double freedom)
{
    const double a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t), rest = t * t / (freedom + t * t);
    const double front = t > 0 ? exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log1p(-rest) + b * log(rest)) : 0;
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, rest) / b;
}

/* Newton's method from the middle: where the density falls, it comes from below and never goes beyond. */
double student_quantile(double share, double freedom)
{
    const double n = fmin(freedom, FREEDOM_MOST);
    const double scale = 2 * exp(lgamma((n + 1) / 2) - lgamma(n / 2)) / sqrt(n * M_PI);
    double t = 0, step;
    do {
        step = (beyond(t, n) - 2 * (1 - share)) / (scale * pow(1 + t * t / n, -(n + 1) / 2));
        t += step;
    } while (step > 1e-9 * t);
    return t;
}

double welch_half_width(struct standard_error a, struct standard_error b, double missed)
{
    const double x = a.error * a.error, y = b.error * b.error;
    if (!(a.freedom >= 1 && b.freedom >= 1))
        return NAN;
    if (!(x + y > 0))
        return 0;
    const double freedom = (x + y) * (x + y) / (x * x / a.freedom + y * y / b.freedom);
    return student_quantile(1 - missed, freedom) * sqrt(x + y);
}

double lead_half_width(struct standard_error first, struct standard_error other, size_t count)
{
    return welch_half_width(first, other, 0.025 / (double)(count > 1 ? count - 1 : 1));
}
