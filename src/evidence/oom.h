/* Whether a plan runs out of device memory: a probability, and a verdict to act on.
 *
 * What is measured lies around what is predicted as ln(measured / predicted) ~ N(0, sigma²), so
 *
 *   P(out of memory) = Φ(ln(predicted / available) / sigma),  available = usable - reserve
 *
 * (usable: what the framework reports as the device's total; reserve: context and communicators, memory.h).
 *
 * The verdict (predictor.h) compares the prediction with the usable bytes: up to OOM_RISK_SHARE it fits, above
 * OOM_CERTAIN_SHARE it is excluded, between it is a risk: to be left for last, or tried only when it would be fastest.
 * Pure.
 *
 * OOM_RISK_SHARE: of 454 runs on A100 and H100 none whose estimate was below 80 % ran out of memory (arXiv 2411.06465).
 * OOM_CERTAIN_SHARE: between that and all there is. It is not what suits the rows that it is measured on best: leaving
 * out each group of the ultra-scale runs (model, devices), the others lead to shares from 0.88 to 0.93, which do as
 * well on what was left out (tests/unit/test_predict_memory.c). */
#ifndef MESHSWEEP_EVIDENCE_OOM_H
#define MESHSWEEP_EVIDENCE_OOM_H

#include "util/error.h"

#define OOM_RISK_SHARE 0.80
#define OOM_CERTAIN_SHARE 0.90

enum oom_verdict { OOM_FITS = 1, OOM_RISK, OOM_CERTAIN };

extern const char *const oom_verdict_names[]; /* by verdict: "fits", "risk", "certain" */

/* -1 (ERROR_USAGE), `out` untouched, unless all are finite and positive and reserve (0 or more) is below
 * usable. */
int oom_probability(double predicted_bytes, double sigma, double usable_bytes, double reserve_bytes, double *out,
                    struct error *e);

#endif
