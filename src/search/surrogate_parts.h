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

/* Share of the process that is a sum over keys, each by itself (Duvenaud, Nickisch and Rasmussen, "Additive Gaussian
 * Processes", NIPS 2011): where keys act apart, what a run tells of one holds whatever the others are. */
#define SURROGATE_SUM 0.8

/* What arithmetic (belief/layout_estimate.h) misses, one standard deviation of ln: of merits, where nothing else is
 * predicted and little measured; of bytes. */
#define USUAL_SPREAD 0.30
#define USUAL_SPREAD_BYTES 0.50

struct key_scale {
    float *values; /* of a coordinate, rising */
    size_t count;
};

struct surrogate {
    const struct search *s;
    struct estimate *all;
    bool stale;
    /* Keys that differ, as coordinates: positive numbers in doublings. */
    float *coordinates;
    bool *is_number;
    size_t dimensions;
    struct key_scale *scales; /* by coordinate */
    uint32_t *levels;         /* by candidate and coordinate: which of its values */
    float *need;              /* ln of what arithmetic says of memory, by candidate, from the middle of its range */
    bool *of_batch;           /* by key of the space: differs within a configuration */
    /* Candidates with outcomes, by number, and the kernel from each to all. */
    size_t *told;
    float **kernels;
    size_t told_count;
    /* By memory class: what has shown itself. NAN: nothing. */
    double *largest_fit, *smallest_oom;
    /* How far predictions contradict arithmetic: of merits, of bytes. */
    struct contradiction time, memory;
    double usual_level;  /* of predicted merits over those of arithmetic: their mean */
    double memory_trust; /* in predicted bytes; 1 where there are none */
    /* Of the process that estimates are of: the kernel's length, the noise's variance as a share of the spread's, and
     * the degrees of freedom that this was estimated with. */
    int steps;
    double noise;
    size_t freedom;
};

/* Whether two values of a key are equal, both missing included. */
bool surrogate_same(double a, double b);

/* --- what each key does by itself: surrogate.c --- */

/* Of two candidates: the mean of their keys' kernels. */
double surrogate_alike(const struct surrogate *b, size_t i, size_t j);

/* The kernel from one to another. */
float surrogate_kernel(const struct surrogate *b, size_t i, size_t j);

/* To `sums`, by candidate: SURROGATE_SUM · Σ_i weights[i] · alike(told[i], candidate), told[i] in b->told. */
void surrogate_add_alike(const struct surrogate *b, const size_t *told, const double *weights, size_t n, float *sums);

/* --- predictions, calibrated by what was measured: surrogate_fit.c --- */

/* Of one place. */
struct fitted {
    struct calibration memory, time;
    bool has_memory, has_time;
};

/* Of every place; the caller's. */
struct fitted *surrogate_fit(const struct surrogate *b);

/* What the terms come to under the calibrated weights, or with NULL under the prior's. */
double surrogate_weighted(const struct calibration *c, const struct calibration_prior *prior, const double *terms);

/* Whether it ran and has an objective. */
bool surrogate_has_merit(const struct trial *t);

/* --- of every candidate: surrogate_mean.c, surrogate_failure.c --- */

/* out_of_memory, other_failure; and `memory_trust`. */
void surrogate_fill_failures(struct surrogate *b, const struct fitted *fits);

/* mean, deviation, in both views. */
void surrogate_fill_means(struct surrogate *b, const struct fitted *fits);

#endif
