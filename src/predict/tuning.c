#include "predict/tuning.h"

#include <math.h>
#include <stddef.h>

#include "predict/layer_memory.h"
#include "util/memory.h"

#define ADAPTER_FP32 4.0

/* A module that can have adapters. */
struct target_module {
    unsigned bit;
    double in, out;
    bool by_rows; /* tensor parallelism cuts it along its input */
};

static void attention_modules(const struct architecture *a, struct target_module out[5])
{
    double h = (double)a->hidden, q = (double)a->heads * (double)a->head_dim;
    double kv = (double)a->kv_heads * (double)a->head_dim;
    out[0] = (struct target_module){TARGET_Q, h, q, false};
    out[1] = (struct target_module){TARGET_K, h, kv, false};
    out[2] = (struct target_module){TARGET_V, h, kv, false};
    out[3] = (struct target_module){TARGET_QKV, h, q + 2 * kv, false};
    out[4] = (struct target_module){TARGET_O, q, h, true};
}

/* Without gating, the gate has width 0. */
static void mlp_modules(const struct architecture *a, double width, struct target_module out[4])
{
    double h = (double)a->hidden, gate = a->gated_mlp ? width : 0;
    out[0] = (struct target_module){TARGET_GATE, gate > 0 ? h : 0, gate, false};
    out[1] = (struct target_module){TARGET_UP, h, width, false};
    out[2] = (struct target_module){TARGET_GATE_UP, h, width + gate, false};
    out[3] = (struct target_module){TARGET_DOWN, width, h, true};
}

static double adapter_size(const struct training_plan *plan, const struct target_module *m, double tensor)
{
    double r = (double)plan->lora_rank, in = m->by_rows ? m->in / tensor : m->in;
    double out = m->by_rows ? m->out : m->out / tensor;
    if (m->out == 0)
        return 0;
    switch (plan->tuning) {
    case TUNING_DORA:
        return r * (in + out) + out;
    case TUNING_ADALORA:
        return r * (in + out + 1);
    case TUNING_IA3:
        return m->bit == TARGET_DOWN ? in : out;
    case TUNING_OFT:
        return in * (r - 1) / 2;
    case TUNING_VERA:
        return r + out;
    default:
        return r * (in + out);
    }
}

static double sum_of(const struct training_plan *plan, const struct target_module *modules, size_t count, double tensor)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (plan->lora_targets & modules[i].bit)
            sum += adapter_size(plan, &modules[i], tensor);
    return sum;
}

static double mlp_adapters(const struct architecture *a, const struct training_plan *plan, double width, double tensor)
{
    struct target_module modules[4];
    if (width == 0)
        return 0;
    mlp_modules(a, width, modules);
    return sum_of(plan, modules, LENGTH(modules), tensor);
}

static double attention_blocks(const struct architecture *a)
{
    return (architecture_layers(a) + (double)a->decoder_layers) / architecture_layers(a);
}

/* With `blocks` attention blocks and `mlps` MLPs per layer. */
static void adapters_of(const struct architecture *a, const struct training_plan *plan, double blocks, double mlps,
                        struct layer_adapters *out)
{
    struct target_module attention[5];
    double t = (double)plan->tensor, sparse = architecture_sparse_share(a);
    *out = (struct layer_adapters){0};
    if (plan->tuning == TUNING_FULL)
        return;
    attention_modules(a, attention);
    out->dense = blocks * sum_of(plan, attention, LENGTH(attention), t) +
                 mlps * (1 - sparse) * mlp_adapters(a, plan, (double)a->ffn, t) +
                 sparse * mlp_adapters(a, plan, (double)a->shared_ffn, t);
    out->experts = sparse * (double)a->experts / (double)plan->expert *
                   mlp_adapters(a, plan, (double)a->expert_ffn, (double)plan->expert_tensor);
    for (unsigned bit = TARGET_Q; bit < TARGET_HEAD; bit <<= 1)
        out->modules += (plan->lora_targets & bit) != 0;
}

void tuning_adapters(const struct architecture *a, const struct training_plan *plan, struct layer_adapters *out)
{
    adapters_of(a, plan, attention_blocks(a), 1, out);
}

double tuning_head_adapter(const struct architecture *a, const struct training_plan *plan)
{
    const struct target_module head = {TARGET_HEAD, (double)a->hidden, architecture_padded_vocab(a, plan->tensor),
                                       false};
    return plan->tuning == TUNING_FULL ? 0 : sum_of(plan, &head, 1, (double)plan->tensor);
}

