/* The surrogate model of a search: what is expected of every candidate. Predictions are the prior mean, corrected by
 * what was measured.
 *
 * A candidate's merit is ln(objective), or -ln where less is better. Its mean is
 *
 *   prior      ln(work / seconds), seconds = terms · weights, the weights of its place calibrated by the measured step
 *              times (predict/calibration.h) as long as outcomes do not contradict them, times a slope
 *   + level    median of what the measured lie above that: units, what all runs share
 *   + residual a Gaussian process over what is left (belief/regression.h): kernel s²·exp(-Σ_k d_k²/2ℓ²n) over the n
 *              keys k that differ within the space, d_k the distance in doublings as a share of the key's range for
 *              positive numbers, 1 for other unequal values; s the model's own spread, noise 5 %, the length ℓ what
 *              the runs make probable
 *
 * and its deviation that of s times the root of the variance that the measured leave of the process, calibrated by how
 * well the others foretell each of them, and of the slope;
 * of very many candidates it is computed from the measured that tell most of the others. Four fifths of the process
 * are a sum over keys, each by itself (surrogate_parts.h).
 *
 * There are two views of that: predictions are believed, and then what is expected is the mean of what is predicted and
 * of what arithmetic says of the layouts (belief/layout_estimate.h), weighed by the trust in predicted times before any
 * run: what either misses is not what the other does (Bates and Granger, "The Combination of Forecasts", Operational
 * Research Quarterly 20, 1969). Or they are doubted, and arithmetic alone is the prior. Each counts by how probable it
 * makes what was measured, from the odds on that predicted seconds are about right (belief/belief.h), less where
 * predicted times or memory turn over what arithmetic says; before any run the likelier view speaks. Without
 * predictions there is but the second view.
 *
 * The probability of failure is that of running out of memory and that of failing otherwise. The first is 0 or 1 where
 * a larger or smaller micro-batch of the same memory class, or of a lower or higher ZeRO stage, has shown it; else
 *
 *   predicted   with the weights calibrated likewise, and what outcomes say of how far that is off, by keys too, as far
 *               as that is trusted (belief/belief.h)
 *   otherwise   what outcomes say of the keys and of what arithmetic says of memory, and no less than how far it lies
 *               between what fitted and what did not
 *
 * Both limits are learnt alike (belief/memory_limit.h). The second is the share of failures among measured neighbours
 * under the same kernel, and far from them that among all runs. Depends on the set of outcomes, not on their order.
 * Pure. */
#ifndef MESHSWEEP_SEARCH_SURROGATE_H
#define MESHSWEEP_SEARCH_SURROGATE_H

#include "search/state.h"

struct expectation {
    double mean, deviation; /* of the merit */
};

struct estimate {
    double mean, deviation;               /* of the merit, over both views */
    struct expectation believed, doubted; /* in either */
    double trust;                         /* the probability of the first */
    double out_of_memory, other_failure;  /* probabilities */
};

struct surrogate;
struct surrogate *surrogate_create(const struct search *s);
void surrogate_free(struct surrogate *b);

/* An outcome stands in the shared state. */
void surrogate_tell(struct surrogate *b, size_t candidate);

/* Of every candidate. Borrowed until the next surrogate_tell. */
const struct estimate *surrogate_all(struct surrogate *b);

/* How far the merits of candidates are correlated, given what was measured: `out`, count × count. After
 * surrogate_all. */
void surrogate_correlation(const struct surrogate *b, const size_t *candidates, size_t count, double *out);

/* Degrees of freedom of what deviations were estimated from: what is believed is Student's. After surrogate_all. */
size_t surrogate_freedom(const struct surrogate *b);

/* The merit of an objective, and back. */
double merit_of(const struct search_space *space, double objective);
double merit_objective(const struct search_space *space, double merit);

#endif
