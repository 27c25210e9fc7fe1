/* Memory of a configuration over its micro-batch, as far as measurements and predictions say: a straight line.
 *
 *   bytes(m) = bytes of an anchor + slope · (m - micro-batch of the anchor)
 *
 * Anchor: a measured run of the same memory class; else one of the same group, moved by what is predicted between the
 * two classes; else the prediction. Slope: through two measured runs of the class; else the predicted one, corrected by
 * the most that the slope of another class was found to be of its own prediction. Pure. */
#ifndef MESHSWEEP_SEARCH_MEMORY_ESTIMATE_H
#define MESHSWEEP_SEARCH_MEMORY_ESTIMATE_H

#include "search/families.h"

struct memory_estimate {
    double micro_batch, bytes, slope; /* NAN: not known */
};

struct memory_estimate memory_estimate_of(const struct families *f, const struct search *s, size_t family);

/* NAN where the line is not known. */
double memory_estimate_bytes(const struct memory_estimate *l, double micro_batch);

/* Bytes of a device that a run of the group may take: what predictions hold to be usable, no more than what the lines
 * say of runs that ran out of it, and no less than what was measured. NAN: not known. */
double memory_estimate_usable(const struct families *f, const struct search *s, size_t group);

#endif
