/* Internals of the surrogate model (search/surrogate.h); only its parts include this. */
#ifndef MESHSWEEP_SEARCH_SURROGATE_PARTS_H
#define MESHSWEEP_SEARCH_SURROGATE_PARTS_H

#include "belief/belief.h"
#include "search/surrogate.h"

#define OBSERVED_MOST 160 /* runs used; more no longer change the estimates */

/* Length of the kernel, in ranges of a key, per root of the number of keys that differ: exp(√2 - 3), the mode of the
 * prior of Hvarfner, Hellsten and Nardi, "Vanilla Bayesian Optimization Performs Great in High Dimensions" (ICML 2024),
 * where BoTorch starts. Fitted to no measured table. */
#define SURROGATE_LENGTH 0.205

/* Share of the process that is a sum over single keys (Duvenaud, Nickisch and Rasmussen, "Additive Gaussian Processes",
 * NIPS 2011): if keys act independently, what a run shows about one key holds for every value of the others. */
#define SURROGATE_SUM 0.8

/* Standard deviation of ln of the error of the layout arithmetic (belief/layout_estimate.h): for merits, when nothing
 * else is predicted and little measured; for bytes. */
#define USUAL_SPREAD 0.30
#define USUAL_SPREAD_BYTES 0.50

struct key_scale {
    float *values; /* of a coordinate, ascending */
    size_t count;
};

struct surrogate {
    const struct search *s;
    struct estimate *all;
    bool stale;
    /* Keys that differ, as coordinates; positive numbers in doublings. */
    float *coordinates;
    bool *is_number;
    size_t dimensions;
    struct key_scale *scales; /* by coordinate */
    uint32_t *levels;         /* by candidate and coordinate: index of its value in the scale */
    float *need;              /* by candidate: ln of the memory by arithmetic, relative to the middle of its range */
    bool *of_batch;           /* by key of the space: differs within a configuration */
    /* Candidates with outcomes, and the kernel from each of them to all candidates. */
    size_t *told;
    float **kernels;
    size_t told_count;
    /* By memory class, from outcomes. NAN: none. */
    double *largest_fit, *smallest_oom;
    /* How far predictions contradict arithmetic, in merits and in bytes. */
    struct contradiction time, memory;
    double usual_level;  /* mean of predicted merits minus those of arithmetic */
    double memory_trust; /* in predicted bytes; 1 if there are none */
    /* Of the process behind the estimates: the kernel's length in steps, the noise's variance as a share of the
     * spread's, and the degrees of freedom of the spread's estimate. */
    int steps;
    double noise;
    size_t freedom;
};

/* Whether two values of a key are equal. Missing equals missing. */
bool surrogate_same(double a, double b);

/* --- what each key does by itself: surrogate.c --- */

/* Mean of the single-key kernels of two candidates. */
double surrogate_alike(const struct surrogate *b, size_t i, size_t j);

/* The kernel between two candidates. */
float surrogate_kernel(const struct surrogate *b, size_t i, size_t j);

/* Adds SURROGATE_SUM · Σ_i weights[i] · alike(told[i], c) to sums[c] for every candidate c; told[i] are from b->told.
 */
void surrogate_add_alike(const struct surrogate *b, const size_t *told, const double *weights, size_t n, float *sums);

/* --- predictions, calibrated by what was measured: surrogate_fit.c --- */

/* Calibration of one place. */
struct fitted {
    struct calibration memory, time;
    bool has_memory, has_time;
};

/* For every place. The caller frees it. */
struct fitted *surrogate_fit(const struct surrogate *b);

/* Terms · calibrated weights, or the prior's weights if `c` is NULL. */
double surrogate_weighted(const struct calibration *c, const struct calibration_prior *prior, const double *terms);

/* Whether the trial ran and has an objective. */
bool surrogate_has_merit(const struct trial *t);

/* --- of every candidate: surrogate_mean.c, surrogate_failure.c --- */

/* Sets out_of_memory and other_failure of every candidate, and `memory_trust`. */
void surrogate_fill_failures(struct surrogate *b, const struct fitted *fits);

/* Sets mean and deviation of every candidate in both views. */
void surrogate_fill_means(struct surrogate *b, const struct fitted *fits);

#endif
