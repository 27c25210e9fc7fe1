/* How far predictions of memory are off, by outcomes alone: whether a run fitted is nearly as much as how many bytes it
 * took, as long as it was near the limit.
 *
 * ln(taken / predicted) = bias + noise. The bias is what all runs of a place share: a term that the model lacks, the
 * allocator. Of a prediction's variance half is taken to be bias, half noise. Measured bytes y, runs out of memory
 * (taken > what there is) and runs that fitted without a number (taken < it) make a likelihood of the bias, on a grid;
 * censored outcomes count for what they say: much near the limit, nothing far from it.
 *
 * Beside it stands that the predictions say nothing: bytes anywhere within a factor of e (one standard deviation),
 * failures by a share of their own (uniform prior). `trust` is the posterior probability that they do say something,
 * MEMORY_TRUST before any outcome. Depends on the set of outcomes only. Pure. */
#ifndef MESHSWEEP_SEARCH_MEMORY_BELIEF_H
#define MESHSWEEP_SEARCH_MEMORY_BELIEF_H

#include "predict/calibration.h"

#define MEMORY_TRUST 0.9
#define MEMORY_BELIEF_REACH 4.0
#define MEMORY_BELIEF_POINTS 257

struct memory_belief {
    double trust;
    double chance[MEMORY_BELIEF_POINTS]; /* by ln(predicted / what there is), from -MEMORY_BELIEF_REACH on */
};

/* `fit` predicts, from `prior` on. */
void memory_belief_learn(const struct calibration_prior *prior, const struct calibration *fit,
                         const struct observation *observations, size_t count, struct memory_belief *out);

/* That a run takes more than there is, predicted at exp(log_share) of that: as far as predictions are trusted. */
double memory_belief_chance(const struct memory_belief *b, double log_share);

#endif
