#include "trainer/adam.h"

#include <tgmath.h>

struct adam adam_defaults(double learning_rate)
{
    return (struct adam){.learning_rate = learning_rate, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
}

static void update(real *restrict parameter, const real *restrict gradient, real *restrict first, real *restrict second,
                   size_t count, const real factor[6])
{
    for (size_t i = 0; i < count; i++) {
        real g = gradient[i];
        first[i] = factor[0] * first[i] + factor[1] * g;
        second[i] = factor[2] * second[i] + factor[3] * g * g;
        parameter[i] -= factor[4] * first[i] / (sqrt(second[i]) + factor[5]);
    }
}

void adam_step(const struct adam *adam, real *parameter, const real *gradient, struct adam_moments moments,
               size_t count, int step)
{
    /* Both bias corrections in the step size: lr · √(1-β₂ᵗ) / (1-β₁ᵗ), with epsilon scaled alike. */
    double root = sqrt(1 - pow(adam->beta2, step));
    const real factor[6] = {
        (real)adam->beta1,
        (real)(1 - adam->beta1),
        (real)adam->beta2,
        (real)(1 - adam->beta2),
        (real)(adam->learning_rate * root / (1 - pow(adam->beta1, step))),
        (real)(adam->epsilon * root),
    };

    update(parameter, gradient, moments.first, moments.second, count, factor);
}
