#include "predict/features.h"

#include <math.h>

/* Whether tensor groups span several nodes or link domains. */
static bool is_spread(const struct subject *s, const struct device *device)
{
    double domain = s->link_domain > 0 || !device ? s->link_domain : (double)device->link_domain;
    return (double)s->plan.tensor > fmax(domain, s->devices_per_node);
}

feature_set features_of_plan(const struct subject *s, const struct device *device)
{
    const struct architecture *a = &s->architecture;
    const struct training_plan *plan = &s->plan;
    const bool has[PLAN_FEATURES] = {
        [FEATURE_FAMILY] = a->family != ARCHITECTURE_GPT && a->family != ARCHITECTURE_LLAMA,
        [FEATURE_EXPERTS] = a->experts > 0,
        [FEATURE_MIXERS] = a->mixer_layers > 0,
        [FEATURE_CONTEXT] = plan->context > 1,
        [FEATURE_OFFLOAD] = plan->offload != OFFLOAD_NONE || plan->offload_layers > 0,
        [FEATURE_MTP] = a->mtp_layers > 0,
        [FEATURE_FP8] = plan->precision == PRECISION_FP8,
        [FEATURE_FP4] = plan->precision == PRECISION_FP4,
        [FEATURE_SCHEDULE] = plan->schedule > SCHEDULE_INTERLEAVED,
        [FEATURE_ADAPTERS] = plan->tuning != TUNING_FULL,
        [FEATURE_DEVICE] = device && !device->measured,
        [FEATURE_SPREAD] = is_spread(s, device),
    };
    feature_set features = 0;
    for (int f = FEATURE_PLAIN + 1; f < PLAN_FEATURES; f++)
        features |= has[f] ? 1U << f : 0;
    return features;
}
