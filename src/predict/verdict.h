/* Whether a plan fits into the device's memory: the verdict that pruning acts on, and its probability.
 *
 * A verdict compares the predicted memory with a share of the device's. The shares (OOM_RISK_SHARE and
 * OOM_CERTAIN_SHARE, or those of the file) are meant for a prediction with a sigma of VERDICT_SIGMA. The limit of a
 * better one lies nearer to all that torch can use: (share / all)^(sigma / VERDICT_SIGMA) of that. A worse one must
 * not exclude what fits. Its limit rises with sigma until, from 0.2 on, a run that takes OOM_RISK_SHARE of the memory
 * is excluded only if it is mispredicted by 1.96 standard deviations, as one run in forty is.
 *
 * Model states are counted, not estimated, so sigma describes only the rest. If the rest is less than half of the
 * memory, sigma is multiplied by twice its share. (Nine in ten of nanotron's runs were off by at most 37 % if hardly
 * any of their memory was states, 20 % if half of it was, and 4 % if nearly all was.)
 *
 * Some frameworks' recipes recompute although no key says so (struct memory_coefficients, recipes). Then the least that
 * the plan may need is compared as well, and a plan that fits only with recompute is a risk. Some frameworks' releases
 * differ in what they keep, and no key says which (may_keep_gathered). Then the interval spans both, and a plan that
 * fits only with the smaller of the two is a risk. The probability is the mean over what the plan may need. */
#ifndef MESHSWEEP_PREDICT_VERDICT_H
#define MESHSWEEP_PREDICT_VERDICT_H

#include "predict/predictor.h"

#define VERDICT_SIGMA 0.12

/* Who asks: a plan on a cluster, with the coefficients and the shares that hold for it. */
struct verdict_case {
    const struct subject *subject;
    const struct cluster *cluster;
    const struct framework *framework;
    double certain, risky;
};

/* What must fit, and how many of its bytes are model states. */
struct memory_need {
    double bytes, states;
};

/* Widens the interval of `out->memory` to what a release that keeps gathered inputs needs, and returns that need; what
 * is predicted, if keys say which it is or releases do not differ. */
struct memory_need verdict_widen(const struct verdict_case *c, struct prediction *out);

/* From `out->memory` and `out->usable_bytes` (above 0): the verdict and, if one can be computed, the probability.
 * `other` is from verdict_widen. What is only held in fragments is given back as far as there is no room for it. */
void verdict_reach(const struct verdict_case *c, const struct memory_need *other, struct prediction *out);

/* Sets what the most loaded rank needs; its interval keeps its width. */
void verdict_set_bytes(struct memory_prediction *m, double bytes);

#endif
