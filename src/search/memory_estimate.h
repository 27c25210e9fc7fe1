/* Memory of a configuration as a straight line over its micro-batch, from measurements and predictions:
 *
 *   bytes(m) = bytes of an anchor + slope · (m - micro-batch of the anchor)
 *
 * The anchor is a measured run of the same memory class; or else one of the same group, shifted by the predicted
 * difference between the two classes; or else the prediction. The slope goes through two measured runs of the class; or
 * else it is the predicted one, multiplied by the largest ratio of measured to predicted slope seen in the group. Pure.
 */
#ifndef MESHSWEEP_SEARCH_MEMORY_ESTIMATE_H
#define MESHSWEEP_SEARCH_MEMORY_ESTIMATE_H

#include "search/state.h"

struct memory_estimate {
    double micro_batch, bytes, slope; /* NAN: not known */
};

struct memory_estimate memory_estimate_of(const struct families *f, const struct search *s, size_t family);

/* NAN if the line is not known. */
double memory_estimate_bytes(const struct memory_estimate *l, double micro_batch);

/* Bytes of a device that a run of the group may use: predicted to be usable, but no more than the lines give for runs
 * that ran out of memory, and no less than any run was measured to use. NAN: not known. */
double memory_estimate_usable(const struct families *f, const struct search *s, size_t group);

#endif
