/* The trainer's model in double precision, with what is static in it, and finite differences. */
#pragma once

#define TRAINER_DOUBLE
#include "trainer/model.c"
#include "trainer/ranks.c"
#include "unit_test.h"

/* A rank keeps its state until it ends; a test does not. */
static inline void free_state(struct zero *z)
{
    for (int i = 0; i < ZERO_ARRAYS; i++)
        device_free(z->device, z->array[i]);
}

static inline void gradient_random(real *values, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (real)(0.7 * random_normal(&seed));
}

static inline void assert_close(double got, double want, double tolerance)
{
    FAIL_WHERE(!(fabs(got - want) <= tolerance), "%.17g is not within %g of %.17g", got, tolerance, want);
}

/*
 * Asserts that derivative[i] is the central difference of loss() by value[i], for all of them, and that they
 * are not all so small that anything would pass. In double the difference is good to about nine digits.
 */
static inline void gradient_check(real *value, const real *derivative, size_t count, double (*loss)(void *),
                                  void *context)
{
    const double delta = 1e-5;
    double largest = 0;

    for (size_t i = 0; i < count; i++) {
        real kept = value[i];
        value[i] = (real)(kept + delta);
        double above = loss(context);
        value[i] = (real)(kept - delta);
        double below = loss(context);
        value[i] = kept;
        double want = (above - below) / (2 * delta);
        if (fabs(derivative[i] - want) > 1e-6 * fabs(want) + 1e-7)
            fail_msg("derivative %zu of %zu is %.10g, by differences %.10g", i, count, (double)derivative[i], want);
        largest = fmax(largest, fabs(want));
    }
    assert_true(largest > 1e-3);
}
