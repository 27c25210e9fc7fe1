/* The parts of the surrogate model (search/surrogate.h). Only they include this. */
#ifndef MESHSWEEP_SEARCH_SURROGATE_PARTS_H
#define MESHSWEEP_SEARCH_SURROGATE_PARTS_H

#include "belief/belief.h"
#include "search/surrogate.h"

#define OBSERVED_MOST 160 /* beyond, what is believed does not change any more */

/* Of the kernel, in ranges of a key, times the root of how many keys differ: exp(√2 - 3), the mode of the prior of
 * Hvarfner, Hellsten and Nardi, "Vanilla Bayesian Optimization Performs Great in High Dimensions" (ICML 2024), where
 * BoTorch begins. From no measured table. */
#define SURROGATE_LENGTH 0.205

struct surrogate {
    const struct search *s;
    struct estimate *all;
    bool stale, believed;
    /* Keys that differ, as coordinates: positive numbers in doublings. */
    float *coordinates;
    bool *is_number;
    size_t dimensions;
    size_t micro_batch; /* which coordinate it is; SIZE_MAX: none */
    bool *of_batch;     /* by key of the space: differs within a configuration */
    /* Candidates with outcomes, by number, and the kernel from each to all. */
    size_t *told;
    float **kernels;
    size_t told_count;
    /* By memory class: what has shown itself. NAN: nothing. */
    double *largest_fit, *smallest_oom;
};

/* Whether two values of a key are equal, both missing included. */
bool surrogate_same(double a, double b);

/* --- predictions, calibrated by what was measured: surrogate_fit.c --- */

/* Of one place. */
struct fitted {
    struct calibration memory, time;
    bool has_memory, has_time;
    struct memory_belief belief;
};

/* Of every place; the caller's. */
struct fitted *surrogate_fit(const struct surrogate *b);

/* What the terms come to under the calibrated weights, or with NULL under the prior's. */
double surrogate_weighted(const struct calibration *c, const struct calibration_prior *prior, const double *terms);

/* Whether it ran and has an objective. */
bool surrogate_has_merit(const struct trial *t);

/* --- of every candidate: surrogate_mean.c, surrogate_failure.c --- */

/* mean, deviation; and `believed`. */
void surrogate_fill_means(struct surrogate *b, const struct fitted *fits);

/* out_of_memory, other_failure. */
void surrogate_fill_failures(struct surrogate *b, const struct fitted *fits);

#endif
