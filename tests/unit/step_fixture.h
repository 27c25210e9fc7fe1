/* Predicted steps of a GPT on A100s, for tests. */
#pragma once

#include "frameworks.h"
#include "predict/step_time.h"
#include "predict_fixture.h"
#include "unit_test.h"

#define GPT gpt(24, 2048, 16)
#define GPT_LAYER (12 * 2048.0 * 2048 + 13 * 2048)
#define GPT_HEAD (51200 * 2048.0)
#define GPT_PARAMETERS (24 * GPT_LAYER + GPT_HEAD)

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
    assert_true(step_predict(&a, &plan, &cluster, framework_find(framework), &s));
    return s;
}

static inline const struct cluster *a100(void)
{
    static struct cluster c;
    c = (struct cluster){.device = device_find(NULL, "A100-80GB")};
    return &c;
}

#define A100_WITH(...) ((struct cluster){.device = device_find(NULL, "A100-80GB"), __VA_ARGS__})

static inline struct cluster on(const char *device)
{
    return (struct cluster){.device = device_find(NULL, device)};
}

/* A term of the prediction on A100s: of the GPT of 24 layers, or of another model. */
static inline double term_of(struct architecture a, struct training_plan plan, const char *framework, enum time_term t)
{
    return predict(a, plan, *a100(), framework).terms[t];
}

static inline double term(struct training_plan plan, const char *framework, enum time_term t)
{
    return term_of(GPT, plan, framework, t);
}

static inline double term_on(struct cluster cluster, struct training_plan plan, const char *framework, enum time_term t)
{
    return predict(GPT, plan, cluster, framework).terms[t];
}

/* Terms of the GPT's steps on A100s. STEP(framework, term, expected, .tensor = 2, …) is a case, named as it is written.
 */
struct step_case {
    const char *name, *framework;
    enum time_term term;
    double expected;
    struct training_plan plan;
};

#define STEP(framework, term, expected, ...)                                                                           \
    {                                                                                                                  \
        framework " " #term " of " #__VA_ARGS__, framework, term, expected, PLANNED(__VA_ARGS__)                       \
    }

/* A test of cases alone, within a tolerance. */
#define STEPS(name, tolerance, ...)                                                                                    \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        static const struct step_case cases[] = {__VA_ARGS__};                                                         \
        assert_steps(cases, LENGTH(cases), tolerance);                                                                 \
    }

static inline void assert_steps(const struct step_case *cases, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++) {
        double actual = term(cases[i].plan, cases[i].framework, cases[i].term);
        FAIL_WHERE(!(fabs(actual - cases[i].expected) <= tolerance * fabs(cases[i].expected)), "%s: %.9g, not %.9g",
                   cases[i].name, actual, cases[i].expected);
    }
}
