#include "predict/plan.h"

#include <math.h>
#include <stddef.h>

#include "predict/input_table.h"
#include "predict/layout.h"
#include "util/memory.h"

#define WORLD_MOST 1e8

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void fill_defaults(struct training_plan *p, const struct architecture *a)
{
    int64_t *const degrees[] = {&p->tensor,  &p->pipeline, &p->virtual_stages, &p->data,
                                &p->context, &p->expert,   &p->micro_batch,    &p->micro_batches};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        fill_integer(degrees[i], 1);
    if (p->padding_free && p->mean_tokens > p->sequence)
        p->sequence = p->mean_tokens;
    if (a->family == ARCHITECTURE_VIT)
        fill_integer(&p->sequence, (int64_t)architecture_image_tokens(a));
}

static int check_experts(const struct training_plan *p, const struct architecture *a, struct error *e)
{
    if (p->expert > 1 && a->experts == 0)
        return error_add_line(e, ERROR_USAGE, "ep = %lld needs a model with experts", (long long)p->expert);
    if (p->expert > 1 && a->experts % p->expert != 0)
        return error_add_line(e, ERROR_USAGE, "ep = %lld does not divide experts = %lld", (long long)p->expert,
                              (long long)a->experts);
    if ((double)p->expert * (double)p->expert_tensor * (double)p->pipeline > plan_world(p))
        return error_add_line(e, ERROR_USAGE, "expert · expert_tensor · pipeline exceed the world size %.0f",
                              plan_world(p));
    return 0;
}

static int check_layout(const struct training_plan *p, const struct architecture *a, struct error *e)
{
    struct pipeline_layout layout;
    const int64_t at_ends = p->first_layers + p->last_layers;
    if ((double)at_ends > architecture_layers(a))
        return error_add_line(e, ERROR_USAGE, "the first and the last stage have %lld layers, but the model has %.0f",
                              (long long)at_ends, architecture_layers(a));
    if (!p->layout)
        return 0;
    if (!layout_read(p->layout, &layout))
        return error_add_line(e, ERROR_USAGE, "pipeline_layout = '%s' is not a layout", p->layout);
    if ((double)layout.layers != architecture_layers(a) || layout.parts % p->pipeline != 0)
        return error_add_line(e, ERROR_USAGE, "pipeline_layout has %lld layers in %lld parts, not %.0f in %lld stages",
                              (long long)layout.layers, (long long)layout.parts, architecture_layers(a),
                              (long long)p->pipeline);
    return 0;
}

static int check_recompute(const struct training_plan *p, const struct architecture *a, struct error *e)
{
    int rc = 0;
    if (p->recompute == RECOMPUTE_OPERATIONS && architecture_is_hybrid(a))
        rc = error_add_line(e, ERROR_USAGE, "selective recomputation by operation is not known for hybrid stacks");
    if ((p->recompute_layers > 0 || p->recompute_every > 0) && p->recompute == RECOMPUTE_NONE)
        rc = error_add_line(e, ERROR_USAGE, "recompute_layers and recompute_every need recompute");
    if (p->recompute_layers > 0 && p->recompute != RECOMPUTE_FULL && p->recompute != RECOMPUTE_NONE)
        rc = error_add_line(e, ERROR_USAGE, "recompute_layers needs recompute = full");
    if (p->recompute_layers > 0 && p->recompute_every > 0)
        rc = error_add_line(e, ERROR_USAGE, "recompute_layers and recompute_every cannot be combined");
    if (p->overlap_expert && p->expert == 1)
        rc = error_add_line(e, ERROR_USAGE, "overlap_ep needs ep above 1");
    return rc;
}

static int check_adapters(const struct training_plan *p, const struct architecture *a, struct error *e)
{
    int rc = 0;
    if (p->lora_targets == 0)
        rc = error_add_line(e, ERROR_USAGE, "adapters need lora_targets, the modules to which they are added");
    if (p->lora_rank == 0)
        rc = error_add_line(e, ERROR_USAGE, "adapters need lora_rank");
    if (a->kv_lora_rank > 0 && (p->lora_targets & (TARGETS_OF_ATTENTION | TARGET_QKV)))
        rc = error_add_line(e, ERROR_USAGE, "adapters on latent attention are not supported");
    if (p->frozen_layers > 0)
        rc = error_add_line(e, ERROR_USAGE, "frozen_layers has no effect, because adapters freeze all layers");
    if (architecture_is_hybrid(a))
        rc = error_add_line(e, ERROR_USAGE, "adapters on hybrid stacks are not supported");
    if (p->recompute == RECOMPUTE_OPERATIONS || p->modules)
        rc = error_add_line(e, ERROR_USAGE, "selective recomputation by operation or module is not known for adapters");
    return rc;
}

