/* The common parts of tests of predictions: a GPT, completed inputs, numbers that are close. */
#pragma once

#include "predict/plan.h"
#include "unit_test.h"

/* A plan with these members. */
#define PLAN(name, ...) struct training_plan name = PLANNED(__VA_ARGS__)
#define PLANNED(...) ((struct training_plan){__VA_ARGS__})
#define LORA(targets) .tuning = TUNING_LORA, .lora_rank = 8, .lora_targets = (targets)

/* The plan with members of another value: BUT(usual, it.data = 2, it.zero_stage = 3). */
#define BUT(plan, ...)                                                                                                 \
    ({                                                                                                                 \
        struct training_plan it = plan;                                                                                \
        __VA_ARGS__;                                                                                                   \
        it;                                                                                                            \
    })

static inline void assert_close(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g is not within %g of %.9g", actual, tolerance, expected);
}

static inline struct architecture shaped(enum architecture_family family, int64_t layers, int64_t hidden, int64_t heads,
                                         int64_t vocab)
{
    struct architecture a = architecture_of(family);
    a.layers = layers;
    a.hidden = hidden;
    a.heads = heads;
    a.vocab = vocab;
    return a;
}

static inline struct architecture gpt(int64_t layers, int64_t hidden, int64_t heads)
{
    return shaped(ARCHITECTURE_GPT, layers, hidden, heads, 51200);
}

static inline void set_experts(struct architecture *a, int64_t experts, int64_t of_token, int64_t ffn)
{
    a->experts = experts;
    a->experts_per_token = of_token;
    a->expert_ffn = ffn;
}

static inline void completed(struct architecture *a, struct training_plan *plan)
{
    FAIL_IF(architecture_complete(a, &e) || plan_complete(plan, a, &e));
}
