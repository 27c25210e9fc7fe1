/* Adam (Kingma and Ba 2015), without weight decay. */
#ifndef TRAINER_ADAM_H
#define TRAINER_ADAM_H

#include <stddef.h>

#include "trainer/matmul.h"

struct adam {
    double learning_rate;
    double beta1;
    double beta2;
    double epsilon;
};

/* beta1 0.9, beta2 0.95, epsilon 1e-8: the usual choice for language models. */
struct adam adam_defaults(double learning_rate);

/* The moments of `count` parameters, zero before the first step. */
struct adam_moments {
    real *first;
    real *second;
};

/*
 * Updates parameter[count]; step counts from 1. Works element by element, so that any part of an array can be
 * updated separately with the same result.
 */
void adam_step(const struct adam *adam, real *parameter, const real *gradient, struct adam_moments moments,
               size_t count, int step);

#endif
