/* How far predictions are to be believed, by outcomes alone. Pure. */
#ifndef MESHSWEEP_BELIEF_BELIEF_H
#define MESHSWEEP_BELIEF_BELIEF_H

#include <stddef.h>

#include "predict/calibration.h"

/* --- of memory --- */

/* The probability that predicted bytes say which jobs run out of memory, MEMORY_TRUST before any outcome. Where they
 * do, what fitted and what did not is as probable as `log_predicted` says (ln; belief/memory_limit.h with what is
 * predicted as the need), where they do not as `log_otherwise`: with the need that arithmetic says. */
#define MEMORY_TRUST 0.9
double memory_belief_trust(double log_predicted, double log_otherwise);

/* --- of time --- */

#define TIME_TRUST 0.8

struct compared_time {
    double predicted, measured; /* seconds */
    double sigma;               /* of ln(measured / predicted), as the prediction says */
};

/* The probability that predictions say something; TIME_TRUST without a run. Where they do, the median of ln(measured /
 * predicted) is within their sigma, or the runs are among the few broken ones and slower; else it is anywhere within a
 * factor of e² (one standard deviation). It counts once, however many runs there are: what predictions are off by is
 * common to all of them, and how they rank is for belief/regression.h to say. Depends on the set of runs only. */
double time_belief_trust(const struct compared_time *runs, size_t count);

/* --- before any outcome --- */

/* What is predicted of some candidates and what arithmetic says of them (belief/layout_estimate.h), both ln. */
struct two_claims {
    const double *predicted, *arithmetic; /* NAN: nothing is predicted */
    const size_t *group;                  /* only differences within one count */
    size_t count, group_count;
};

/* By how much predictions miss what arithmetic says of a candidate one standard deviation from the middle: nothing
 * where they are correlated with it or it says nothing, twice as much where they are turned over. And what that misses
 * where both are about right: a slope each, and what arithmetic does not know of a candidate. */
struct contradiction {
    double distance, deviation;
};

/* `spread` is that of what arithmetic misses, one standard deviation. */
struct contradiction claims_compare(const struct two_claims *c, double spread);

/* `trust` in predictions that contradict arithmetic by so much, where such as say nothing are within `anywhere`.
 * Agreement adds no trust: both count the same operations and bytes. */
double trust_contradicted(double trust, const struct contradiction *c, double anywhere);

/* Standard deviation of the slope from what is expected to merits, or bytes, where it says something. */
#define BELIEF_SLOPE_DEVIATION 0.25

#define TIME_ANYWHERE 2.0   /* standard deviation of ln(seconds) where predictions say nothing */
#define MEMORY_ANYWHERE 1.0 /* of ln(bytes) */

/* --- of slopes --- */

struct time_slope {
    double slope, middle;
};

/* Merits (search/surrogate.h) over predicted ones: merit = level + slope · (predicted - middle), least squares from a
 * slope of `trust` ± 0.5 on. `spread` is that of what predictions miss; half of its variance is level. Predictions that
 * rank badly lose their weight; such as are turned over are turned back. 1 without a run. */
struct time_slope time_belief_slope(const double *predicted, const double *merits, size_t count, double trust,
                                    double spread);

#endif