/* Refuses keys that would have no effect without another. */
static int check_tuning(const struct training_plan *p, const struct architecture *a, struct error *e)
{
    int rc = 0;
    if (p->tuning != TUNING_FULL)
        rc = check_adapters(p, a, e);
    else if (p->quantization != QUANTIZATION_NONE || p->kbit_preparation)
        rc = error_add_line(e, ERROR_USAGE,
                            "quantization and kbit_preparation need peft = lora, qlora or the like, because quantized "
                            "weights are not trained");
    if ((double)p->frozen_layers > architecture_layers(a))
        rc = error_add_line(e, ERROR_USAGE, "frozen_layers = %lld is more than layers = %.0f",
                            (long long)p->frozen_layers, architecture_layers(a));
    if (p->mean_tokens > 0 && !p->padding_free)
        rc = error_add_line(e, ERROR_USAGE,
                            "mean_tokens, the average number of tokens in a sequence, needs padding_free");
    if (p->decoder_sequence > 0 && a->family != ARCHITECTURE_T5)
        rc = error_add_line(e, ERROR_USAGE, "decoder_seq is only for t5");
    return rc;
}

static int check_fit(const struct training_plan *p, const struct architecture *a, struct error *e)
{
    int rc = 0;
    double parts = architecture_layers(a) + (double)a->mtp_layers + 2; /* the embedding and the head may stand alone */
    if ((double)p->pipeline > architecture_layers(a) || (double)p->pipeline * (double)p->virtual_stages > parts)
        rc = error_add_line(e, ERROR_USAGE, "pipeline · virtual_stages = %lld · %lld exceed the %.0f layers",
                            (long long)p->pipeline, (long long)p->virtual_stages, architecture_layers(a));
    if (p->sequence == 0)
        rc = error_add_line(e, ERROR_USAGE, "sequence is missing");
    if (plan_world(p) > WORLD_MOST)
        rc = error_add_line(e, ERROR_USAGE, "a world size of %.3g is more than the plausible maximum of %.0e",
                            plan_world(p), WORLD_MOST);
    if ((p->schedule == SCHEDULE_INTERLEAVED) != (p->virtual_stages > 1))
        rc = error_add_line(e, ERROR_USAGE, "virtual_stages = %lld cannot be used with this schedule",
                            (long long)p->virtual_stages);
    return rc | check_layout(p, a, e) | check_experts(p, a, e) | check_tuning(p, a, e) | check_recompute(p, a, e);
}

static bool is_uneven(const struct training_plan *plan)
{
    return plan->layout || plan->first_layers > 0 || plan->last_layers > 0 || plan->count_embedding || plan->count_head;
}

int plan_complete(struct training_plan *plan, const struct architecture *a, struct error *e)
{
    struct training_plan filled = *plan;
    if (inputs_check(TO_PLAN, plan, e))
        return -1;
    fill_defaults(&filled, a);
    if (filled.expert_tensor == 0)
        filled.expert_tensor =
            smaller(filled.tensor, (int64_t)(plan_world(&filled) / (double)filled.pipeline) / filled.expert);
    fill_integer(&filled.expert_tensor, 1);
    filled.is_uneven = is_uneven(&filled);
    if (check_fit(&filled, a, e))
        return -1;
    *plan = filled;
    return 0;
}

double plan_decoder_share(const struct training_plan *plan)
{
    return plan->decoder_sequence > 0 ? (double)plan->decoder_sequence / (double)plan->sequence : 1;
}

double plan_layer_share(const struct training_plan *plan, const struct architecture *a)
{
    double decoder = plan_decoder_share(plan) * (double)a->decoder_layers;
    return ((double)a->layers + decoder) / architecture_layers(a);
}

double plan_attention_blocks(const struct training_plan *plan, const struct architecture *a)
{
    double share = plan_decoder_share(plan), decoder = (share + (1 + share) / 2) * (double)a->decoder_layers;
    return ((double)(a->attention_layers - a->decoder_layers) + decoder) / architecture_layers(a);
}

double plan_global_batch(const struct training_plan *plan)
{
    return (double)plan->micro_batch * (double)plan->micro_batches * (double)plan->data;
}

