#include "predict/flops.h"

#include <math.h>

#include "predict/layer_memory.h"
#include "predict/mixer.h"
#include "predict/tuning.h"

#define NEWTON_SCHULZ 5.0 /* iterations */

static double latent_weights(const struct architecture *a)
{
    double h = (double)a->hidden, q = (double)a->q_lora_rank, c = (double)a->kv_lora_rank;
    double queries = architecture_query_width(a), values = architecture_value_width(a);
    return (q > 0 ? q * (h + queries) : h * queries) + h * (c + (double)a->qk_rope_dim) +
           c * ((double)a->heads * (double)a->head_dim + values) + values * h;
}

/* Weights of the layers' matrices that one token passes, without norms and biases. */
static double matrix_weights(const struct architecture *a, const struct training_plan *plan)
{
    double h = (double)a->hidden, mlp_matrices = a->gated_mlp ? 3 : 2;
    double q = (double)a->heads * (double)a->head_dim, kv = (double)a->kv_heads * (double)a->head_dim;
    double layers = architecture_layers(a), attention = (a->attention_gate ? 3 : 2) * h * q + 2 * h * kv;
    if (architecture_is_latent(a))
        attention = latent_weights(a);
    double routed = (double)a->experts_per_token * (double)a->expert_ffn * architecture_expert_input(a);
    double sparse = mlp_matrices * (routed + h * (double)a->shared_ffn) +
                    h * (double)(a->experts + a->shared_gate + 2 * a->expert_latent);
    double mlp =
        (double)a->mlp_layers * mlp_matrices * h * (double)a->ffn + layers * architecture_sparse_share(a) * sparse;
    double mixers = a->mixer_layers > 0 ? (double)a->mixer_layers * mixer_matrices(a) : 0;
    return layers * plan_attention_blocks(plan, a) * attention + plan_layer_share(plan, a) * mlp + mixers;
}

/* The part of these that belongs to routed experts. */
static double routed_weights(const struct architecture *a, const struct training_plan *plan)
{
    double experts = (double)a->experts_per_token * (double)a->expert_ffn * architecture_expert_input(a);
    double unit = a->gated_mlp ? 3 : 2;
    return plan_layer_share(plan, a) * architecture_layers(a) * architecture_sparse_share(a) * unit * experts;
}

/* The part of these in modules that selective recompute repeats. */
static double recomputed_weights(const struct architecture *a, const struct training_plan *plan)
{
    double h = (double)a->hidden, unit = a->gated_mlp ? 3 : 2, layers = architecture_layers(a);
    bool moe = layer_drops(plan, MODULE_MOE);
    double routed = (double)a->experts_per_token * unit * (double)a->expert_ffn * architecture_expert_input(a) +
                    h * (double)(a->experts + a->shared_gate + 2 * a->expert_latent);
    double shared = unit * h * (double)a->shared_ffn;
    double sparse = (moe ? routed : 0) + (moe || layer_drops(plan, MODULE_SHARED_EXPERTS) ? shared : 0);
    double dense = layer_drops(plan, MODULE_MLP) ? (double)a->mlp_layers * unit * h * (double)a->ffn : 0;
    double up = (a->q_lora_rank > 0 ? (double)a->q_lora_rank * architecture_query_width(a) : 0) +
                (double)a->kv_lora_rank * ((double)a->heads * (double)a->head_dim + architecture_value_width(a));
    bool has_up = architecture_is_latent(a) && layer_drops(plan, MODULE_MLA_UP_PROJ);
    return plan_layer_share(plan, a) * (dense + layers * architecture_sparse_share(a) * sparse) +
           (has_up ? layers * plan_attention_blocks(plan, a) * up : 0);
}

/* Attention blocks; those with a causal mask count half if the convention says so. */
static double counted_blocks(const struct architecture *a, const struct training_plan *plan,
                             enum attention_convention convention)
{
    double masked = convention == ATTENTION_CAUSAL ? 0.5 : 1, share = plan_decoder_share(plan);
    switch (a->family) {
    case ARCHITECTURE_T5: /* an encoder block; a masked and a cross block in the decoder */
        return (double)a->layers + (double)a->decoder_layers * share * (masked * share + 1);
    case ARCHITECTURE_BERT:
    case ARCHITECTURE_VIT:
        return (double)a->layers;
    default:
        return (double)a->attention_layers * masked;
    }
}

/* Share of the scores that a model without windows or chunks has. */
static double seen_share(const struct architecture *a, const struct training_plan *plan)
{
    double s = (double)plan->sequence, w = fmin(1, (double)a->window / s), seen = w * (2 - w);
    if (a->chunk > 0) {
        double whole = floor(s / (double)a->chunk), rest = s - whole * (double)a->chunk;
        seen = (whole * (double)a->chunk * (double)a->chunk + rest * rest) / (s * s);
    }
    return 1 - (double)a->window_layers / (double)a->attention_layers * (1 - seen);
}

static double head_flops(const struct architecture *a, const struct training_plan *plan)
{
    double h = (double)a->hidden;
    if (!architecture_predicts_words(a))
        return 2 * h * (double)a->classes / (double)plan->sequence;
    double transform = a->family == ARCHITECTURE_BERT && a->mlm_head ? 2 * h * h : 0;
    return plan_decoder_share(plan) * 2 * h * architecture_padded_vocab(a, plan->tensor) + transform;
}

