#include "predict/layer_memory.h"

#include <math.h>

#include "predict/mixer.h"

#define EAGER_NORMS 8.0       /* as in hf-trainer.toml */
#define EAGER_CAST_BYTES 35.0 /* per number and cast: layer_memory.h */

double layer_outer_degree(const struct training_plan *plan)
{
    return plan->sequence_parallel ? (double)plan->tensor : 1;
}

double layer_checkpoint_degree(const struct training_plan *plan)
{
    return plan->divided_checkpoints ? (double)plan->tensor : layer_outer_degree(plan);
}

double layer_score_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double share = plan_decoder_share(plan), decoder = share * (share + 1) * (double)a->decoder_layers;
    double heads =
        (double)a->heads * ((double)(a->attention_layers - a->decoder_layers) + decoder) / architecture_layers(a);
    return (a->dropout ? 5 : 2) * heads * (double)plan->sequence / (double)plan->tensor;
}

bool layer_drops(const struct training_plan *plan, enum recompute_module module)
{
    return plan->recompute == RECOMPUTE_SELECTIVE && (plan->modules & (unsigned)module) != 0;
}

bool layer_drops_scores(const struct training_plan *plan)
{
    return plan->recompute == RECOMPUTE_SELECTIVE && (plan->modules == 0 || layer_drops(plan, MODULE_CORE_ATTN));
}

bool layer_is_narrow(const struct training_plan *plan)
{
    return plan->precision == PRECISION_FP8 || plan->precision == PRECISION_FP4;
}

double layer_imbalance(const struct training_plan *plan, const struct memory_coefficients *c)
{
    return plan->balanced_experts || plan->expert <= 1 ? 1 : c->expert_imbalance;
}

double layer_share_in_bf16(const struct architecture *a, const struct training_plan *plan)
{
    return layer_is_narrow(plan) ? fmin(1, (double)plan->bf16_layers / architecture_layers(a)) : 0;
}

#define COMPILED_MLP 6 /* both products, and what the last one reads, but not the activation */

/* Kept of an MLP of width 1: its output before and after the activation, in 16 bits; the latter, which is what a matrix
 * product reads, in 8 where these are computed so. Liger's kernels compute an activation again, too: ops/swiglu.py. */
static double mlp_unit(const struct architecture *a, const struct training_plan *plan,
                       const struct memory_coefficients *c)
{
    bool again = plan->compiled || (plan->loss == LOSS_LINEAR && plan->norms == NORMS_FUSED);
    double unit = a->gated_mlp ? again ? fmin(COMPILED_MLP, c->gated_mlp_bytes) : c->gated_mlp_bytes : 4;
    return layer_is_narrow(plan) ? unit - 1 : unit;
}

/* Bytes per token of a layer's MLP or experts, on average over the layers. */
static double mlp_bytes(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *c)
{
    double unit = mlp_unit(a, plan, c), t = (double)plan->tensor, h = (double)a->hidden;
    double o = layer_outer_degree(plan), et = (double)plan->expert_tensor;
    double outputs = a->gated_mlp ? 4 : 2; /* bytes per output of the first products, in 16 bits */
    double dense = (layer_drops(plan, MODULE_MLP)       ? 0
                    : layer_drops(plan, MODULE_MLP_ACT) ? outputs
                                                        : unit) *
                   (double)a->ffn / t;
    if (a->experts == 0)
        return architecture_mlp_share(a) * dense;
    double latent = architecture_expert_input(a), sparse = architecture_sparse_share(a);
    double k = (double)a->experts_per_token * layer_imbalance(plan, c), f = (double)a->expert_ffn;
    double activation = layer_drops(plan, MODULE_MOE_ACT) ? 2 * k * f : 0;
    double input = layer_is_narrow(plan) ? 1 : 2; /* what the first product of an expert reads */
    double gathered = o > 1 ? et : 1;             /* without sequence parallelism every rank has every token anyway */
    double routed = k * (input * latent * gathered + unit * f) + 2 * latent * (double)a->experts_per_token -
                    activation + 4 * (double)a->expert_latent;
    double shared = layer_drops(plan, MODULE_SHARED_EXPERTS) ? 0 : unit * (double)a->shared_ffn / t;
    double experts = layer_drops(plan, MODULE_MOE) ? 2 * h / o : routed / o + shared;
    return architecture_mlp_share(a) * dense + sparse * experts;
}

/* Bytes per token of latent attention: compressed queries, keys and values, then those of all heads and the output. */
static double latent_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double t = (double)plan->tensor, queries = architecture_query_width(a), values = architecture_value_width(a);
    double ranks = 4 * (double)(a->q_lora_rank + a->kv_lora_rank) + 2 * (double)a->qk_rope_dim;
    double heads = 4 * queries + 4 * values - (layer_drops(plan, MODULE_MLA_UP_PROJ) ? 4 * queries + 2 * values : 0);
    return ranks / layer_outer_degree(plan) + heads / t;
}

