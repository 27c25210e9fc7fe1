/* How far predictions can be trusted, from outcomes alone; what arithmetic says in their place; and whether something
 * better can still come. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "predict/inputs.h"

/* --- memory --- */

/* Probability that predicted bytes tell which jobs run out of memory; MEMORY_TRUST before any outcome. If they do, the
 * ln of the outcomes' likelihood is `log_predicted` (search/process.h with the prediction as the need); if not, it
 * is `log_otherwise` (with the need by arithmetic). */
#define MEMORY_TRUST 0.9
double memory_belief_trust(double log_predicted, double log_otherwise);

/* --- time --- */

#define TIME_TRUST 0.8

struct compared_time {
    double predicted, measured; /* seconds */
    double sigma;               /* of ln(measured / predicted), by the prediction itself */
};

/* Probability that predicted times are informative; TIME_TRUST without a run. If they are, the median of ln(measured /
 * predicted) is within their sigma, or the runs are among the few broken, slower ones; if not, it is anywhere within a
 * factor of e² (one standard deviation). The median counts once, however many runs there are, because all runs share
 * the error of the prediction; how well predictions rank is left to search/process.h. Depends on the set of runs
 * only. */
double time_belief_trust(const struct compared_time *runs, size_t count);

/* --- before any outcome --- */

/* ln of the predictions for some candidates, and ln of what arithmetic gives (below). */
struct two_claims {
    const double *predicted, *arithmetic; /* NAN: no prediction */
    const size_t *group;                  /* only differences within a group count */
    size_t count, group_count;
};

/* `distance`: by how much predictions miss the arithmetic for a candidate one standard deviation from the middle. It is
 * 0 if the two are perfectly correlated or either is constant, and twice as large if predictions are inverted than if
 * they are unrelated. `deviation`: the distance to expect if both are about right, from the slope of each and from what
 * arithmetic does not know of a candidate. `level`: the mean of what is predicted less what arithmetic gives; 0:
 * nothing is predicted. */
struct contradiction {
    double distance, deviation, level;
};

/* `spread`: standard deviation of the error of arithmetic. */
struct contradiction claims_compare(const struct two_claims *c, double spread);

/* Reduces `trust` in predictions that contradict arithmetic. `anywhere`: standard deviation of the distance if
 * predictions are uninformative. Agreement adds no trust, because both count the same operations and bytes. */
double trust_contradicted(double trust, const struct contradiction *c, double anywhere);

/* Standard deviation of the slope from estimated to actual merits, or bytes, of an informative estimate. */
#define BELIEF_SLOPE_DEVIATION 0.25

#define TIME_ANYWHERE 2.0   /* standard deviation of ln(seconds) if predictions are uninformative */
#define MEMORY_ANYWHERE 1.0 /* of ln(bytes) */

/* --- slopes --- */

/* The slope of measured merits (search/surrogate.h) over predicted ones, by least squares with a prior of 1 ± 0.5.
 * `spread` is the standard deviation of the predictions' errors, half of
 * whose variance is the level. Predictions that rank badly lose weight; inverted ones get a negative slope. 1 without a
 * run. */
double time_belief_slope(const double *predicted, const double *merits, size_t count, double spread);

/* --- what is left ---
 *
 * Whether something better than the best is left: the rule that ends a search, after Wilson, "Stopping Bayesian
 * Optimization with Probabilistic Regret Bounds" (NeurIPS 2024). Candidates are drawn jointly: similar ones are better
 * or worse together, and which of them run out of memory depends on a single limit. */

/* A candidate's merit minus the merit to beat, in one view of the predictions. */
struct left_expectation {
    double mean, deviation; /* without measurement noise */
};

/* Probability that it is above 0. */
double left_above_alone(const struct left_expectation *x);

struct candidates_left {
    size_t count;
    const struct left_expectation *believed, *doubted;
    double trust;              /* probability of the first view */
    size_t freedom;            /* degrees of freedom of the spread that all candidates share (Student's distribution) */
    const double *failure;     /* probabilities */
    const double *correlation; /* count × count */
};

/* Probability that any of the candidates runs and is above 0, from draws that are the same each time; at 5 %, the
 * sampling error is 0.7 percentage points. Each draw is in one view, and a candidate runs only if all that are less
 * likely to fail run, too. */
double better_left(const struct candidates_left *c);

/* --- what runs ---
 *
 * Whether a running job can still become the best of its group, from the steps that it has reported.
 *
 * Sign test: if its median beat the incumbent, each of n counted steps would do so with probability at least 1/2, so
 * that at most b of them do so with probability at most Σ_{i ≤ b} C(n, i) / 2^n. The job is beaten if this is no more
 * than its share of 1 - confidence. Look k at a job has the share 1 / (k·(k + 1)), so all looks together are wrong with
 * probability at most 1 - confidence, whatever the distribution of step values, as long as later steps are like the
 * counted ones. */

struct race {
    double incumbent; /* to beat */
    bool maximise;
    double confidence; /* 0.5 … 1 */
    size_t look;       /* at this job, from 1 */
};

/* `values`: counted steps, without warm-up. */
bool race_is_lost(const struct race *race, const double *values, size_t count);

/* --- layouts ---
 *
 * Estimates of a parallel layout by arithmetic, without knowledge of framework, device or network. A search uses them
 * if it has no predictions, or if outcomes contradict them. Only ratios between layouts of one model are meaningful. */

struct layout {
    double devices, devices_per_host;
    double dp, tp, cp, pp, virtual_stages;
    double micro_batch, micro_batches;
    double seq, layers, hidden, vocab;
    double zero_stage;
    double recomputed; /* share of the forward pass */
};

/* By the INPUT_COUNT inputs of predictions; a number that is not known becomes one that has no effect. */
struct layout layout_of(const struct input_value *given, double devices);

/* Seconds of a step, in units of one operation of a device, and peak bytes.
 *
 * Time is the sum of matrix products, kernel launches, reads of weights (once per micro-batch), tensor-parallel and
 * data-parallel collectives and the gathering of shards, times 1 + (pp - 1) / (vpp · micro-batches), the bubble of 1F1B
 * (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021). Memory is 16 bytes per
 * parameter, less what ZeRO shards (Rajbhandari et al., SC 2020), plus the activations of the micro-batches in flight
 * (Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023). Ratios of compute
 * to memory and link bandwidth come from datasheets (belief.c). */
double layout_seconds(const struct layout *l);
double layout_bytes(const struct layout *l);