double tuning_saved(const struct architecture *a, const struct training_plan *plan, bool has_embedding, bool has_head)
{
    double matrix = architecture_padded_vocab(a, plan->tensor) * (double)a->hidden / (double)plan->tensor;
    bool embedding = has_embedding && (plan->saved_modules & SAVED_EMBEDDING);
    bool head = has_head && (plan->saved_modules & SAVED_HEAD) && !(embedding && a->tied_embeddings);
    return plan->tuning == TUNING_FULL ? 0 : (embedding + head) * matrix;
}

static double frozen_parameters(const struct architecture *a, const struct training_plan *plan)
{
    struct layer_parameters l;
    if (plan->frozen_layers == 0)
        return 0;
    architecture_layer(a, &l);
    return (double)plan->frozen_layers * (l.attention + l.mlp + l.experts + l.router + l.norms) +
           (double)a->vocab * (double)a->hidden;
}

double tuning_trainable(const struct architecture *a, const struct training_plan *plan, double parameters)
{
    struct layer_adapters adapters;
    struct training_plan one = *plan;
    if (plan->tuning == TUNING_FULL)
        return parameters - frozen_parameters(a, plan);
    one.tensor = one.expert = one.expert_tensor = 1;
    tuning_adapters(a, &one, &adapters);
    return architecture_layers(a) * (adapters.dense + adapters.experts) + tuning_head_adapter(a, &one) +
           tuning_saved(a, &one, true, true);
}

double tuning_passed(const struct architecture *a, const struct training_plan *plan)
{
    struct layer_adapters adapters;
    struct training_plan one = *plan;
    one.tensor = one.expert = one.expert_tensor = 1;
    adapters_of(a, &one, plan_attention_blocks(plan, a), plan_layer_share(plan, a), &adapters);
    double routed = a->experts > 0 ? (double)a->experts_per_token / (double)a->experts : 0;
    return architecture_layers(a) * (adapters.dense + routed * adapters.experts) +
           plan_decoder_share(plan) * tuning_head_adapter(a, &one);
}

double tuning_weight_bytes(const struct training_plan *plan)
{
    static const double bytes[QUANTIZATION_END] = {[QUANTIZATION_NF4] = 0.5 + 4.0 / 64,
                                                   [QUANTIZATION_NF4_DOUBLE] = 0.5 + 1.0 / 64 + 4.0 / 16384,
                                                   [QUANTIZATION_GPTQ] = 0.5 + 2.5 / 128,
                                                   [QUANTIZATION_INT8] = 1,
                                                   [QUANTIZATION_FP8] = 1,
                                                   [QUANTIZATION_AQLM] = 2.0 / 8,
                                                   [QUANTIZATION_EETQ] = 1,
                                                   [QUANTIZATION_HQQ] = 0.5 + 4.0 / 64,
                                                   [QUANTIZATION_TORCHAO_INT4] = 0.5 + 4.0 / 128,
                                                   [QUANTIZATION_TORCHAO_INT8] = 1};
    return bytes[plan->quantization];
}

static bool is_in_4_bits(const struct training_plan *plan)
{
    return plan->quantization == QUANTIZATION_NF4 || plan->quantization == QUANTIZATION_NF4_DOUBLE;
}

bool tuning_is_wide(const struct architecture *a, const struct training_plan *plan, const struct memory_coefficients *c)
{
    return plan->kbit_preparation || layer_autocasts(plan, c) ||
           (is_in_4_bits(plan) && c->wide_norms != 0 && !a->rms_norm);
}

/* 4-bit products answer in the type of what they read. */
static double mlp_scale(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *c)
{
    return is_in_4_bits(plan) && tuning_is_wide(a, plan, c) ? 2 : 1;
}

/* Bytes kept of the one input that all these modules read, with or without adapters; `kept`: it is kept anyway. */
static double quantised_kept(const struct training_plan *plan, const struct memory_coefficients *c,
                             const struct target_module *modules, size_t count, bool kept)
{
    double width = 0;
    for (size_t i = 0; i < count; i++)
        width = fmax(width, modules[i].in);
    return plan->quantization != QUANTIZATION_NONE && !kept ? c->quantised_inputs * width : 0;
}

