/* Whether a plan runs out of device memory: a probability, and a verdict to act on.
 *
 * What is measured lies around what is predicted as ln(measured / predicted) ~ N(0, sigma²), so
 *
 *   P(out of memory) = Φ(ln(predicted / available) / sigma),  available = usable - reserve
 *
 * (usable: what the framework reports as the device's total; reserve: context and communicators, memory.h).
 *
 * The verdict compares the prediction with the usable bytes: up to OOM_SKIP_SHARE it fits, above
 * OOM_CERTAIN_SHARE it will not, between it is a risk: to be left for last, or tried only when it would be
 * fastest. On the ultra-scale table (tests/unit/test_predict_memory.c) skipping from OOM_SKIP_SHARE avoids 95
 * % of the failures and loses 2 % of the runs that fit. Pure. */
#ifndef MESHSWEEP_PREDICT_OOM_H
#define MESHSWEEP_PREDICT_OOM_H

#include "util/error.h"

#define OOM_SKIP_SHARE 0.90
#define OOM_CERTAIN_SHARE 1.10

enum oom_verdict { OOM_FITS = 1, OOM_RISK, OOM_CERTAIN };

extern const char *const oom_verdict_names[]; /* by verdict: "fits", "risk", "certain" */

/* -1 (ERROR_USAGE), `out` untouched, unless all are finite and positive and reserve (0 or more) is below
 * usable. */
int oom_probability(double predicted_bytes, double sigma, double usable_bytes, double reserve_bytes,
                    double *out, struct error *e);

/* OOM_CERTAIN for what is no number. */
enum oom_verdict oom_verdict(double predicted_bytes, double usable_bytes);

#endif