static double attention_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double t = (double)plan->tensor, output = architecture_value_width(a) / t;
    double narrow = layer_is_narrow(plan) ? output : 0; /* an 8-bit copy besides the attention kernel's output */
    if (architecture_is_latent(a))
        return latent_bytes(a, plan) + narrow;
    double unit = a->qk_norm == QK_NORM_NONE ? 4 : 6;
    double gate = a->attention_gate ? 4 * output : 0; /* before and after it */
    return gate + unit * (double)(a->heads + a->kv_heads) * (double)a->head_dim / t + narrow;
}

/* Bytes per token of a layer's mixer, on average over the layers. */
static double mixer_bytes(const struct architecture *a, const struct training_plan *plan,
                          double (*bytes)(const struct architecture *a))
{
    return a->mixer_layers > 0 ? architecture_mixer_share(a) * bytes(a) / (double)plan->tensor : 0;
}

double layer_weight_bytes(const struct training_plan *plan, const struct memory_coefficients *c)
{
    if (c->master == 0 && plan->weights != WEIGHTS_FRAMEWORK)
        return plan->weights == WEIGHTS_FP32 ? 4 : 2;
    return plan_is_fp32(plan) ? fmax(4, c->parameter) : c->parameter;
}

bool layer_autocasts(const struct training_plan *plan, const struct memory_coefficients *c)
{
    return c->autocast != 0 && !plan_is_fp32(plan) && plan->zero_stage < 2 && layer_weight_bytes(plan, c) == 4;
}

double layer_norm_bytes(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *c)
{
    bool fused = !a->rms_norm || plan->norms == NORMS_FUSED || plan->compiled;
    double of_two = plan->norms == NORMS_EAGER && c->norm_bytes == 0 ? EAGER_NORMS : c->norm_bytes;
    return fused ? 0 : of_two / 2 * (double)a->norms_per_layer;
}

/* Per token and hidden unit, of the norms of a layer of which `read` are read by products. */
static double autocast_bytes(const struct architecture *a, const struct training_plan *plan,
                             const struct memory_coefficients *c, double read)
{
    double second = a->family == ARCHITECTURE_GPT ? 0 : 2; /* q, k and v are products of their own of one input */
    return layer_autocasts(plan, c) ? 2 * read + 2 * (second + (a->gated_mlp ? 1 : 0)) : 0;
}

/* Bytes per token of a layer, without its scores. */
static double layer_bytes(const struct architecture *a, const struct training_plan *plan,
                          const struct memory_coefficients *c)
{
    double h = (double)a->hidden, mask = a->dropout ? 1 : 0;
    double layers = plan_layer_share(plan, a), blocks = plan_attention_blocks(plan, a);
    double third = plan_decoder_share(plan) * (double)a->decoder_layers / architecture_layers(a);
    double blocks_read = a->parallel_blocks || a->norms_per_layer < 2 ? 1 : 2;
    double read = a->parallel_blocks ? 1 : blocks_read * layers + third; /* norms whose output a matrix product reads */
    bool drops = layer_drops(plan, MODULE_LAYERNORM);
    double norms = 4 - (layer_is_narrow(plan) ? 1 : 0) - (drops ? 2 : 0);
    double further = 2 * ((double)a->norms_per_layer - blocks_read);
    further += drops ? 0 : layer_norm_bytes(a, plan, c);
    further += autocast_bytes(a, plan, c, read);
    double gathered =
        plan->keeps_gathered ? (layer_is_narrow(plan) ? 1 : 2) * read * h * (1 - 1 / layer_outer_degree(plan)) : 0;
    return gathered + (read * (norms + mask) + layers * further) * h / layer_outer_degree(plan) +
           blocks * attention_bytes(a, plan) + layers * mlp_bytes(a, plan, c) + mixer_bytes(a, plan, mixer_kept_bytes);
}

double layer_activation_scale(const struct training_plan *plan)
{
    return plan_tokens(plan) * (plan_is_fp32(plan) ? 2 : 1);
}

double layer_memory_set(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *coefficients)
{
    double scores = plan->flash_attention ? 0 : layer_score_bytes(a, plan);
    scores += mixer_bytes(a, plan, mixer_passing_bytes);
    if (plan->modules == 0 && !layer_is_narrow(plan))
        return layer_activation_scale(plan) * (layer_bytes(a, plan, coefficients) + scores);
    struct training_plan whole = *plan;
    whole.modules = 0;
    if (layer_is_narrow(plan))
        whole.precision = PRECISION_BF16; /* the 16-bit values exist while the layer is computed */
    return layer_activation_scale(plan) * (layer_bytes(a, &whole, coefficients) + scores);
}

double layer_row_gradients(const struct memory_coefficients *c)
{
    return c->wide_rows != 0 ? 2 + 2 + 3 * 4 : 0;
}

/* While an activation goes backward there are gradients of what the MLP's last product read, of it and, if it is gated,
 * of its two factors, but no more what that product read. Of experts, if more, the first of these and the output's, or
 * what the weighting of their output leaves. */