/* Bytes kept of the input that these modules share; `kept`: it is kept anyway. */
static double inputs_kept(const struct training_plan *plan, const struct memory_coefficients *c,
                          const struct target_module *modules, size_t count, bool kept)
{
    bool casts = layer_autocasts(plan, c);
    bool copies = c->adapter == ADAPTER_FP32 && plan->quantization == QUANTIZATION_NONE && !casts;
    double width = 0, targets = 0;
    bool reads = plan->tuning != TUNING_IA3 && plan->tuning != TUNING_VERA;
    for (size_t i = 0; reads && i < count; i++)
        if ((plan->lora_targets & modules[i].bit) && modules[i].out > 0) {
            width = modules[i].in;
            targets++;
        }
    double each = plan->lora_dropout ? (copies ? 5 : 3) : copies ? 4 : casts ? 2 : 0;
    double input = quantised_kept(plan, c, modules, count, kept);
    return width * targets * each + fmax(input, each == 0 && !kept ? 2 * width : 0);
}

static double outputs_kept(const struct training_plan *plan, const struct target_module *modules, size_t count)
{
    double each = plan->tuning == TUNING_DORA || plan->tuning == TUNING_VERA ? 4 : plan->tuning == TUNING_IA3 ? 2 : 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (plan->lora_targets & modules[i].bit)
            sum += each * modules[i].out;
    return sum;
}

static double mlp_kept(const struct architecture *a, const struct training_plan *plan,
                       const struct memory_coefficients *c, double width)
{
    struct target_module modules[4];
    if (width == 0)
        return 0;
    mlp_modules(a, width, modules);
    return mlp_scale(a, plan, c) * (a->gated_mlp ? 6 : 2) * width + inputs_kept(plan, c, modules, 3, false) +
           inputs_kept(plan, c, modules + 3, 1, false) + outputs_kept(plan, modules, LENGTH(modules));
}

static double attention_kept(const struct architecture *a, const struct training_plan *plan,
                             const struct memory_coefficients *c)
{
    struct target_module modules[5];
    attention_modules(a, modules);
    double heads = 4 * (double)(a->heads + a->kv_heads) * (double)a->head_dim;
    return heads + inputs_kept(plan, c, modules + 4, 1, true) + outputs_kept(plan, modules, LENGTH(modules));
}

double tuning_kept(const struct architecture *a, const struct training_plan *plan, const struct memory_coefficients *c)
{
    struct target_module attention[5];
    double t = (double)plan->tensor, o = plan->sequence_parallel ? t : 1, h = (double)a->hidden;
    double sparse = architecture_sparse_share(a), k = (double)a->experts_per_token * layer_imbalance(plan, c);
    double share = plan_layer_share(plan, a);
    bool eager = layer_norm_bytes(a, plan, c) > 0;
    double norm = (eager || layer_autocasts(plan, c) ? 4 : 2) * h;
    attention_modules(a, attention);
    double mask = a->dropout ? 2 * h : 0;
    double between = (double)a->norms_per_layer * norm + inputs_kept(plan, c, attention, 4, false) + mask;
    double experts = sparse > 0 ? k * (mlp_kept(a, plan, c, (double)a->expert_ffn) + 2 * h) : 0;
    double mlp =
        (1 - sparse) * mlp_kept(a, plan, c, (double)a->ffn) + sparse * mlp_kept(a, plan, c, (double)a->shared_ffn);
    return share * between / o + plan_attention_blocks(plan, a) * attention_kept(a, plan, c) / t + share * mlp / t +
           sparse * experts / o;
}

double tuning_passing(const struct architecture *a, const struct training_plan *plan,
                      const struct memory_coefficients *c)
{
    double unit = mlp_scale(a, plan, c) * (a->gated_mlp ? 6 : 4) * plan_layer_share(plan, a),
           sparse = architecture_sparse_share(a);
    double of_expert = a->experts > 0 ? (double)a->experts_per_token / (double)a->experts * (double)a->expert_ffn : 0;
    double rows = layer_row_gradients(c) * (double)a->experts_per_token * architecture_expert_input(a);
    return (unit * (1 - sparse) * (double)a->ffn + sparse * fmax(unit * of_expert, rows)) / (double)plan->tensor;
}

/* Sums over the modules that have adapters. */
struct target_widths {
    double in, out;
};

static void add_widths(const struct training_plan *plan, const struct target_module *modules, size_t count,
                       double share, struct target_widths *w)
{
    for (size_t i = 0; i < count; i++)
        if ((plan->lora_targets & modules[i].bit) && modules[i].out > 0) {
            w->in += share * modules[i].in;
            w->out += share * modules[i].out;
        }
}

