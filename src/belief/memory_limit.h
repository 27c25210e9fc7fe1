/* Which candidates run out of memory, learned from outcomes: classification by a Gaussian process (Rasmussen and
 * Williams, "Gaussian Processes for Machine Learning", 2006, section 3.4).
 *
 * ln(p / (1 - p)), where p is the probability of running out of memory, is a prior plus a Gaussian process whose mode
 * given the outcomes is Σ_i weights[i]·covariance(outcome i, candidate). An outcome far from the limit has no weight,
 * an unexpected one a weight of at most 1. The covariance has a linear term per number, a term per equal word, and a
 * kernel for nearby candidates, so that it finds any key that failures follow. Depends on the set of outcomes only.
 * Pure. */
#ifndef MESHSWEEP_BELIEF_MEMORY_LIMIT_H
#define MESHSWEEP_BELIEF_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

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

struct limit_space {
    size_t count, dimensions; /* number of candidates; coordinates of each */
    const float *need;        /* ln of the memory need by candidate; failures are expected to follow it. NULL: 0 */
    const float *coordinates; /* count × dimensions: numbers scaled to 0 … 1, words as codes */
    const bool *is_number;
    struct limit_expectation expected;
};

struct limit_outcome {
    size_t candidate;
    bool out_of_memory;
    const float *kernel; /* to every candidate: 1 for itself, 0 for distant ones. Borrowed */
};

/* Fills `chances` for every candidate. */
void memory_limit_chances(const struct limit_space *space, const struct limit_outcome *outcomes, size_t count,
                          double *chances);

/* ln of the outcomes' evidence, by Laplace's approximation (section 3.4.4 of the book). */
double memory_limit_log_evidence(const struct limit_space *space, const struct limit_outcome *outcomes, size_t count);

struct limit_evidence {
    size_t count;
    const bool *out_of_memory;
    const double *prior;      /* ln(p / (1 - p)) before any outcome */
    const double *covariance; /* between outcomes, count × count: symmetric, positive semidefinite */
};

/* Fills `weights`, one per outcome; returns ln of the evidence. */
double memory_limit_learn(const struct limit_evidence *o, double *weights);

double memory_limit_chance(double log_odds);

#endif
