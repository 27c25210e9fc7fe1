#include "compare/ratios.h"

#include <math.h>
#include <stdbool.h>

#include "util/quantile.h"

#define MISSED 0.05            /* of all comparisons shown together */
#define CORRELATION_MOST 0.271 /* of the results of two halves that choose for each other */

struct ratio_summary ratios_summarise(double *ratios, size_t count)
{
    struct ratio_summary s = {count, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, RATIO_INTERVAL_NONE, RATIO_TOO_FEW};
    if (count == 0)
        return s;
    sort_doubles(ratios, count);
    s.minimum = ratios[0];
    s.quarter = quantile(ratios, count, 0.25);
    s.median = quantile(ratios, count, 0.5);
    s.three_quarters = quantile(ratios, count, 0.75);
    s.maximum = ratios[count - 1];
    return s;
}

/* A binomial count of n with 1/2. */
struct binomial {
    size_t below;       /* the largest d with 2 P(B < d) <= missed; 0: none */
    double tail, point; /* P(B < d), P(B = d) */
};

static struct binomial binomial_tail(size_t n, double missed)
{
    size_t d = n / 2;
    double point = exp(lgamma((double)n + 1) - lgamma((double)d + 1) - lgamma((double)(n - d) + 1) - (double)n * M_LN2);
    double tail = n % 2 ? 0.5 - point : (1 - point) / 2;
    while (d > 0 && 2 * tail > missed) {
        point *= (double)d / (double)(n - d + 1);
        d--;
        tail -= point;
    }
    return (struct binomial){d, tail, point};
}

/* Between two values, as a share of the way in logarithms, so that the interval of a/b is that of b/a turned over. */
static double between(double from, double to, double share)
{
    return from * pow(to / from, share);
}

/* Returns whether the ratios suffice. */
static bool set_ranks(const double *x, double missed, struct ratio_summary *s)
{
    const struct binomial b = binomial_tail(s->count, missed);
    const double n = (double)s->count, d = (double)b.below;
    if (b.below == 0)
        return false;
    double part = (missed / 2 - b.tail) / b.point, share = (n - d) * part / (d + (n - 2 * d) * part);
    s->low = between(x[b.below - 1], x[b.below], share);
    s->high = between(x[s->count - b.below], x[s->count - b.below - 1], share);
    s->interval = RATIO_INTERVAL_RANKS;
    return true;
}

static void set_student(const double *x, double missed, struct ratio_summary *s)
{
    const double n = (double)s->count;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < s->count; i++)
        mean += log(x[i]) / n;
    for (size_t i = 0; i < s->count; i++)
        squares += pow(log(x[i]) - mean, 2);
    double half = student_quantile(1 - missed / 2, n - 1) * sqrt(squares / (n - 1) / n);
    s->low = exp(mean - half);
    s->high = exp(mean + half);
    s->interval = RATIO_INTERVAL_STUDENT;
}

/* The share that a normal interval misses which is to be as much wider as the halves' correlation asks for. */
static double widened(double missed, unsigned choosers)
{
    double width = student_quantile(1 - missed / 2, INFINITY) * sqrt(1 + CORRELATION_MOST * choosers / 2);
    return choosers ? erfc(width / M_SQRT2) : missed;
}

void ratios_judge(const double *ratios, struct ratio_summary *s, size_t together, unsigned choosers)
{
    const double missed = MISSED / (double)together;
    if (s->count < RATIOS_INTERVAL_LEAST)
        return;
    if (!set_ranks(ratios, widened(missed, choosers), s))
        set_student(ratios, widened(missed, choosers), s);
    s->confidence = 1 - missed;
    if (s->count >= RATIOS_LEAST)
        s->verdict = s->low > 1 ? RATIO_HIGHER : s->high < 1 ? RATIO_LOWER : RATIO_SAME;
}
