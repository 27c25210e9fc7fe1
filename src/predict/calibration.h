/* Weights of a prediction's terms from measurements, and what to make of the measurements.
 *
 * With terms x_i and a measured y_i for run i, prior weights w0 and w = w0·c, the weights minimise
 *
 *   Σ_i u_i·((x_i·w - y_i) / y_i)² + λ·Σ_j (c_j - 1)²,   c ≥ 0,   λ = (noise / spread)²
 *
 * a ridge towards the prior in relative terms: noise is the relative error of a measurement that the model
 * cannot explain, spread how far a prior weight is expected to be off. A weight that is 0 stays 0. From
 * ROBUST_FROM measurements on, u_i = 1 / max(0.02, |relative error|), renewed a few times. The problem is
 * convex with at most CALIBRATION_TERMS unknowns: cyclic coordinate descent on the normal equations, some
 * tens of microseconds.
 *
 * Under CALIBRATION_LEAST measurements the prior stays: one or two points make it worse more often than
 * better.
 *
 * Runs that ended out of memory are censored: all that is known is y ≥ the device's bytes. One that is
 * predicted below enters with y = 1.02 · those and half a weight; one predicted above says nothing new. A run
 * that fitted without a measured number is the same from above, y = 0.98 · those. Pure. */
#ifndef MESHSWEEP_PREDICT_CALIBRATION_H
#define MESHSWEEP_PREDICT_CALIBRATION_H

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
    OBSERVATION_AT_LEAST,     /* out of memory: y is what was there */
    OBSERVATION_AT_MOST,      /* fitted, without a number: y is what was there */
};

struct observation {
    double terms[CALIBRATION_TERMS];
    double y;
    enum observation_kind kind;
};

struct calibration_prior {
    size_t terms; /* how many are used */
    double weights[CALIBRATION_TERMS];
    double noise, spread;
    double sigma;        /* of ln(measured / predicted), before any measurement */
    double broken_ratio; /* a measurement above this times the prediction is a broken run; 0: none is */
};

struct calibration {
    double weights[CALIBRATION_TERMS];
    double sigma;    /* from the residuals and the prior's, the floor is 0.02 */
    double interval; /* 90 % of ln(measured / predicted) lie within ± this; sigma's until
                        CALIBRATION_INTERVAL_FROM measurements, their quantile afterwards */
    size_t measured; /* that were used */
    size_t broken;
    size_t censored; /* that were used */
    bool from_prior; /* too few measurements */
};

/* `broken`, when not NULL, has `count` entries that are set for runs taken as broken and left out: measured
 * more than broken_ratio times slower than the prior predicts (where more than half of the runs are slower
 * than predicted, than their median). -1 (ERROR_USAGE), outputs untouched, when a term, a weight or a y is
 * not finite or negative, or y, noise or spread is 0. */
int calibrate(const struct calibration_prior *prior, const struct observation *observations, size_t count, bool *broken,
              struct calibration *out, struct error *e);

/* The prior of a framework's memory and of its time, with broken runs at twice the prediction for time. */
struct calibration_prior calibration_of_memory(const struct memory_coefficients *c);
struct calibration_prior calibration_of_time(const struct time_coefficients *c);

/* Puts calibrated weights and sigma into a copy of the row, to predict with. Its spread becomes what weights
 * differ by from one cluster to the next, so that it can be the prior of a nearer calibration: default row,
 * then device type, then cluster. */
void calibration_apply_memory(const struct calibration *fit, struct memory_coefficients *c);
void calibration_apply_time(const struct calibration *fit, struct time_coefficients *c);

#endif
