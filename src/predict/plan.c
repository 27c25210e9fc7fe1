#include "predict/plan.h"

#include <math.h>
#include <stddef.h>

#include "predict/bounds.h"

#define WORLD_MOST 1e8

const char *const optimizer_names[OPTIMIZER_END] = {
    [OPTIMIZER_ADAM] = "adam", [OPTIMIZER_ADAM_8BIT] = "adam-8bit",       [OPTIMIZER_LION] = "lion",
    [OPTIMIZER_MUON] = "muon", [OPTIMIZER_SGD_MOMENTUM] = "sgd-momentum", [OPTIMIZER_SGD] = "sgd",
};

#define FIELD(name, least, most)                                                                             \
    {                                                                                                        \
#name, offsetof(struct training_plan, name), least, most                                             \
    }
static const struct bound integer_bounds[] = {
    FIELD(tensor, 0, 1e5),        FIELD(pipeline, 0, 1e5),      FIELD(virtual_stages, 0, 1e5),
    FIELD(data, 0, 1e7),          FIELD(context, 0, 1e5),       FIELD(expert, 0, 1e5),
    FIELD(expert_tensor, 0, 1e5), FIELD(zero_stage, 0, 3),      FIELD(shard_ranks, 0, 1e7),
    FIELD(micro_batch, 0, 1e6),   FIELD(micro_batches, 0, 1e6), FIELD(sequence, 0, 1e9),
};
#undef FIELD

