/* What measured merits (search/surrogate.h) say under one view of the predictions: Gaussian-process regression with an
 * uncertain slope (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, sections 2.2 and 2.7).
 *
 *   merit = level + slope · (predicted - middle) + spread · process + noise
 *
 * `middle` is the median prediction, `level` the median of what the slope leaves. The slope has a normal prior around
 * the view's and is fitted by generalised least squares. The variance, spread², has an inverse gamma prior worth three
 * runs and is fitted to the generalised square of the residuals. With both integrated out, the evidence of a view is
 * the density of the runs under Student's distribution; it serves to compare views. A run far slower than its view
 * expects is taken to be broken, and its residual is capped. `calibration` compares each run's distance from what the
 * other runs predict with the expected distance (section 5.4.2): the root mean square over all runs but the first,
 * which sets the level, and one more that is exactly as expected. Depends on the set of runs only. Pure. */
#ifndef MESHSWEEP_BELIEF_REGRESSION_H
#define MESHSWEEP_BELIEF_REGRESSION_H

#include <stddef.h>

#define REGRESSION_NOISE 0.05 /* relative noise of a measurement: repeats of a step time differ by this */

struct regression_runs {
    size_t count;
    const double *predicted, *merits;
};

struct regression_view {
    double slope, slope_deviation; /* before any run */
    double spread;                 /* standard deviation of the residual, before any run */
    const double *covariance;      /* of the process between runs, count × count, 1 on the diagonal */
};

struct explained {
    double slope, slope_variance, middle, level, spread;
    size_t freedom;      /* degrees of freedom of the spread, the prior's included */
    double calibration;  /* factor for deviations */
    double log_evidence; /* 0 without a run */
    double *weights;     /* by run; the residual at a candidate is Σ weight · covariance. Free with explained_free */
};

void regression_explain(const struct regression_runs *runs, const struct regression_view *view, struct explained *out);
void explained_free(struct explained *r);

#endif
