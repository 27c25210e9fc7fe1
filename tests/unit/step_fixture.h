/* Predicted steps of a GPT on A100s, for tests. */
#pragma once

#include "frameworks.h"
#include "predict/step_time.h"
#include "predict_fixture.h"
#include "unit_test.h"

static inline void all_completed(struct architecture *a, struct training_plan *plan, struct cluster *cluster)
{
    completed(a, plan);
    FAIL_IF(cluster_complete(cluster, &e));
}

static inline struct step_prediction predict(struct architecture a, struct training_plan plan, struct cluster cluster,
                                             const char *framework)
{
    struct step_prediction s;
    all_completed(&a, &plan, &cluster);
    FAIL_IF(step_predict(&a, &plan, &cluster, framework_find(framework), &s, &e));
    return s;
}

static inline const struct cluster *a100(void)
{
    static struct cluster c;
    c = (struct cluster){.device = device_find(NULL, "A100-80GB")};
    return &c;
}

static inline struct cluster on(const char *device)
{
    return (struct cluster){.device = device_find(NULL, device)};
}

/* A term of the prediction on A100s: of a GPT of 24 layers, or of another model. */
static inline double term_of(struct architecture a, struct training_plan plan, const char *framework, enum time_term t)
{
    return predict(a, plan, *a100(), framework).terms[t];
}

static inline double term(struct training_plan plan, const char *framework, enum time_term t)
{
    return term_of(gpt(24, 2048, 16), plan, framework, t);
}
