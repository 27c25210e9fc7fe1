/* What a search believes of every candidate: predictions as the prior mean, corrected by what was measured.
 *
 * A candidate's merit is ln(objective), or -ln where less is better. Its mean is
 *
 *   prior      ln(work / seconds), seconds = terms · weights, the weights of its place calibrated by the measured step
 *              times (predict/calibration.h)
 *   + level    median of what the measured lie above that: units, and what all runs have in common
 *   + residual a Gaussian process over what is left: kernel s²·exp(-Σ_k d_k²/2ℓ²n) over the n keys k that differ within
 *              the space, d_k the distance in doublings as a share of the key's range for positive numbers, 1 for other
 *              unequal values; s the model's own spread, noise 5 %
 *
 * and its deviation s·√(1 - κ²), κ the kernel to the nearest measured candidate. Without predictions the prior is 0 and
 * s the spread of what was measured.
 *
 * The probability of failure is that of running out of memory, with the weights calibrated likewise, 0 or 1 where a
 * larger or smaller micro-batch of the same memory class has shown it; and that of failing otherwise, the share of
 * failures among measured neighbours under the same kernel. Depends on the set of outcomes, not on their order. Pure. */
#ifndef MESHSWEEP_SEARCH_BELIEF_H
#define MESHSWEEP_SEARCH_BELIEF_H

#include "search/state.h"

struct belief_of {
    double mean, deviation; /* of the merit */
    double out_of_memory, other_failure; /* probabilities */
};

struct belief;
struct belief *belief_create(const struct search *s);
void belief_free(struct belief *b);

/* An outcome stands in the shared state. */
void belief_tell(struct belief *b, size_t candidate);

/* Of every candidate. Borrowed until the next belief_tell. */
const struct belief_of *belief_all(struct belief *b);

/* The merit of an objective, and back. */
double merit_of(const struct search_space *space, double objective);
double merit_objective(const struct search_space *space, double merit);

#endif