double plan_expert_replicas(const struct training_plan *plan)
{
    return fmax(1, plan_world(plan) / ((double)plan->expert_tensor * (double)plan->expert * (double)plan->pipeline));
}

double plan_shards(const struct training_plan *plan, double replicas)
{
    return plan->shard_ranks > 0 ? fmin((double)plan->shard_ranks, replicas) : replicas;
}

/* Cost of the whole model in layers, for SPLIT_BY_COST. */
static double cost_in_layers(const struct architecture *a)
{
    double h = (double)a->hidden, q = (double)a->heads * (double)a->head_dim;
    double layer = 4 * q * h + 3 * (double)a->ffn * h;
    return architecture_layers(a) + architecture_padded_vocab(a, 1) * h / layer;
}

/* The first layer of a stage under SPLIT_BY_COST. A stage whose share is less than a layer still gets one. */
static double first_layer(const struct training_plan *plan, const struct architecture *a, int64_t stage)
{
    double share = cost_in_layers(a) / (double)plan->pipeline;
    /* A rounding error must not move an even division. */
    double first = fmax((double)stage, ceil((double)stage * share - 1e-9));
    return fmin(first, architecture_layers(a));
}

/* Stage k has the parts k, k + p, … */
static double layers_of_layout(const struct training_plan *plan, int64_t stage)
{
    struct pipeline_layout layout;
    double sum = 0;
    if (layout_read(plan->layout, &layout))
        for (int64_t part = stage; part < layout.parts; part += plan->pipeline)
            sum += layout.layers_of[part];
    return sum;
}

static double layers_between(const struct training_plan *plan, double layers, int64_t stage)
{
    double first = (double)plan->first_layers, last = (double)plan->last_layers;
    double middle = (double)plan->pipeline - (first > 0) - (last > 0);
    if (stage == 0 && first > 0)
        return first;
    if (stage + 1 == plan->pipeline && last > 0)
        return last;
    return (layers - first - last) / fmax(1, middle);
}

static double uneven_layers(const struct training_plan *plan, double layers, int64_t stage)
{
    bool is_last = stage + 1 == plan->pipeline;
    if (plan->layout)
        return layers_of_layout(plan, stage);
    if (plan->first_layers > 0 || plan->last_layers > 0)
        return layers_between(plan, layers, stage);
    double each = (layers + plan->count_embedding + plan->count_head) / (double)plan->pipeline;
    return fmax(0, each - (stage == 0 && plan->count_embedding) - (is_last && plan->count_head));
}

double plan_stage_layers(const struct training_plan *plan, const struct architecture *a, int64_t stage)
{
    double layers = architecture_layers(a);
    if (plan->split == SPLIT_UNIFORM && plan->is_uneven)
        return uneven_layers(plan, layers, stage);
    if (plan->split == SPLIT_UNIFORM) {
        int64_t all = a->layers + a->decoder_layers, each = all / plan->pipeline;
        return (double)(each + (stage < all - each * plan->pipeline));
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

double plan_recompute_share(const struct training_plan *plan, double layers)
{
    if (plan->recompute_every > 1 && layers > 0)
        return floor(layers / (double)plan->recompute_every) / layers;
    if (plan->recompute_layers > 0 && plan->recompute_method == RECOMPUTE_BLOCK && layers > 0)
        return fmin(1, (double)(plan->recompute_layers * plan->virtual_stages) / layers);
    return 1;
}

double plan_in_flight(const struct training_plan *plan, int64_t stage)
{
    double p = (double)plan->pipeline, v = (double)plan->virtual_stages, m = (double)plan->micro_batches;
    double after = p - (double)stage;
    if (plan->schedule == SCHEDULE_GPIPE)
        return m;
    if (plan->schedule == SCHEDULE_ZB_V || plan->schedule == SCHEDULE_DUALPIPE_V)
        return fmin(p + (plan->schedule == SCHEDULE_DUALPIPE_V ? 0.5 : 0), m);
    if (v > 1)
        return fmin(2 * (after - 1) + (v - 1) * p + 1, m * v) / v;
    return fmin(after, m);
}

double plan_waiting_share(const struct training_plan *plan)
{
    static const double shares[SCHEDULE_END] = {[SCHEDULE_1F1B] = 1,
                                                [SCHEDULE_GPIPE] = 1,
                                                [SCHEDULE_INTERLEAVED] = 1,
                                                [SCHEDULE_ZB_H1] = 1.0 / 3,
                                                [SCHEDULE_DUALPIPE_V] = 1.0 / 3};
    return shares[plan->schedule];
}
