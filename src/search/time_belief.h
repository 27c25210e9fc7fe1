/* How far predicted times are to be believed, by outcomes alone. Pure. */
#ifndef MESHSWEEP_SEARCH_TIME_BELIEF_H
#define MESHSWEEP_SEARCH_TIME_BELIEF_H

#include <stddef.h>

#define TIME_TRUST 0.9

struct compared_time {
    double predicted, measured; /* seconds */
    double sigma;               /* of ln(measured / predicted), as the prediction says */
};

/* The probability that predictions say something; TIME_TRUST without a run. Where they do, ln(measured / predicted) is
 * within their sigma, or the run is one of the few broken ones and slower; else it is anywhere within a factor of e²
 * (one standard deviation). Depends on the set of runs only. */
double time_belief_trust(const struct compared_time *runs, size_t count);

struct time_slope {
    double slope, middle;
};

/* Merits (search/surrogate.h) over predicted ones: merit = level + slope · (predicted - middle), least squares from a
 * slope of `trust` ± 0.5 on. `spread` is that of what predictions miss; half of its variance is level. Predictions that
 * rank badly lose their weight; such as are turned over are turned back. 1 without a run. */
struct time_slope time_belief_slope(const double *predicted, const double *merits, size_t count, double trust,
                                    double spread);

#endif