double layer_memory_passing(const struct architecture *a, const struct training_plan *plan,
                            const struct memory_coefficients *c)
{
    double gradients = a->gated_mlp ? 4 : 2, sparse = architecture_sparse_share(a), f = (double)a->expert_ffn;
    double dense = architecture_mlp_share(a) * (double)a->ffn + sparse * (double)a->shared_ffn;
    double rows = sparse * (double)a->experts_per_token * layer_imbalance(plan, c) / layer_outer_degree(plan);
    double output = architecture_expert_input(a);
    double expert = fmax(gradients * f, fmax(2 * f + 2 * output, layer_row_gradients(c) * output));
    return layer_activation_scale(plan) *
           (plan_layer_share(plan, a) * gradients * dense / (double)plan->tensor + rows * expert);
}

/* Numbers per token of latent attention that products read or give gradients of, but for what norms give. */
static double latent_casts(const struct architecture *a)
{
    double compressed = (double)(a->q_lora_rank + a->kv_lora_rank + a->qk_rope_dim);
    double queries = architecture_query_width(a), values = architecture_value_width(a);
    return compressed + queries + (double)a->heads * (double)a->head_dim + 2 * values + (double)a->hidden;
}

/* Sums over all products of a layer, on average: widths of matrices, and the hidden state for each block's last.
 * Experts read what no norm of theirs gave. */
static double cast_numbers(const struct architecture *a, const struct training_plan *plan)
{
    double h = (double)a->hidden, unit = a->gated_mlp ? 3 : 2;
    double heads = (a->attention_gate ? 3.0 : 2.0) * (double)a->heads + 2 * (double)a->kv_heads;
    double attention = architecture_is_latent(a) ? latent_casts(a) : heads * (double)a->head_dim + h;
    double routed = (double)a->experts_per_token * (unit * (double)a->expert_ffn + 2 * architecture_expert_input(a));
    double shared = a->shared_ffn > 0 ? unit * (double)a->shared_ffn + h : 0;
    double mixer = a->mixer_layers > 0 ? architecture_mixer_share(a) * (mixer_matrices(a) / h + h) : 0;
    return plan_attention_blocks(plan, a) * attention + mixer +
           plan_layer_share(plan, a) * (architecture_mlp_share(a) * (unit * (double)a->ffn + h) +
                                        architecture_sparse_share(a) * (routed + shared));
}

double layer_cast_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double width = (plan->precision == PRECISION_FP4 ? 0.5 : 1) * (plan->tuning == TUNING_FULL ? 2 : 1);
    if (!layer_is_narrow(plan))
        return 0;
    return (1 - layer_share_in_bf16(a, plan)) * plan_tokens(plan) * (2 + width) * cast_numbers(a, plan) /
           (double)plan->tensor;
}

double layer_eager_cast_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double norms = 5 * (double)a->hidden * plan_layer_share(plan, a); /* of queries, keys, values, gate and up */
    struct layer_parameters layer;
    architecture_layer(a, &layer);
    double weights = layer.attention + layer.mlp;
    return 2 * EAGER_CAST_BYTES * (plan_tokens(plan) * (cast_numbers(a, plan) + norms) + weights) /
           (double)plan->tensor;
}

/* Kept by torch's selective checkpointing by operations: inputs of the layer and its norms, and every second product.
 */
static double operation_bytes(const struct architecture *a, const struct training_plan *plan)
{
    double kv = (double)a->kv_heads * (double)a->head_dim, t = (double)plan->tensor;
    return 8 * (double)a->hidden / layer_outer_degree(plan) + (2 * kv + 2 * (double)a->ffn) / t;
}

/* Returns what layers keep where all are in the plan's precision. */
static double kept_alike(const struct architecture *a, const struct training_plan *plan,
                         const struct memory_coefficients *coefficients)
{
    if (plan->recompute == RECOMPUTE_FULL)
        return layer_activation_scale(plan) * plan_layer_share(plan, a) *
               (layer_autocasts(plan, coefficients) ? 4 : 2) * (double)a->hidden / layer_checkpoint_degree(plan);
    if (plan->recompute == RECOMPUTE_OPERATIONS)
        return layer_activation_scale(plan) * plan_layer_share(plan, a) * operation_bytes(a, plan);
    double scores = plan->flash_attention || layer_drops_scores(plan) ? 0 : layer_score_bytes(a, plan);
    return layer_activation_scale(plan) * (layer_bytes(a, plan, coefficients) + scores);
}

double layer_memory_kept(const struct architecture *a, const struct training_plan *plan,
                         const struct memory_coefficients *coefficients)
{
    double wide = layer_share_in_bf16(a, plan);
    if (wide == 0)
        return kept_alike(a, plan, coefficients);
    struct training_plan bf16 = *plan;
    bf16.precision = PRECISION_BF16;
    return wide * kept_alike(a, &bf16, coefficients) + (1 - wide) * kept_alike(a, plan, coefficients);
}
