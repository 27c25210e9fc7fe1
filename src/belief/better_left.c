#include "belief/better_left.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/linear.h"
#include "util/memory.h"
#include "util/rng.h"

#define DRAWS 1000
/* Share of the variance that is a candidate's own: rounding may leave a negative rest between nearly equal ones. */
#define OWN 1e-3
#define SEED 2024

double left_above_alone(const struct left_expectation *x)
{
    return x->deviation > 0 ? 0.5 * erfc(-x->mean / x->deviation / M_SQRT2) : x->mean > 0 ? 1 : 0;
}

static double uniform(struct rng *r)
{
    return ((double)(rng_next(r) >> 11) + 0.5) * 0x1p-53;
}

/* Box-Muller. */
static double normal(struct rng *r)
{
    double radius = sqrt(-2 * log(uniform(r)));
    return radius * cos(2 * M_PI * uniform(r));
}

/* Common factor of all deviations: the root of freedom / χ². */
static double draw_spread(struct rng *r, size_t freedom)
{
    double squares = 0;
    for (size_t i = 0; i < freedom; i++) {
        double x = normal(r);
        squares += x * x;
    }
    return sqrt((double)freedom / squares);
}

/* Lower Cholesky factor of the correlations, by rows. The caller frees it. */
static double *factors_of(const struct candidates_left *c)
{
    size_t n = c->count;
    double *factors = xcalloc(n * n + 1, sizeof *factors);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double left = c->correlation[i * n + j] - weighted_sum(factors + i * n, factors + j * n, j);
            factors[i * n + j] = i == j ? sqrt(fmax(left, 0) + OWN) : left / factors[j * n + j];
        }
    return factors;
}

static bool some_better(const struct candidates_left *c, const double *factors, const double *drawn, bool believed,
                        double luck)
{
    const struct left_expectation *x = believed ? c->believed : c->doubted;
    for (size_t i = 0; i < c->count; i++)
        if (luck >= c->failure[i] &&
            x[i].mean + x[i].deviation * weighted_sum(factors + i * c->count, drawn, i + 1) > 0)
            return true;
    return false;
}

double better_left(const struct candidates_left *c)
{
    double *factors = factors_of(c), *drawn = xcalloc(c->count + 1, sizeof *drawn);
    struct rng r = rng_stream(SEED, 0);
    size_t better = 0;
    for (size_t draw = 0; draw < DRAWS; draw++) {
        bool believed = uniform(&r) < c->trust;
        double luck = uniform(&r);
        double spread = draw_spread(&r, c->freedom);
        for (size_t i = 0; i < c->count; i++)
            drawn[i] = spread * normal(&r);
        better += some_better(c, factors, drawn, believed, luck);
    }
    free(factors);
    free(drawn);
    return (double)better / DRAWS;
}
