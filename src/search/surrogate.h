/* The surrogate model of a search: estimates of every candidate's merit and probability of failure. Predictions are the
 * prior mean; measurements correct it.
 *
 * A candidate's merit is ln(objective), or -ln(objective) if less is better. Its mean is the sum of
 *
 *   prior      ln(work / seconds), times a slope. seconds = terms · weights; the weights of the candidate's place are
 *              calibrated by measured step times (predict/calibration.h) as long as outcomes do not contradict them
 *   level      the median difference between measured merits and the prior: units, and what all runs share
 *   residual   a Gaussian process over what is left (search/process.h): kernel s²·exp(-Σ_k d_k²/2ℓ²n) over the n
 *              keys k that differ within the space. d_k is the distance in doublings as a share of the key's range for
 *              positive numbers, and 1 for other unequal values; s is the model's own spread, the noise is 5 %, and the
 *              length ℓ is inferred from the runs
 *
 * The deviation is s times the root of the process's variance given the measurements, calibrated by how well the other
 * runs predict each run, plus the uncertainty of the slope. With very many candidates the variance is computed from the
 * runs that tell most about the others. Four fifths of the process are a sum over keys (search/process.h).
 *
 * There are two views. In the first, predictions are believed: the prior is the mean of the prediction and of the
 * layout arithmetic (search/belief.h), weighted by the trust in predicted times before any run, since combined
 * forecasts have smaller errors if their errors differ (Bates and Granger, "The Combination of Forecasts", Operational
 * Research Quarterly 20, 1969). In the second, predictions are doubted and arithmetic alone is the prior. Each view is
 * weighted by the likelihood of the measurements, starting from the odds that predicted seconds are about right
 * (search/belief.h), reduced where predicted times or memory contradict the arithmetic. Before any run only the
 * likelier view counts. Without predictions there is only the second.
 *
 * The probability of failure combines running out of memory and other failures. The former is 0 or 1 if a larger or
 * smaller micro-batch of the same memory class, or of a lower or higher ZeRO stage, has shown it. Otherwise it mixes
 *
 *   predicted   from the calibrated weights, corrected by what outcomes say about their error, by key too, as far as
 *               predictions are trusted (search/belief.h)
 *   unpredicted from the keys and the memory arithmetic, as outcomes tell; at least the candidate's position between
 *               what fitted and what did not
 *
 * Both limits are learned in the same way (search/process.h). Other failures: the share of failures among measured
 * neighbours under the same kernel; far from them, that among all runs. All results depend on the set of outcomes, not
 * on their order. Pure. */
#pragma once

#include "search/state.h"

struct expectation {
    double mean, deviation; /* of the merit */
};

struct estimate {
    double mean, deviation;               /* of the merit, mixed over both views */
    struct expectation believed, doubted; /* in each view */
    double trust;                         /* probability of the view that believes predictions */
    double out_of_memory, other_failure;  /* probabilities */
};

struct surrogate;
struct surrogate *surrogate_create(const struct search *s);
void surrogate_free(struct surrogate *b);

/* Call it once the shared state has the outcome. */
void surrogate_tell(struct surrogate *b, size_t candidate);

/* Estimates of every candidate, as if one's time had not been measured; NONE: all count. Borrowed until the next
 * surrogate_tell. */
const struct estimate *surrogate_without(struct surrogate *b, size_t candidate);

/* Correlations of the candidates' merits given the measurements: `out` is count × count. Returns the degrees of freedom
 * of the estimated deviations: merits follow Student's distribution. Call surrogate_without first. */
size_t surrogate_correlation(const struct surrogate *b, const size_t *candidates, size_t count, double *out);

/* Converts an objective to its merit, and back. */
double merit_of(const struct search_space *space, double objective);
double merit_objective(const struct search_space *space, double merit);
