/* How far predictions can be trusted, from outcomes alone. Pure. */
#ifndef MESHSWEEP_BELIEF_BELIEF_H
#define MESHSWEEP_BELIEF_BELIEF_H

#include <stddef.h>

#include "predict/calibration.h"

/* --- memory --- */

/* Probability that predicted bytes tell which jobs run out of memory; MEMORY_TRUST before any outcome. If they do, the
 * ln of the outcomes' likelihood is `log_predicted` (belief/memory_limit.h with the prediction as the need); if not, it
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
 * the error of the prediction; how well predictions rank is left to belief/regression.h. Depends on the set of runs
 * only. */
double time_belief_trust(const struct compared_time *runs, size_t count);

/* --- before any outcome --- */

/* ln of the predictions for some candidates, and ln of what arithmetic gives (belief/layout_estimate.h). */
struct two_claims {
    const double *predicted, *arithmetic; /* NAN: no prediction */
    const size_t *group;                  /* only differences within a group count */
    size_t count, group_count;
};

/* `distance`: by how much predictions miss the arithmetic for a candidate one standard deviation from the middle. It is
 * 0 if the two are perfectly correlated or either is constant, and twice as large if predictions are inverted than if
 * they are unrelated. `deviation`: the distance to expect if both are about right, from the slope of each and from what
 * arithmetic does not know of a candidate. */
struct contradiction {
    double distance, deviation;
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

struct time_slope {
    double slope, middle;
};

/* Measured merits (search/surrogate.h) against predicted ones: merit = level + slope · (predicted - middle), by least
 * squares with a prior slope of `trust` ± 0.5. `spread` is the standard deviation of the predictions' errors, half of
 * whose variance is the level. Predictions that rank badly lose weight; inverted ones get a negative slope. 1 without a
 * run. */
struct time_slope time_belief_slope(const double *predicted, const double *merits, size_t count, double trust,
                                    double spread);

#endif