/* Multi-token prediction of a hybrid stack, whose layers differ from the average. */
static void add_mtp_stacks(const struct architecture *a, const struct training_plan *plan,
                           enum attention_convention convention, struct token_flops *out)
{
    struct architecture stack;
    struct token_flops depth;
    double mtp = (double)a->mtp_layers, h = (double)a->hidden;
    architecture_mtp_stack(a, &stack);
    flops_per_token(&stack, plan, convention, &depth);
    out->matrices += mtp * (depth.matrices + 4 * h * h);
    out->routed += mtp * depth.routed;
    out->attention += mtp * depth.attention;
    out->scan += mtp * depth.scan;
}

void flops_per_token(const struct architecture *a, const struct training_plan *plan,
                     enum attention_convention convention, struct token_flops *out)
{
    double widths = architecture_query_width(a) + architecture_value_width(a), h = (double)a->hidden;
    double depths = (double)a->mtp_layers, mtp = architecture_is_hybrid(a) ? 0 : depths;
    double further = 1 + mtp / architecture_layers(a);
    double blocks = counted_blocks(a, plan, convention);
    if ((a->window > 0 || a->chunk > 0) && convention != ATTENTION_SQUARE)
        blocks *= seen_share(a, plan);
    if (plan->packed_tokens > 0 && convention == ATTENTION_CAUSAL)
        blocks *= fmin(1, (double)plan->packed_tokens / (double)plan->sequence);
    *out = (struct token_flops){
        .matrices = 2 * (further * matrix_weights(a, plan) + mtp * 2 * h * h),
        .routed = 2 * further * routed_weights(a, plan),
        .attention = 2 * (double)plan->sequence * widths * further * blocks,
        .scan = a->mixer_layers > 0 ? (double)a->mixer_layers * mixer_scan_flops(a) : 0,
        .head = (1 + depths) * head_flops(a, plan),
    };
    if (depths > mtp)
        add_mtp_stacks(a, plan, convention, out);
}

void flops_recomputed(const struct architecture *a, const struct training_plan *plan,
                      enum attention_convention convention, struct token_flops *out)
{
    struct token_flops token;
    flops_per_token(a, plan, convention, &token);
    *out = (struct token_flops){.matrices = 0};
    if (plan->recompute == RECOMPUTE_FULL) {
        *out = token;
        out->head = 0;
    } else if (plan->recompute == RECOMPUTE_SELECTIVE) {
        double mtp = architecture_is_hybrid(a) ? 0 : (double)a->mtp_layers;
        out->matrices = 2 * (1 + mtp / architecture_layers(a)) * recomputed_weights(a, plan);
        out->routed = layer_drops(plan, MODULE_MOE) ? token.routed : 0;
        out->attention = layer_drops_scores(plan) ? token.attention : 0;
    }
}

static double frozen_share(const struct architecture *a, const struct training_plan *plan)
{
    return (double)plan->frozen_layers / architecture_layers(a);
}

/* Forward and backward, per token. */
static double trained_flops(const struct architecture *a, const struct training_plan *plan,
                            const struct token_flops *token)
{
    if (plan->tuning != TUNING_FULL)
        return 2 * token->matrices + 3 * token->attention + (plan->saved_modules & SAVED_HEAD ? 3 : 2) * token->head +
               6 * tuning_passed(a, plan);
    double layers = token->matrices + token->attention + token->scan, all = 3 * (layers + token->head);
    return plan->frozen_layers == 0 ? all : all - 2 * layers * frozen_share(a, plan);
}

double flops_per_step(const struct architecture *a, const struct training_plan *plan)
{
    struct token_flops token;
    flops_per_token(a, plan, ATTENTION_FULL, &token);
    return plan_global_batch(plan) * (double)plan->sequence * trained_flops(a, plan, &token);
}

double flops_peak_seconds(const struct architecture *a, const struct training_plan *plan, double peak_flops)
{
    return flops_per_step(a, plan) / (plan_world(plan) * peak_flops);
}

/* Of `weights` in matrices of `rows` by `columns`. */
static double orthogonalised(double weights, double rows, double columns)
{
    double m = fmin(rows, columns), n = fmax(rows, columns);
    return NEWTON_SCHULZ * weights * (4 * m + 2 * m * m / n);
}

double flops_orthogonalised(const struct architecture *a, const struct training_plan *plan)
{
    struct layer_parameters layer;
    architecture_layer(a, &layer);
    double h = (double)a->hidden, kv = (double)a->kv_heads * (double)a->head_dim;
    double narrow = architecture_is_latent(a) ? 0 : 2 * h * kv * layer.attention_blocks;
    double dense = orthogonalised(layer.attention - narrow, h, h) + orthogonalised(narrow, h, kv) +
                   orthogonalised(layer.mlp, h, (double)a->ffn);
    double experts = orthogonalised(layer.experts, architecture_expert_input(a), (double)a->expert_ffn);
    return dense / (double)plan->tensor + experts / ((double)plan->expert_tensor * (double)plan->expert);
}
