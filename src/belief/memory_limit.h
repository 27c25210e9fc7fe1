/* Which candidates run out of memory, learnt from outcomes: classification by a Gaussian process (Rasmussen and
 * Williams, "Gaussian Processes for Machine Learning", 2006, section 3.4).
 *
 * ln(p / (1 - p)), p the probability of running out of memory, is a prior plus a Gaussian process, whose mode given the
 * outcomes is Σ_i weights[i]·covariance(outcome i, candidate). An outcome far from the limit weighs nothing, one that
 * was not expected at most 1. The process is a line over every number and a step for every word, so that any key that
 * failures follow is seen to be one, and what is near. Depends on the set of outcomes only. Pure. */
#ifndef MESHSWEEP_BELIEF_MEMORY_LIMIT_H
#define MESHSWEEP_BELIEF_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Before any outcome: ln(p / (1 - p)) where the need of memory is 0, what a factor of e in the need adds to it, and the
 * standard deviation of what all candidates have in common. */
struct limit_expectation {
    double odds, slope, common;
};

/* Where nothing is predicted and the need is what arithmetic says, 0 in the middle of the space: `rare` is the
 * probability there. */
struct limit_expectation limit_unpredicted(double rare);

/* Where the need is ln(predicted bytes / what there is): ln(taken / predicted) = bias + noise, `sigma` as the
 * prediction says. Of its variance half is taken to be bias, half noise; in three frameworks or models of ten the bias
 * is anything within a factor of e^0.5 (one standard deviation): what nothing was compared with is off by so much. */
struct limit_expectation limit_predicted(double sigma);

struct limit_space {
    size_t count, dimensions; /* candidates; coordinates of each */
    const float *need;        /* of memory, by candidate, ln: failures are expected to follow it; NULL: 0 */
    const float *coordinates; /* count × dimensions: numbers from 0 to 1, words as codes */
    const bool *is_number;
    struct limit_expectation expected;
};

struct limit_outcome {
    size_t candidate;
    bool out_of_memory;
    const float *kernel; /* to every candidate: 1 for itself, 0 for what is far. Borrowed */
};

/* Of every candidate. */
void memory_limit_chances(const struct limit_space *space, const struct limit_outcome *outcomes, size_t count,
                          double *chances);

/* ln of how probable the outcomes were, by Laplace's approximation (the book's section 3.4.4). */
double memory_limit_log_evidence(const struct limit_space *space, const struct limit_outcome *outcomes, size_t count);

struct limit_evidence {
    size_t count;
    const bool *out_of_memory;
    const double *prior;      /* ln(p / (1 - p)) before any outcome */
    const double *covariance; /* of each with each, count × count: symmetric, positive semidefinite */
};

/* `weights` by outcome; returns ln of the evidence. */
double memory_limit_learn(const struct limit_evidence *o, double *weights);

double memory_limit_chance(double log_odds);

#endif
