/* What measured merits (search/surrogate.h) say under one view of the predictions: Gaussian-process regression with an
 * uncertain slope (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, sections 2.2 and 2.7).
 *
 *   merit = level + slope · (predicted - middle) + spread · process + noise
 *
 * `middle` is the median of what was predicted, `level` that of what is left. The slope is normal around that of the
 * view, and generalised least squares find it; the variance, of which `spread` is the root, has an inverse gamma prior
 * that counts as three runs, and takes the generalised square of what is left. With both integrated out the evidence of
 * the view is Student's density of the runs: views are compared by it. A run that is far slower than its view says is
 * taken for broken and not for slower still. How far each run lies from what the others alone would have said of it,
 * over how far it was expected to (section 5.4.2), is the calibration of what is said of others: the root of the mean
 * square over all runs but the first, which sets the level, and one more that is as expected. Depends on the set of
 * runs only. Pure. */
#ifndef MESHSWEEP_BELIEF_REGRESSION_H
#define MESHSWEEP_BELIEF_REGRESSION_H

#include <stddef.h>

#define REGRESSION_NOISE 0.05 /* of a measurement, relative: repeats of a step time differ by that */

struct regression_runs {
    size_t count;
    const double *predicted, *merits;
};

struct regression_view {
    double slope, slope_deviation; /* before any run */
    double spread;                 /* standard deviation of what the slope leaves over, before any run */
    const double *covariance;      /* of the process between runs, count × count, 1 on the diagonal */
};

struct explained {
    double slope, slope_variance, middle, level, spread;
    size_t freedom;      /* degrees of it that the spread was estimated with, the prior's included */
    double calibration;  /* by how much deviations are to be multiplied */
    double log_evidence; /* 0 without a run */
    double *weights;     /* by run: what is left over at a candidate is Σ weight · covariance. explained_free */
};

void regression_explain(const struct regression_runs *runs, const struct regression_view *view, struct explained *out);
void explained_free(struct explained *r);

#endif
