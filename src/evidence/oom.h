/* Whether a plan runs out of device memory: a probability, and a verdict to act on.
 *
 * The error is ln(measured / predicted) ~ N(0, sigma²), so
 *
 *   P(out of memory) = Φ(ln(predicted / available) / sigma),  available = usable - reserve
 *
 * (usable: the device's total as the framework reports it; reserve: context and communicators, memory.h).
 *
 * The verdict (predictor.h) compares the prediction with the usable bytes: up to OOM_RISK_SHARE it fits, above
 * OOM_CERTAIN_SHARE it is excluded. In between it is a risk: run it last, or only if it would be the fastest. Pure.
 *
 * OOM_RISK_SHARE: of 454 runs on A100 and H100, none whose estimate was below 80 % ran out of memory (arXiv
 * 2411.06465). OOM_CERTAIN_SHARE: midway between that and everything. It is not the optimum on the rows it is measured
 * on: leaving out each group of the ultra-scale runs (model, devices) in turn, the others give shares from 0.88 to
 * 0.93, which do as well on the group left out (tests/unit/test_predict_memory.c). */
#ifndef MESHSWEEP_EVIDENCE_OOM_H
#define MESHSWEEP_EVIDENCE_OOM_H

#include "util/error.h"

#define OOM_RISK_SHARE 0.80
#define OOM_CERTAIN_SHARE 0.90

enum oom_verdict { OOM_FITS = 1, OOM_RISK, OOM_CERTAIN };

extern const char *const oom_verdict_names[]; /* by verdict: "fits", "risk", "certain" */

/* -1 (ERROR_USAGE), `out` untouched, unless all are finite and positive, and reserve (0 or more) is below usable. */
int oom_probability(double predicted_bytes, double sigma, double usable_bytes, double reserve_bytes, double *out,
                    struct error *e);

#endif