static void add_mlp_widths(const struct architecture *a, const struct training_plan *plan, double width, double share,
                           struct target_widths *w)
{
    struct target_module modules[4];
    mlp_modules(a, width, modules);
    if (width > 0 && share > 0)
        add_widths(plan, modules, LENGTH(modules), share, w);
}

/* Bytes per number of a module's input or output.
 * peft's layers (tuners/lora/layer.py, bnb.py), unfused. In fp32, without autocast: the input is widened (6), dropped
 * out (9) and read (4); the output is written (4), scaled (8), added to the layer's (10) and narrowed (6). Under
 * autocast: dropped out (5), read (2); written (2), scaled (4), added (6), with a copy of the layer's
 * own output (CLONE) if it is quantised. In fp32 on weights in 16 bits under autocast: the input is widened (6),
 * dropped out (9), narrowed (6) and read (2), and the output as under autocast. Backward, the input's gradient is
 * written and the input read, then all of it in reverse, and added to the layer's gradient.
 * Fused (fms-acceleration fused_ops/unsloth_lora, LoRA_QKV): the input is dropped out (5) and read (2), the output
 * of the adapter written (2) and added in place (6); backward the input is read for both gradients (4) and compared
 * with zero (3), the adapters' part of its gradient written (2), masked (5) and added (6), the output's gradient
 * read thrice (6). */
#define CLONE 4 /* the layer's own output, read and written */
static const struct passing {
    double in, dropout, out, in_back, out_back;
} passing[] = {{10, 9, 28, 20, 28}, {2, 5, 12, 10, 8}, {14, 9, 12, 22, 8}}, fused = {2, 5, 8, 20, 6};

double tuning_traffic(const struct architecture *a, const struct training_plan *plan,
                      const struct memory_coefficients *c, double forward_passes)
{
    struct target_module attention[5];
    struct target_widths w = {0, 0};
    double sparse = architecture_sparse_share(a), layers = plan_layer_share(plan, a);
    bool casts = layer_autocasts(plan, c);
    bool copies = c->adapter == ADAPTER_FP32 && plan->quantization == QUANTIZATION_NONE && !casts;
    bool narrows = copies && c->autocast != 0 && plan->autocasts;
    const struct passing *p = plan->adapters == ADAPTERS_FUSED ? &fused : &passing[narrows ? 2 : copies ? 0 : 1];
    double dropout = plan->lora_dropout ? p->dropout : 0, wide = tuning_is_wide(a, plan, c) && !casts ? 2 : 1;
    if (plan->tuning == TUNING_FULL)
        return 0;
    attention_modules(a, attention);
    add_widths(plan, attention, LENGTH(attention), plan_attention_blocks(plan, a), &w);
    add_mlp_widths(a, plan, (double)a->ffn, layers * (1 - sparse), &w);
    add_mlp_widths(a, plan, (double)a->shared_ffn, layers * sparse, &w);
    add_mlp_widths(a, plan, (double)a->expert_ffn, layers * sparse * (double)a->experts_per_token, &w);
    double in = forward_passes * (p->in + dropout) + p->in_back + dropout;
    bool cloned = p == &passing[1] && plan->quantization != QUANTIZATION_NONE;
    double out = forward_passes * (p->out + (cloned ? CLONE : 0)) + p->out_back;
    return wide * (in * w.in + out * w.out) / (double)plan->tensor;
}

static double largest_matrix(const struct architecture *a, const struct training_plan *plan)
{
    double width = a->experts > 0 ? (double)a->expert_ffn : (double)a->ffn;
    return (double)a->hidden * fmax(width, (double)a->heads * (double)a->head_dim) / (double)plan->tensor;
}

double tuning_unpacked(const struct training_plan *plan, const struct memory_coefficients *c)
{
    if (plan->quantization != QUANTIZATION_GPTQ || plan->quantized_by == QUANTIZED_FUSED)
        return 0;
    return plan->quantized_by == QUANTIZED_UNPACKED ? 2 : c->unpacked;
}

double tuning_dense_matrices(const struct architecture *a, const struct training_plan *plan, bool unpacked)
{
    bool dequantised = plan->quantization != QUANTIZATION_NONE && !unpacked;
    return 2 * largest_matrix(a, plan) * (dequantised + 2 * (plan->tuning == TUNING_DORA));
}

double tuning_unpacking(const struct architecture *a, const struct training_plan *plan)
{
    return 3 * largest_matrix(a, plan);
}
