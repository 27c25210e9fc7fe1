/* Fits the weights of a prediction's terms to measurements.
 *
 * With terms x_i and a measured y_i for run i, prior weights w0 and w = w0·c, the weights minimise
 *
 *   Σ_i u_i·((x_i·w - y_i) / y_i)² + λ·Σ_j (c_j - 1)²,   c ≥ 0,   λ = (noise / spread)²
 *
 * This is a ridge towards the prior in relative terms: noise is the relative error of a measurement that the model
 * cannot explain, spread the expected relative error of a prior weight. A weight of 0 stays 0. From ROBUST_FROM
 * measurements on, u_i = 1 / max(0.02, |relative error|), recomputed a few times. The problem is convex with at most
 * CALIBRATION_TERMS unknowns and is solved by cyclic coordinate descent on the normal equations, in some tens of
 * microseconds.
 *
 * With fewer than CALIBRATION_LEAST measurements the prior stays: one or two points make it worse more often than
 * better.
 *
 * Runs that ran out of memory are censored: only y ≥ the device's bytes is known. If the prediction is below, such a
 * run enters with y = 1.02 · those bytes and half a weight; otherwise it adds nothing. Likewise, a run that fitted
 * without being measured has y ≤ those bytes, and enters with y = 0.98 · those bytes. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "predict/coefficients.h"
#include "util/error.h"

#define CALIBRATION_TERMS 16 /* at least MEMORY_TERM_COUNT and TIME_TERM_COUNT */
#define CALIBRATION_LEAST 3
#define CALIBRATION_ROBUST_FROM 12
#define CALIBRATION_INTERVAL_FROM 20

enum observation_kind {
    OBSERVATION_MEASURED = 1, /* y was measured */
    OBSERVATION_AT_LEAST,     /* out of memory: y is what was available */
    OBSERVATION_AT_MOST,      /* fitted, but was not measured: y is what was available */
};

struct observation {
    double terms[CALIBRATION_TERMS];
    double y;
    enum observation_kind kind;
};

struct calibration_prior {
    size_t terms; /* number in use */
    double weights[CALIBRATION_TERMS];
    double noise, spread;
    double sigma;        /* of ln(measured / predicted), before any measurement */
    double broken_ratio; /* a measurement above this times the prediction is a broken run; 0: no run is */
};

struct calibration {
    double weights[CALIBRATION_TERMS];
    double sigma;    /* from the residuals and the prior's sigma; at least 0.02 */
    double interval; /* 90 % of ln(measured / predicted) lie within ± this: from sigma below CALIBRATION_INTERVAL_FROM
                      * measurements, their quantile from then on */
    size_t measured; /* number used */
    size_t broken;
    size_t censored; /* number used */
    bool from_prior; /* too few measurements */
};

/* `broken`, unless NULL, has `count` entries, which are set for runs taken as broken and left out: measured more than
 * broken_ratio times slower than the prior predicts (or, if more than half of the runs are slower than predicted, than
 * their median). False, outputs untouched, if a term, weight or y is negative or not finite, or if y, noise or spread
 * is 0. */
bool calibrate(const struct calibration_prior *prior, const struct observation *observations, size_t count,
               bool *broken, struct calibration *out);

/* Priors of a framework's memory and time. For time, a run at twice the prediction is broken. */
struct calibration_prior calibration_of_memory(const struct memory_coefficients *c);
struct calibration_prior calibration_of_time(const struct time_coefficients *c);

/* Puts calibrated weights and sigma into a copy of the coefficients, to predict with. The spread becomes the difference
 * of weights between clusters, so that the result can be the prior of a more specific calibration: defaults, then
 * device type, then cluster. */
void calibration_apply_memory(const struct calibration *fit, struct memory_coefficients *c);
void calibration_apply_time(const struct calibration *fit, struct time_coefficients *c);
