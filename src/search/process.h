/* Gaussian processes over the candidates of a space (Rasmussen and Williams, "Gaussian Processes for Machine Learning",
 * 2006): one covariance, made of kernels; and what outcomes say under it of a number (a merit) and of a class (whether
 * memory is enough). All results depend on the set of outcomes, not on their order. Pure. */
#pragma once

#include "search/strategy.h"

/* --- the covariance --- */

/* Length of the kernels, in ranges of a key, per root of the number of keys that differ: exp(√2 - 3), the mode of the
 * prior of Hvarfner, Hellsten and Nardi, "Vanilla Bayesian Optimization Performs Great in High Dimensions" (ICML 2024),
 * where BoTorch starts. Fitted to no measured table. */
#define PROCESS_LENGTH 0.205

/* The keys that differ between candidates, as coordinates. A key with a word or a whole number of its own for most
 * candidates is a name (of a run, an id, a seed): where the other keys tell nearly all candidates apart, it has no
 * coordinate, because nothing is learnt of a value that comes once. */
struct process_space {
    size_t count, dimensions;
    float *coordinates; /* count × dimensions: positive numbers in doublings, 0 … 1 over their range; others as codes */
    bool *is_number;    /* by dimension */
    bool *names;        /* by key of the space: it is a name */
    struct key_scale {
        float *values; /* of a coordinate: a key has few */
        size_t count;
    } * scales;       /* by dimension */
    uint32_t *levels; /* by candidate and dimension: index of its value in the scale */
};
void process_space_open(const struct search_space *space, struct process_space *out);
void process_space_close(struct process_space *s);

/* The kernel exp(-Σ_k d_k²/2ℓ²n) over the n keys: d_k is the distance of numbers, and 1 for other unequal values. */
float process_nearness(const struct process_space *s, size_t i, size_t j);

/* Weights of the terms of a covariance: the same for all; a line over what candidates need; for each key a line over
 * its numbers, equal words, and the mean of the single-key kernels (Duvenaud, Nickisch and Rasmussen, "Additive
 * Gaussian Processes", NIPS 2011); and the kernel over all keys, for a length whose square is 2^steps times as large.
 */
struct kernel {
    double common, need, number, word, single, nearby;
    int steps;
    const float *needs; /* by candidate; NULL: 0 */
};

/* `nearness`: of the two. */
double process_covariance(const struct process_space *s, const struct kernel *k, size_t i, size_t j, float nearness);

/* Candidates with outcomes, each with its nearness to every candidate. Borrowed. */
struct process_told {
    size_t count;
    const size_t *candidates;
    const float *const *nearness;
};

/* Covariances between them. The caller frees it. */
double *process_covariances(const struct process_space *s, const struct kernel *k, const struct process_told *told);

/* Adds Σ_i weights[i] · covariance(told i, c) to sums[c] for every candidate c. */
void process_add(const struct process_space *s, const struct kernel *k, const struct process_told *told,
                 const double *weights, double *sums);

/* --- numbers: what measured merits (search/surrogate.h) say under one view of the predictions ---
 *
 *   merit = level + slope · (predicted - middle) + spread · process + noise      (sections 2.2 and 2.7 of the book)
 *
 * `middle` is the median prediction, `level` the median of what the slope leaves. The slope has a normal prior of 1
 * (BELIEF_SLOPE_DEVIATION) and is fitted by generalised least squares. The variance, spread², has an inverse gamma
 * prior worth three runs and is fitted to the generalised square of the residuals. With both integrated out, the
 * evidence of a view is the density of the runs under Student's distribution; it serves to compare views. A run far
 * slower than its view expects is taken to be broken, and its residual is capped. `calibration` compares each run's
 * distance from what the other runs predict with the expected distance (section 5.4.2): the root mean square over all
 * runs but the first, which sets the level, and one more that is exactly as expected. */

#define REGRESSION_NOISE 0.05 /* relative noise of a measurement: repeats of a step time differ by this */
#define RUNS_MOST 160         /* runs used; more no longer change the estimates */

struct viewed_runs {
    size_t count; /* at most RUNS_MOST */
    const double *predicted, *merits;
    double spread;            /* standard deviation of the residual, before any run */
    const double *covariance; /* of the process between runs, count × count, 1 on the diagonal */
};

struct explained {
    double slope, slope_variance, middle, level, spread;
    size_t freedom;            /* degrees of freedom of the spread, the prior's included */
    double calibration;        /* factor for deviations */
    double log_evidence;       /* 0 without a run */
    double weights[RUNS_MOST]; /* by run; the residual at a candidate is Σ weight · covariance */
};

void regression_explain(const struct viewed_runs *r, struct explained *out);

/* --- a class: which candidates run out of memory (section 3.4 of the book) ---
 *
 * ln(p / (1 - p)), where p is the probability of running out of memory, is a prior plus a Gaussian process whose mode
 * given the outcomes is Σ_i weights[i]·covariance(outcome i, candidate). An outcome far from the limit has no weight,
 * an unexpected one a weight of at most 1. The covariance has a linear term per number, a term per equal word, and a
 * kernel for nearby candidates, so that it finds any key that failures follow. */

/* Before any outcome: ln(p / (1 - p)) at a need of 0, its increase per factor of e in the need, and the standard
 * deviation of the offset that all candidates share. */
struct limit_expectation {
    double odds, slope, common;
};

/* Without predictions, when the need is by arithmetic and 0 in the middle of the space. `rare`: probability there. */
struct limit_expectation limit_unpredicted(double rare);

/* With predictions, when the need is ln(predicted bytes / available): ln(used / predicted) = bias + noise, with the
 * prediction's `sigma`, half of the variance each. For three in ten frameworks or models the error is taken to have a
 * standard deviation of 0.5, if that is more: where nothing was compared, predictions are off by so much. */
struct limit_expectation limit_predicted(double sigma);

struct limit {
    const struct process_space *space;
    const float *need; /* ln of the memory need by candidate; failures are expected to follow it. NULL: 0 */
    struct limit_expectation expected;
    struct process_told told;
    const bool *out_of_memory; /* by outcome */
};

/* Fills `chances` for every candidate, unless it is NULL; returns ln of the outcomes' evidence, by Laplace's
 * approximation (section 3.4.4 of the book). */
double memory_limit_chances(const struct limit *l, double *chances);

struct limit_evidence {
    size_t count;
    const bool *out_of_memory;
    const double *prior;      /* ln(p / (1 - p)) before any outcome */
    const double *covariance; /* between outcomes, count × count: symmetric, positive semidefinite */
};

/* Fills `weights`, one per outcome; returns ln of the evidence. */
double memory_limit_learn(const struct limit_evidence *o, double *weights);

double memory_limit_chance(double log_odds);