static void fill(int64_t *field, int64_t value)
{
    if (*field == 0)
        *field = value;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void fill_defaults(struct training_plan *p, const struct architecture *a)
{
    int64_t *const degrees[] = {&p->tensor,  &p->pipeline, &p->virtual_stages, &p->data,
                                &p->context, &p->expert,   &p->micro_batch,    &p->micro_batches};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        fill(degrees[i], 1);
    if (a->family == ARCHITECTURE_VIT)
        fill(&p->sequence, (int64_t)architecture_image_tokens(a));
}

static int check_enums(const struct training_plan *p, struct error *e)
{
    if ((unsigned)p->schedule > SCHEDULE_INTERLEAVED || (unsigned)p->split > SPLIT_BY_COST ||
        (unsigned)p->recompute > RECOMPUTE_FULL || (unsigned)p->offload > OFFLOAD_PARAMETERS ||
        (unsigned)p->optimizer >= OPTIMIZER_END || (unsigned)p->precision > PRECISION_FP32)
        return error_set(e, ERROR_USAGE,
                         "a schedule, split, recompute, offload, optimizer or precision that is none");
    return 0;
}

static int check_experts(const struct training_plan *p, const struct architecture *a, struct error *e)
{
    if (p->expert > 1 && (a->experts == 0 || a->experts % p->expert != 0))
        return error_add_line(e, ERROR_USAGE, "expert = %lld ranks do not divide experts = %lld",
                              (long long)p->expert, (long long)a->experts);
    if ((double)p->expert * (double)p->expert_tensor * (double)p->pipeline > plan_world(p))
        return error_add_line(e, ERROR_USAGE, "expert · expert_tensor · pipeline exceed the world size %.0f",
                              plan_world(p));
    return 0;
}

static int check_fit(const struct training_plan *p, const struct architecture *a, struct error *e)
{
    int rc = 0;
    if ((double)p->pipeline * (double)p->virtual_stages > architecture_layers(a))
        rc = error_add_line(e, ERROR_USAGE, "pipeline · virtual_stages = %lld · %lld exceed the %.0f layers",
                            (long long)p->pipeline, (long long)p->virtual_stages, architecture_layers(a));
    if (p->sequence == 0)
        rc = error_add_line(e, ERROR_USAGE, "sequence is missing");
    if (plan_world(p) > WORLD_MOST)
        rc = error_add_line(e, ERROR_USAGE, "a world size of %.3g is more than the %.0e that can be meant",
                            plan_world(p), WORLD_MOST);
    if ((p->schedule == SCHEDULE_INTERLEAVED) != (p->virtual_stages > 1))
        rc = error_add_line(e, ERROR_USAGE, "virtual_stages = %lld does not go with the schedule",
                            (long long)p->virtual_stages);
    return rc | check_experts(p, a, e);
}

int plan_complete(struct training_plan *plan, const struct architecture *a, struct error *e)
{
    struct training_plan filled = *plan;
    if (bounds_check_integers(plan, integer_bounds, sizeof integer_bounds / sizeof *integer_bounds, e) ||
        check_enums(plan, e))
        return -1;
    fill_defaults(&filled, a);
    if (filled.expert_tensor == 0)
        filled.expert_tensor =
            smaller(filled.tensor, (int64_t)(plan_world(&filled) / (double)filled.pipeline) / filled.expert);
    fill(&filled.expert_tensor, 1);
    if (check_fit(&filled, a, e))
        return -1;
    *plan = filled;
    return 0;
}

double plan_world(const struct training_plan *plan)
{
    return (double)plan->tensor * (double)plan->context * (double)plan->pipeline * (double)plan->data;
}

double plan_tokens(const struct training_plan *plan)
{
    return (double)plan->micro_batch * (double)plan->sequence / (double)plan->context;
}

double plan_global_batch(const struct training_plan *plan)
{
    return (double)plan->micro_batch * (double)plan->micro_batches * (double)plan->data;
}

double plan_replicas(const struct training_plan *plan)
{
    return (double)plan->data * (double)plan->context;
}

double plan_expert_replicas(const struct training_plan *plan)
{
    return fmax(1, plan_world(plan) /
                       ((double)plan->expert_tensor * (double)plan->expert * (double)plan->pipeline));
}

double plan_shards(const struct training_plan *plan, double replicas)
{
    return plan->shard_ranks > 0 ? fmin((double)plan->shard_ranks, replicas) : replicas;
}

/* Cost of the whole in layers, for cutting by cost. */
static double cost_in_layers(const struct architecture *a)
{
    double h = (double)a->hidden, q = (double)a->heads * (double)a->head_dim;
    double layer = 4 * q * h + 3 * (double)a->ffn * h;
    return architecture_layers(a) + architecture_padded_vocab(a, 1) * h / layer;
}

/* The first layer of a stage when cut by cost. A stage whose share is less than a layer still gets one. */
static double first_layer(const struct training_plan *plan, const struct architecture *a, int64_t stage)
{
    double share = cost_in_layers(a) / (double)plan->pipeline;
    /* What divides evenly must not move over a rounding error. */
    double first = fmax((double)stage, ceil((double)stage * share - 1e-9));
    return fmin(first, architecture_layers(a));
}

double plan_stage_layers(const struct training_plan *plan, const struct architecture *a, int64_t stage)
{
    double layers = architecture_layers(a), p = (double)plan->pipeline;
    if (plan->split == SPLIT_UNIFORM) {
        double each = floor(layers / p);
        return each + ((double)stage < layers - each * p ? 1 : 0);
    }
    double end = stage + 1 < plan->pipeline ? first_layer(plan, a, stage + 1) : layers;
    return end - first_layer(plan, a, stage);
}

int64_t plan_head_stage(const struct training_plan *plan, const struct architecture *a)
{
    if (plan->split == SPLIT_UNIFORM)
        return plan->pipeline - 1;
    double share = cost_in_layers(a) / (double)plan->pipeline;
    return smaller(plan->pipeline - 1, (int64_t)floor(architecture_layers(a) / share + 1e-9));
}

double plan_in_flight(const struct training_plan *plan, int64_t stage)
{
    double p = (double)plan->pipeline, v = (double)plan->virtual_stages, m = (double)plan->micro_batches;
    double after = p - (double)stage;
    if (plan->schedule == SCHEDULE_GPIPE)
        return m;
    if (v > 1)
        return fmin(2 * (after - 1) + (v - 1) * p + 1, m * v) / v;
    return fmin(after, m);
}

double plan_bubble(const struct training_plan *plan)
{
    return ((double)plan->pipeline - 1) / ((double)plan->virtual_stages * (double)plan->micro_batches);
}
