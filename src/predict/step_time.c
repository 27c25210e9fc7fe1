#include "predict/step_time.h"

#include <math.h>
#include <string.h>

#include "predict/flops.h"
#include "predict/layer_memory.h"
#include "predict/stage_memory.h"
#include "predict/tuning.h"
#include "util/linear.h"

#define SECONDS_MOST 1e9
#define ADAPTER_LAUNCHES 0.05           /* share of a layer's: two products, a cast, a scaling and an addition */
#define FUSED_LAUNCHES 0.03             /* two products and an addition */
#define EXPERT_LAUNCHES 0.4             /* 14 kernels forward, 27 backward: step_time.h */
#define GRAPH_LAUNCHES 0.01             /* one of about a hundred: step_time.h */
#define UNPACK_LAUNCHES 0.09            /* nine operations: step_time.h */
#define CAST_LAUNCHES 0.04              /* of input, weight and both gradients of a product */
#define NORM_LAUNCHES 0.3               /* of a norm and half of the rotary positions, fitted: step_time.h */
#define EAGER_CASTS 0.54                /* six casts of nine kernels per product */
#define UNPACK_BYTES 18.0               /* per weight, beside those stored */
#define PLAIN_MODULES 4.0               /* of a layer: itself, its attention, its MLP, and its activation */
#define COPY_LAUNCHES 0.005             /* share of a layer's: a view and a copy, without a graph */
#define STEPPED_TENSORS 500.0           /* that take as long as the term's weight */
#define OUTER_TENSORS 4.0               /* embeddings, the last norm and the head, or fewer */
#define REDUCE_COPIES 4.0               /* of FSDP's gradients: step_time.h */
#define SCAN (201e12 * 3 / 16 / 2039e9) /* FLOPs per byte of device memory */
#define SCAN_TRAINED 1.5                /* times that of Mamba-2, both passes taken together: step_time.h */
#define LAYOUTS (201e12 / 2039e9)       /* FLOPs of an A100's attention per byte of its memory */
#define LONG_ATTENTION (1.4 / 2)        /* of the weight, that is left for long sequences: step_time.h */
#define DETERMINISTIC (1 / 3.5 + 2.5 / 3.5 * 1.2) /* of the kernel's time: 2.5 of 3.5 FLOPs are backward */
#define LARGE_HEADS (370.0 / 297)                 /* of the kernel's time with heads of 128, with those of 256 */
#define EFFICIENT_SHARE 0.43                      /* of FlashAttention-2's rate, that sdpa's kernel with a mask has */
#define SHORT_SEQUENCE 4096.0                     /* tokens, up to which all of it is */
#define LINK_SHARE 0.65                           /* of a link's bandwidth that is delivered: predict.toml */
#define ADAPTER_SHARE 0.9
#define CONTENTION (0.189 / 1.189) /* share of hidden time that counts: computation takes 18.9 % longer */
#define KEPT 2.0                   /* bytes of a score: layer_score_bytes */
#define KEPT_WITH_DROPOUT 5.0      /* with its mask and output */
#define NORM_FORWARD 32.0          /* bytes per number: step_time.h */
#define NORM_BACKWARD 86.0
#define WIDE_FORWARD 24.0 /* bytes per hidden unit under autocast: step_time.h */
#define WIDE_BACKWARD 32.0
#define WEIGHT_CAST 6.0        /* a weight, or its gradient, read in one width and written in the other */
#define COMPILED_LOSS 0.25     /* of an eager loss: in 2 bytes, written, read three times, and its gradient written */
#define LOSS_HALVES 6.0        /* half all-reduces: maximum, predicted logit and sum */
#define SWEEPS 8.0             /* passes over a saved activation that the term's weight includes */
#define TORCH_LINK 50e9        /* bytes/s, the most that torch's own offload was seen to reach: step_time.h */
#define TORCH_HOST 75e9        /* and of a node, where its optimizer steps there */
#define OPTIMIZER_TRAFFIC 30.0 /* bytes per parameter with a master copy: states read and written, gradient read */

struct terms {
    double x[TIME_TERM_COUNT];
};

struct plan_time {
    const struct architecture *a;
    const struct training_plan *plan;
    const struct cluster *cluster;
    const struct framework *framework;
    struct layer_parameters layer;
    struct token_flops token;     /* ATTENTION_CAUSAL */
    struct token_flops once_more; /* the part that selective recompute repeats */
    double vocab;                 /* padded */
    double replicas, shards;
    double tensor, tokens, hidden, layers;
    struct layer_adapters adapters;
    struct terms of_layer; /* per layer and micro-batch */
    double again;          /* share of layers that are recomputed in full */
    double matrix_passes;  /* the same for matrices: no gradients of frozen weights */
    double passes;         /* a layer's cost in forward passes: 3 or 4 */
    double swept;          /* the same for elementwise operations */
    double between_layers; /* bytes of a micro-batch's hidden state; T5: average over the layers */
    double bandwidth;      /* of device memory */
};

/* The share of a layer's products, in the order q, k, v, o, (gate,) up, down, that torchtitan's selective checkpointing
 * by operations recomputes. */
static double every_second_product(const struct architecture *a)
{
    double q = (double)a->heads * (double)a->head_dim, kv = (double)a->kv_heads * (double)a->head_dim;
    double f = (double)(a->experts > 0 ? a->experts_per_token * a->expert_ffn : a->ffn);
    return (kv + q + f) / (2 * q + 2 * kv + (a->gated_mlp ? 3 : 2) * f);
}

static double trained_share(const struct plan_time *t)
{
    return 1 - (double)t->plan->frozen_layers / t->layers;
}

static void set_up(struct plan_time *t)
{
    t->tensor = (double)t->plan->tensor;
    t->bandwidth = t->cluster->device->memory_bytes_per_s;
    t->tokens = plan_tokens(t->plan);
    t->hidden = (double)t->a->hidden;
    t->layers = architecture_layers(t->a);
    t->again =
        t->plan->recompute == RECOMPUTE_FULL ? plan_recompute_share(t->plan, t->layers / (double)t->plan->pipeline) : 0;
    t->passes = 1 + trained_share(t) * (2 + t->again);
    t->swept = t->matrix_passes = t->passes;
    if (t->plan->recompute == RECOMPUTE_OPERATIONS) {
        t->swept += 1;
        t->matrix_passes += every_second_product(t->a);
    }
    if (t->plan->tuning != TUNING_FULL) {
        t->matrix_passes = t->passes - 1;
        tuning_adapters(t->a, t->plan, &t->adapters);
    }
    t->between_layers = (plan_is_fp32(t->plan) ? 4 : 2) * t->tokens * t->hidden * plan_layer_share(t->plan, t->a);
    t->vocab = architecture_padded_vocab(t->a, t->plan->tensor);
    t->replicas = plan_replicas(t->plan);
    t->shards = plan_shards(t->plan, t->replicas);
    architecture_layer(t->a, &t->layer);
    flops_per_token(t->a, t->plan, ATTENTION_CAUSAL, &t->token);
    if (t->plan->recompute != RECOMPUTE_SELECTIVE)
        return;
    flops_recomputed(t->a, t->plan, ATTENTION_CAUSAL, &t->once_more);
    t->once_more.matrices *= trained_share(t);
    t->once_more.routed *= trained_share(t);
    t->once_more.attention *= trained_share(t);
}

static double peak_in(const struct plan_time *t, enum precision precision)
{
    const struct device *d = t->cluster->device;
    if (precision == PRECISION_BF16 && t->plan->is_bfloat && d->no_bf16)
        return peak_in(t, PRECISION_FP32);
    const double factor[] = {[PRECISION_BF16] = 1,
                             [PRECISION_FP8] = d->fp8_factor,
                             [PRECISION_FP4] = d->fp4_factor,
                             [PRECISION_FP32] = d->vector_flops > 0 ? d->vector_flops / d->peak_flops : d->fp32_factor,
                             [PRECISION_TF32] = d->fp32_factor};
    bool is_short = precision == PRECISION_FP8 || precision == PRECISION_FP4;
    double share = is_short && d->fp8_share > 0 ? d->fp8_share : d->product_share;
    if (precision == PRECISION_FP32 && d->vector_flops > 0 && d->vector_share > 0)
        share = d->vector_share / VECTOR_SHARE_A100 * PRODUCT_SHARE_A100;
    return d->peak_flops * factor[precision] * (share > 0 ? share / PRODUCT_SHARE_A100 : 1);
}

/* Peak for layers' products, on average over the layers. */
static double matrix_peak(const struct plan_time *t)
{
    double wide = layer_share_in_bf16(t->a, t->plan);
    if (t->plan->wide_products)
        return peak_in(t, PRECISION_FP32);
    return 1 / ((1 - wide) / peak_in(t, t->plan->precision) + wide / peak_in(t, PRECISION_BF16));
}

/* Peak for scores and the head, which are never in 8 or 4 bits. */
static double wide_peak(const struct plan_time *t)
{
    return peak_in(t, layer_is_narrow(t->plan) ? PRECISION_BF16 : t->plan->precision);
}

/* Peak for attention that is not fused. A head size that is not a multiple of 8 counts as not using tensor cores, as
 * with cuBLAS before 11 (NVIDIA's guide to matrix products); later versions use them in part. */
static double score_peak(const struct plan_time *t)
{
    double vector = t->cluster->device->vector_flops;
    double peak = wide_peak(t);
    return t->a->head_dim % 8 != 0 && vector > 0 ? fmin(vector, peak) : peak;
}

/* Bandwidth of one device in one direction to the others of a group within a node. */
static double group_speed(const struct plan_time *t, double ranks)
{
    double pair = t->cluster->device->pair_bytes_per_s, all = t->cluster->intra_bytes_per_s;
    bool is_stated = all != t->cluster->device->link_bytes_per_s;
    return pair > 0 && !is_stated ? fmin(all, (ranks - 1) * pair) : all;
}

/* Bandwidth of one device in one direction, for groups of `ranks` neighbours. */
static double link_speed(const struct plan_time *t, double ranks)
{
    return ranks <= (double)t->cluster->link_domain ? group_speed(t, ranks) : t->cluster->inter_bytes_per_s;
}

/* Bandwidth of a ring over a group with a rank every `apart` ranks. Across nodes, it uses the adapters of all members
 * in a node. */
static double ring_speed(const struct plan_time *t, double ranks, double apart)
{
    double node = (double)t->cluster->link_domain;
    if (ranks * apart <= node)
        return group_speed(t, ranks);
    double members = fmax(1, floor(node / apart));
    return fmin(members * t->cluster->inter_bytes_per_s, t->cluster->intra_bytes_per_s);
}

/* By how much the plan's keys multiply the kernel's time: step_time.h. */
static double kernel_factor(const struct plan_time *t)
{
    enum attention_kernel kernel = t->plan->attention_kernel;
    bool own = kernel == ATTENTION_KERNEL_FRAMEWORK || kernel == ATTENTION_KERNEL_SDPA;
    double factor = (t->plan->deterministic ? DETERMINISTIC : 1) * (t->a->head_dim > 128 ? LARGE_HEADS : 1);
    struct token_flops square;
    if (!t->plan->padding_mask || t->token.attention <= 0 || (!own && kernel != ATTENTION_KERNEL_CUDNN))
        return factor;
    flops_per_token(t->a, t->plan, ATTENTION_SQUARE, &square);
    return factor * square.attention / t->token.attention / (own ? EFFICIENT_SHARE : 1);
}

/* FLOPs per second of attention and what goes with it, by what a sequence of this length has of both: step_time.h. */
static double attention_rate(const struct plan_time *t)
{
    const struct device *d = t->cluster->device;
    enum attention_kernel kernel = t->plan->attention_kernel;
    bool own = kernel == ATTENTION_KERNEL_FRAMEWORK || kernel == ATTENTION_KERNEL_SDPA;
    bool latest = kernel == ATTENTION_KERNEL_LATEST || kernel == ATTENTION_KERNEL_CUDNN ||
                  (own && t->framework->time.latest_attention != 0);
    bool in_blocks = t->plan->context > 1 && t->framework->time.ring != 0;
    double rate = latest && d->latest_attention_flops > 0 ? d->latest_attention_flops : d->attention_flops;
    double seen =
        fmin((double)t->plan->sequence, t->plan->packed_tokens > 0 ? (double)t->plan->packed_tokens : INFINITY);
    if (kernel == ATTENTION_KERNEL_TRITON || in_blocks)
        return rate;
    double layouts = fmax(rate, LAYOUTS * d->memory_bytes_per_s);
    return 1 /
           (LONG_ATTENTION * kernel_factor(t) / rate + (1 - LONG_ATTENTION) * fmin(1, SHORT_SEQUENCE / seen) / layouts);
}

/* An expert group waits for its busiest rank. */
static double busiest(const struct plan_time *t)
{
    return layer_imbalance(t->plan, &t->framework->memory);
}

static void add_layer_products(const struct plan_time *t, struct terms *out)
{
    double share = t->tokens / (t->layers * t->tensor), more = busiest(t) - 1;
    double products = t->matrix_passes * (t->token.matrices + more * t->token.routed) + t->once_more.matrices +
                      more * t->once_more.routed;
    out->x[TIME_MATRICES] = share * products / matrix_peak(t);
    double scan = (t->a->mixer == MIXER_MAMBA2 ? SCAN_TRAINED : 1) * t->token.scan;
    out->x[TIME_ATTENTION] = t->passes * share * scan / (SCAN * t->bandwidth);
    if (t->plan->flash_attention) {
        out->x[TIME_ATTENTION] += share * (t->passes * t->token.attention + t->once_more.attention) / attention_rate(t);
        return;
    }
    struct token_flops token;
    double again = layer_drops_scores(t->plan) ? 1 : 0;
    flops_per_token(t->a, t->plan, ATTENTION_SQUARE, &token);
    out->x[TIME_MATRICES] += (t->passes + again) * share * token.attention / score_peak(t);
}

/* All-reduces of tensor parallelism in a layer: two forward and two backward, two more with full recompute; half as
 * many if the outputs of attention and MLP are added before they are reduced. Recompute by operations keeps what was
 * reduced and scattered, but neither what was gathered nor what was all-reduced. */
static double tensor_collectives(const struct plan_time *t)
{
    double blocks = t->layer.attention_blocks + t->layer.mixer_layers + t->layer.mlp_layers + t->layer.expert_layers;
    double again = t->again;
    if (t->plan->recompute == RECOMPUTE_OPERATIONS)
        again = t->plan->sequence_parallel ? 0.5 : 1;
    return t->tensor > 1 ? (t->a->parallel_blocks ? 1 : blocks) * (2 + again) : 0;
}

/* The same in half all-reduces. Sequence parallelism gathers and reduce-scatters, half an all-reduce each, and gathers
 * the inputs of the two column products again: 2.5 instead of 2. */
static double tensor_halves(const struct plan_time *t)
{
    return tensor_collectives(t) * (t->plan->sequence_parallel ? 2.5 : 2);
}

/* Nodes that an expert group spans. */
static double expert_nodes(const struct plan_time *t)
{
    return ceil((double)(t->plan->expert * t->plan->expert_tensor) / (double)t->cluster->link_domain);
}

/* Of all-to-alls of NCCL's between nodes, fitted to tests/data/unseen; DeepEP's volume is as measured. */
#define NCCL_SLOWNESS 2

/* Copies of a token's hidden state that are sent. What others than DeepEP send to ranks of the same node takes no
 * network. */
static double expert_copies(const struct plan_time *t)
{
    double e = (double)t->plan->expert, k = (double)t->a->experts_per_token;
    double nodes = expert_nodes(t), n = nodes > 1 ? nodes : e;
    if (t->plan->dispatcher == DISPATCH_ONCE)
        return n * (1 - pow(1 - 1 / n, k)) * (e - 1) / e;
    return (nodes > 1 ? NCCL_SLOWNESS : 1) * (t->plan->dispatcher == DISPATCH_ALL_GATHER ? e : k) * (n - 1) / n;
}

/* Seconds by which a second of hidden communication slows computation. */
static double contention(const struct plan_time *t)
{
    return t->cluster->device->collective_engines ? 0 : CONTENTION;
}

/* Reduces `term` to what exceeds `behind` seconds of computation, plus the contention. */
static void hide(const struct plan_time *t, enum time_term term, double behind, struct terms *out)
{
    double weight = t->framework->time.nominal[term];
    double hidden = weight > 0 ? fmin(out->x[term], behind / weight) : 0;
    out->x[term] -= (1 - contention(t)) * hidden;
}

/* Seconds of a layer's kernels and of their waiting for the host. */
static double computing(const struct plan_time *t, const struct terms *layer)
{
    static const enum time_term computed[] = {TIME_MATRICES, TIME_ATTENTION, TIME_ELEMENTWISE, TIME_LAUNCH};
    double seconds = 0;
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
        seconds += t->framework->time.nominal[computed[i]] * layer->x[computed[i]];
    return seconds;
}

static void hide_layer_traffic(const struct plan_time *t, struct terms *out)
{
    double behind = computing(t, out);
    if (t->plan->overlap_tensor)
        hide(t, TIME_TENSOR, behind, out);
    if (t->plan->overlap_expert)
        hide(t, TIME_EXPERT, behind, out);
}

/* Steps of half an all-reduce. A ring's data crosses to another node once per node; the adapters' latency is counted in
 * steps of the weight before calibration. */
static double collective_steps(const struct plan_time *t)
{
    double node = (double)t->cluster->link_domain;
    if (t->tensor <= node)
        return log2(t->tensor) / 2;
    double step = t->framework->time.nominal[TIME_TENSOR_STEPS];
    double crossing = ceil(t->tensor / node) * CLUSTER_TRIPS * t->cluster->inter_latency_s;
    return t->tensor - 1 + (step > 0 ? crossing / step : 0);
}

/* Tensor parallelism's traffic outside layers, in half all-reduces. With sequence parallelism, the head gathers its
 * input forward and backward and scatters a gradient, and the embedding does one of each; without it both reduce once.
 * With several stages the embedding is on another one. The loss reduces three numbers per token. */
static void add_head_traffic(const struct plan_time *t, struct terms *out)
{
    double reduced = t->plan->pipeline == 1 ? 2 : 1;
    double halves = LOSS_HALVES + 2 * reduced + (t->plan->sequence_parallel ? 1 : 0);
    if (t->tensor <= 1)
        return;
    out->x[TIME_TENSOR] = reduced * 2 * (t->tensor - 1) / t->tensor * t->between_layers / ring_speed(t, t->tensor, 1);
    out->x[TIME_TENSOR_STEPS] = halves * collective_steps(t);
}

static void add_layer_traffic(const struct plan_time *t, struct terms *out)
{
    double c = (double)t->plan->context, e = (double)t->plan->expert;
    double kv = (double)t->a->kv_heads * (double)t->a->head_dim / t->tensor;
    if (t->tensor > 1) {
        double volume = 2 * (t->tensor - 1) / t->tensor * t->between_layers;
        out->x[TIME_TENSOR] = tensor_collectives(t) * volume / ring_speed(t, t->tensor, 1);
        out->x[TIME_TENSOR_STEPS] = tensor_halves(t) * collective_steps(t);
    }
    if (c > 1)
        out->x[TIME_CONTEXT] = architecture_attention_share(t->a) * 3 * 2 * (c - 1) / c * 4 * t->tokens * kv /
                               link_speed(t, c * t->tensor);
    if (e > 1) {
        double routed = t->between_layers * architecture_expert_input(t->a) / t->hidden;
        double group = e * (double)t->plan->expert_tensor, passes = layer_drops(t->plan, MODULE_MOE) ? 6 : 4;
        double sent = routed * expert_copies(t) * (expert_nodes(t) > 1 ? LINK_SHARE / ADAPTER_SHARE : 1) / t->tensor;
        out->x[TIME_EXPERT] = busiest(t) * t->layer.expert_layers * passes * sent / link_speed(t, group);
    }
}

/* Returns whether torch.autocast's casts are kernels of their own. */
static bool is_cast(const struct plan_time *t)
{
    return layer_autocasts(t->plan, &t->framework->memory) && !t->plan->compiled;
}

/* Launches of routing to experts and of those of the rank, in a layer's; average over the layers. How many tokens an
 * expert gets is not known before, so that no CUDA graph of a layer has them. */
static double expert_launches(const struct plan_time *t)
{
    const struct time_coefficients *c = &t->framework->time;
    bool looped = t->plan->experts == EXPERTS_FRAMEWORK ? c->loops_experts != 0 : t->plan->experts == EXPERTS_LOOPED;
    double each = looped ? EXPERT_LAUNCHES : c->grouped_launches, routing = looped ? 0 : c->routing_launches;
    routing *= t->plan->cuda_graphs ? 0.5 : 1;
    return t->layer.expert_layers * (routing + each * (double)t->a->experts / (double)t->plan->expert);
}

/* Matrices of a layer, in its order: step_time.h. */
static double layer_matrices(const struct plan_time *t)
{
    return 4 * t->layer.attention_blocks +
           (t->a->gated_mlp ? 3 : 2) * fmin(1, t->layer.mlp_layers + t->layer.expert_layers);
}

bool step_unpacks(const struct training_plan *plan, const struct framework *framework)
{
    bool unpacked = plan->quantized_by == QUANTIZED_FRAMEWORK ? framework->time.unpacks != 0
                                                              : plan->quantized_by == QUANTIZED_UNPACKED;
    return unpacked && plan->quantization == QUANTIZATION_GPTQ;
}

/* Launches of a layer's quantised products beside the products themselves, in a layer's. */
static double quantised_launches(const struct plan_time *t)
{
    static const double each[QUANTIZATION_END] = {[QUANTIZATION_NF4] = 0.02, [QUANTIZATION_NF4_DOUBLE] = 0.06};
    double launches = step_unpacks(t->plan, t->framework) ? (t->passes - 2) * UNPACK_LAUNCHES
                                                          : t->passes / 3 * each[t->plan->quantization];
    return launches * layer_matrices(t);
}

/* Returns whether a pipeline rank gathers its stage once per step and accumulates whole gradients, as FSDP2 does. */
static bool holds_stage(const struct plan_time *t)
{
    return t->framework->memory.whole_stages != 0 && t->plan->pipeline > 1 && t->plan->zero_stage >= 2;
}

/* Returns whether parameters are sharded between passes, and gathered for the forward pass of each micro-batch. */
static bool is_sharded_at_rest(const struct plan_time *t)
{
    return t->plan->zero_stage == 3 || (t->plan->zero_stage == 2 && t->framework->memory.sharded_at_rest != 0);
}

/* Tensors of a layer's parameters, without adapters. */
static double layer_tensors(const struct plan_time *t)
{
    return (layer_matrices(t) + (double)t->a->norms_per_layer) * (t->a->biases ? 2 : 1);
}

/* The same for those around FSDP's units, a layer and each adapter that is not fused, where something is gathered. */
static double unit_launches(const struct plan_time *t)
{
    const struct time_coefficients *c = &t->framework->time;
    double own = c->adapter_units == 0 || t->plan->adapters == ADAPTERS_FUSED ? 0 : 2 * t->adapters.modules;
    double parameters = layer_tensors(t) + own;
    double reduced = t->plan->tuning == TUNING_FULL ? 1 : own;
    double each_pass =
        (1 + own) * (c->unit_hooks + c->collective_launches + COPY_LAUNCHES) + parameters * c->parameter_hooks;
    return c->unit_hooks == 0 || t->shards <= 1 || !is_sharded_at_rest(t)
               ? 0
               : (t->plan->zero_stage == 3 ? 2 : 1) * each_pass +
                     reduced * (c->collective_launches + REDUCE_COPIES * COPY_LAUNCHES);
}

/* Returns the launches of a framework's hooks around the modules of a layer and its gradients, counted with the
 * layer's. */
static double hook_launches(const struct plan_time *t)
{
    const struct time_coefficients *c = &t->framework->time;
    double matrices = layer_matrices(t), norms = (double)t->a->norms_per_layer, adapters = 2 * t->adapters.modules;
    double trained = t->plan->tuning == TUNING_FULL ? matrices + norms : adapters;
    double gather = c->module_hooks > 0 && t->shards > 1 ? c->collective_launches + COPY_LAUNCHES : 0;
    double each_pass = (c->module_hooks + gather) * (matrices + adapters) + c->passing_hooks * (norms + PLAIN_MODULES);
    return (t->framework->memory.accumulation[t->plan->zero_stage] > 0 ? c->gradient_hooks * trained : 0) +
           (t->plan->zero_stage == 3 ? (t->passes - 1) * each_pass : 0);
}

/* How often per step sharded parameters are gathered and gradients reduced. */
static double sharded_passes(const struct plan_time *t)
{
    return holds_stage(t) ? 1 : (double)t->plan->micro_batches;
}

/* Weights of a layer's matrices on a rank. */
static double layer_weights(const struct plan_time *t)
{
    return (t->layer.attention + t->layer.mlp) / t->tensor +
           t->layer.experts / ((double)t->plan->expert_tensor * (double)t->plan->expert);
}

/* Bytes that quantised weights and adapters move through device memory, per layer and micro-batch. */
static double tuning_bytes(const struct plan_time *t)
{
    double stored = tuning_weight_bytes(t->plan);
    double moved = step_unpacks(t->plan, t->framework) ? (t->passes - 2) * (stored + UNPACK_BYTES) + 2
                                                       : t->matrix_passes * (stored + 4);
    double weights = stored > 0 ? moved * layer_weights(t) : 0;
    return weights + t->tokens * tuning_traffic(t->a, t->plan, &t->framework->memory, t->swept - 2);
}

/* Bytes of a gradient as it is sent, which is one number of all that the plan may keep. */
static double sent_gradient(const struct plan_time *t)
{
    double own = plan_is_fp32(t->plan) ? 4 : t->framework->time.gradient_bytes;
    return t->plan->gradient_bytes > 0 ? fmin(4, (double)t->plan->gradient_bytes) : own;
}

/* The same of a parameter as it is gathered. */
static double gathered_bytes(const struct plan_time *t)
{
    return plan_is_fp32(t->plan) ? 4 : 2;
}

/* Bytes per gathered parameter and micro-batch of copies between the buffers of collectives and the tensors. */
static double gathered_copies(const struct plan_time *t)
{
    double stored = tuning_weight_bytes(t->plan), passes = t->plan->zero_stage == 3 && !holds_stage(t) ? 2 : 1;
    double of_gradient = t->plan->tuning == TUNING_FULL ? gathered_bytes(t) + sent_gradient(t) : 0;
    bool copies = t->framework->time.gather_copies != 0 && is_sharded_at_rest(t) && t->shards > 1;
    double times = holds_stage(t) ? 1 / (double)t->plan->micro_batches : 1;
    return copies ? times * (passes * 2 * (stored > 0 ? stored : gathered_bytes(t)) + of_gradient) : 0;
}

/* Weights of a layer's matrices that a rank gathers. */
static double gathered_weights(const struct plan_time *t)
{
    double experts = plan_expert_replicas(t->plan) > 1 ? 0 : t->layer.experts;
    return layer_weights(t) - experts / ((double)t->plan->expert_tensor * (double)t->plan->expert);
}

/* Bytes per parameter and micro-batch of gradient accumulation. The matrix product accumulates gradients that are wider
 * than parameters; otherwise the first of a step is not added to anything. */
static double accumulated_bytes(const struct plan_time *t)
{
    const struct memory_coefficients *c = &t->framework->memory;
    double m = (double)t->plan->micro_batches, further = c->accumulation[t->plan->zero_stage];
    double gradient = t->plan->gradient_bytes > 0 ? (double)t->plan->gradient_bytes : c->gradient;
    double narrow = gradient > c->parameter ? 2 * gradient : 3 * gradient * (m - 1) / m;
    double bytes = further > 0 ? gradient + 2 * further : narrow;
    bool scattered = t->plan->zero_stage >= 2 && t->framework->time.reduce_each_micro_batch != 0 && !holds_stage(t);
    bool elsewhere = t->plan->tuning != TUNING_FULL || t->plan->offload != OFFLOAD_NONE;
    return elsewhere ? 0 : trained_share(t) * bytes / (scattered ? t->shards : 1);
}

/* Bytes of attention scores among a layer's activations. */
static double score_bytes(const struct plan_time *t)
{
    return t->plan->flash_attention ? 0 : layer_activation_scale(t->plan) * layer_score_bytes(t->a, t->plan);
}

/* Bytes of a score in 16 bits that kernels move: step_time.h. */
struct score_kernels {
    double forward, backward;
    double dropout[2]; /* more of both */
    double launches;   /* beside a fused kernel's, in a layer's */
};

static const struct score_kernels *score_kernels(const struct plan_time *t)
{
    static const struct score_kernels fused = {8, 14, {3, 5}, 0}, apart = {16, 18, {5, 5}, 0.13},
                                      wide = {24, 28, {5, 5}, 0.17}, autocast = {32, 36, {9, 9}, 0.17};
    const struct memory_coefficients *c = &t->framework->memory;
    double from = t->framework->time.fuses_scores;
    bool has_kernel = from > 0 && t->tensor >= from && t->plan->attention_kernel != ATTENTION_KERNEL_EAGER;
    if ((has_kernel && !plan_is_fp32(t->plan)) || t->plan->compiled)
        return &fused;
    if (plan_is_fp32(t->plan))
        return &apart;
    if (t->a->family == ARCHITECTURE_LLAMA)
        return c->wide_scores != 0 ? &wide : &apart;
    return layer_autocasts(t->plan, c) ? &autocast : &apart;
}

/* Forward passes of what selective recompute may compute again. */
static double forward_sweeps(const struct plan_time *t, bool again)
{
    return t->swept - 2 * trained_share(t) + (again ? 1 : 0);
}

/* Bytes that unfused attention scores move through device memory, per layer and micro-batch. */
static double score_traffic(const struct plan_time *t)
{
    if (t->plan->flash_attention)
        return 0;
    const struct score_kernels *k = score_kernels(t);
    double trained = trained_share(t), forward = forward_sweeps(t, layer_drops_scores(t->plan));
    double scores = score_bytes(t) / (t->a->dropout ? KEPT_WITH_DROPOUT : KEPT), drops = t->a->dropout ? 1 : 0;
    return scores * ((k->forward + drops * k->dropout[0]) * forward + (k->backward + drops * k->dropout[1]) * trained);
}

#define COMPILED_MODULES (MODULE_LAYERNORM | MODULE_MLP_ACT) /* what torch.compile computes within other kernels */

/* Bytes that a layer keeps where the modules are computed again, without scores. */
static double kept_without(const struct plan_time *t, unsigned modules)
{
    struct training_plan plan = *t->plan;
    plan.recompute = RECOMPUTE_SELECTIVE;
    plan.modules = modules;
    plan.flash_attention = true;
    if (layer_is_narrow(t->plan))
        plan.precision = PRECISION_BF16;
    if (modules & COMPILED_MODULES && plan.compiled)
        plan.norms = NORMS_FUSED;
    return layer_memory_kept(t->a, &plan, &t->framework->memory);
}

/* Bytes of activations that a layer moves in all its passes, `set` in each. The forward pass moves once more what
 * modules of selective recompute do not keep. What a compiler computes again it computes within other kernels. */
static double swept_bytes(const struct plan_time *t, double set)
{
    unsigned fused = t->plan->compiled ? COMPILED_MODULES : 0;
    double compiled = kept_without(t, fused), whole = fused ? kept_without(t, 0) : compiled;
    double left = set * compiled / whole;
    double dropped = t->plan->recompute == RECOMPUTE_SELECTIVE && t->plan->modules != 0
                         ? compiled - kept_without(t, t->plan->modules | fused)
                         : 0;
    return t->swept * left + fmin(left, dropped);
}

/* Returns whether torch's operations compute the norms that are one kernel of the framework. */
static bool has_eager_norms(const struct plan_time *t)
{
    return t->plan->norms == NORMS_EAGER && t->a->rms_norm && !t->plan->compiled &&
           t->framework->memory.norm_bytes == 0;
}

/* Bytes that such norms of a layer move beside the kernel's, per micro-batch: step_time.h. */
static double norm_traffic(const struct plan_time *t)
{
    double trained = trained_share(t), forward = forward_sweeps(t, layer_drops(t->plan, MODULE_LAYERNORM));
    double numbers = (double)t->a->norms_per_layer * t->tokens * t->hidden * plan_layer_share(t->plan, t->a);
    return has_eager_norms(t)
               ? numbers * (NORM_FORWARD * forward + NORM_BACKWARD * trained) / layer_outer_degree(t->plan)
               : 0;
}

/* Bytes that torch.autocast moves in a layer beside what it keeps, per micro-batch. */
static double autocast_traffic(const struct plan_time *t)
{
    double forward = forward_sweeps(t, false), backward = trained_share(t);
    double casts = t->plan->tuning == TUNING_FULL ? forward + backward : forward;
    double numbers = t->a->dropout ? 0 : t->between_layers / 2 / layer_outer_degree(t->plan);
    double weights = t->plan->quantization == QUANTIZATION_NONE ? casts * layer_weights(t) : 0;
    return is_cast(t) ? WEIGHT_CAST * weights + numbers * (WIDE_FORWARD * forward + WIDE_BACKWARD * backward) : 0;
}

/* Returns whether torch's operations, one after the other, scale and cast to fp8. */
static bool casts_eagerly(const struct training_plan *plan)
{
    return plan->casts == CASTS_EAGER && plan->precision == PRECISION_FP8 && !plan->compiled &&
           plan->tuning == TUNING_FULL;
}

/* The launches of a layer that the device waits for. Uses the weights before calibration, so that the sum stays linear
 * in the fitted ones. */
static double waited_launches(const struct plan_time *t, const struct terms *of_device)
{
    const double *weights = t->framework->time.nominal;
    double modules = t->plan->flash_attention ? t->framework->time.module_launches
                                              : score_kernels(t)->launches * t->layer.attention_blocks;
    double launches =
        t->passes / 3 *
            (1 + modules +
             (t->plan->adapters == ADAPTERS_FUSED ? FUSED_LAUNCHES : ADAPTER_LAUNCHES) * t->adapters.modules) +
        quantised_launches(t) + hook_launches(t) + unit_launches(t) +
        (is_cast(t) ? CAST_LAUNCHES * layer_matrices(t) : 0) +
        (casts_eagerly(t->plan) ? EAGER_CASTS * layer_matrices(t) : 0) +
        (has_eager_norms(t) ? NORM_LAUNCHES * (double)t->a->norms_per_layer : 0) +
        t->framework->time.checkpoint_launches * t->again +
        (t->framework->time.collective_launches + (t->plan->compiled ? 0 : t->framework->time.dispatch_launches)) *
            (t->plan->sequence_parallel ? tensor_halves(t) : tensor_collectives(t));
    launches *= t->plan->cuda_graphs ? GRAPH_LAUNCHES : 1;
    launches = t->cluster->device->launch_factor * (launches + t->passes / 3 * expert_launches(t));
    double device = weighted_sum(weights, of_device->x, TIME_TERM_COUNT), host = weights[TIME_LAUNCH] * launches;
    return host > 0 ? (cbrt(device * device * device + host * host * host) - device) / weights[TIME_LAUNCH] : launches;
}

static struct terms layer_terms(const struct plan_time *t)
{
    struct terms out = {{0}};
    const struct memory_coefficients *memory = &t->framework->memory;
    struct training_plan narrow = *t->plan; /* a compiler fuses the casts of autocast */
    narrow.weights = layer_autocasts(t->plan, memory) && t->plan->compiled ? WEIGHTS_16 : narrow.weights;
    if (has_eager_norms(t))
        narrow.norms = NORMS_FUSED;
    double times = tuning_is_wide(t->a, &narrow, memory) && (t->a->dropout || !is_cast(t)) ? 2 : 1;
    double set = times * (layer_memory_set(t->a, &narrow, memory) - score_bytes(t));
    double traffic = score_traffic(t) + norm_traffic(t) + autocast_traffic(t) +
                     (casts_eagerly(t->plan) ? layer_eager_cast_bytes : layer_cast_bytes)(t->a, t->plan) +
                     (t->plan->tuning != TUNING_FULL ? tuning_bytes(t) : 0);
    out.x[TIME_ELEMENTWISE] = (swept_bytes(t, set) / 3 + traffic / SWEEPS) / t->bandwidth;
    add_layer_products(t, &out);
    add_layer_traffic(t, &out);
    hide_layer_traffic(t, &out);
    out.x[TIME_OPTIMIZER] =
        (accumulated_bytes(t) * layer_weights(t) + gathered_copies(t) * gathered_weights(t)) / t->bandwidth;
    out.x[TIME_LAUNCH] = waited_launches(t, &out);
    return out;
}

static struct terms head_terms(const struct plan_time *t)
{
    struct terms out = {{0}};
    double vocab = architecture_predicts_words(t->a) ? t->vocab : 0;
    double head_passes = t->plan->tuning != TUNING_FULL && !(t->plan->saved_modules & SAVED_HEAD) ? 2 : 3;
    out.x[TIME_MATRICES] = head_passes * t->tokens * t->token.head / (t->tensor * wide_peak(t));
    double swept = t->plan->loss == LOSS_COMPILED ? 4 * COMPILED_LOSS : 4;
    out.x[TIME_LOGITS] = swept * t->tokens * plan_decoder_share(t->plan) * vocab / t->tensor / t->bandwidth;
    out.x[TIME_OPTIMIZER] =
        (accumulated_bytes(t) + gathered_copies(t)) * t->vocab * t->hidden / t->tensor / t->bandwidth;
    if (vocab > 0)
        add_head_traffic(t, &out);
    return out;
}

/* Transfers of a stage for one micro-batch. */
static double stage_transfers(const struct plan_time *t)
{
    if (t->plan->pipeline == 1 || t->plan->virtual_stages > 1)
        return 0; /* interleaved stages compute another chunk meanwhile: Megatron-LM's overlap_p2p_comm */
    double outer = t->plan->sequence_parallel ? t->tensor : 1, world = plan_world(t->plan);
    bool one_node = world <= (double)t->cluster->link_domain;
    return 2 * t->between_layers / outer / (one_node ? group_speed(t, 2) : t->cluster->inter_bytes_per_s);
}

/* The layers of the slowest stage, which is one with the most layers or the one with the head, and whether it has the
 * head. Transfers between stages are the same for all. */
static double slowest_stage(const struct plan_time *t, double layer_s, double head_s, bool *has_head)
{
    double most = 0;
    for (int64_t k = 0; k < t->plan->pipeline; k++) {
        most = fmax(most, plan_stage_layers(t->plan, t->a, k));
        if (t->plan->split == SPLIT_UNIFORM && !t->plan->is_uneven)
            break; /* no stage has more than the first */
    }
    double with_head = plan_stage_layers(t->plan, t->a, plan_head_stage(t->plan, t->a));
    *has_head = with_head * layer_s + head_s >= most * layer_s;
    return *has_head ? with_head : most;
}

/* Adds m · slowest + (all - slowest) / v: in the second part stages wait. */
static void add_stages(const struct plan_time *t, struct terms *out)
{
    struct terms layer = t->of_layer, head = head_terms(t);
    const double *weights = t->framework->time.weights;
    double layer_s = weighted_sum(weights, layer.x, TIME_TERM_COUNT), transfers = stage_transfers(t);
    double head_s = weighted_sum(weights, head.x, TIME_TERM_COUNT);
    bool has_head;
    double slowest = slowest_stage(t, layer_s, head_s, &has_head), heads = has_head ? 1 : 0;
    double m = (double)t->plan->micro_batches, v = (double)t->plan->virtual_stages;
    double share = plan_waiting_share(t->plan) / v;
    double layers = m * slowest + (t->layers - slowest) * share, head_passes = m * heads + (1 - heads) * share;
    for (int i = 0; i < TIME_TERM_COUNT; i++)
        out->x[i] += layers * layer.x[i] + head_passes * head.x[i];
    out->x[TIME_PIPELINE] += m * transfers + ((double)t->plan->pipeline - 1) * transfers * share;
}

/* Returns whether gradients are reduced after each micro-batch. */
static bool reduces_each(const struct plan_time *t)
{
    return (t->plan->zero_stage == 3 ||
            (t->plan->zero_stage == 2 && t->framework->time.reduce_each_micro_batch != 0)) &&
           !stage_accumulates_whole(t->plan, &t->framework->memory);
}

/* What a rank sends per step and parameter, but for the share of its own part. */
struct sent_bytes {
    double gradients, parameters;
};

static struct sent_bytes sent_bytes(const struct plan_time *t)
{
    double m = sharded_passes(t), gradient = sent_gradient(t);
    int64_t stage = t->plan->zero_stage;
    if (holds_stage(t))
        return (struct sent_bytes){gradient, gathered_bytes(t)};
    bool whole = stage == 0 || (stage < 3 && t->framework->time.all_reduces != 0);
    double gathers = stage == 0 ? 0 : stage == 3 ? 2 * m : is_sharded_at_rest(t) ? m : 1;
    return (struct sent_bytes){(reduces_each(t) ? m : 1) * (whole ? 2 : 1) * gradient, gathered_bytes(t) * gathers};
}

/* Bytes that a rank sends per step for `parameters` whose states are sharded over `ranks`. */
static double data_volume(const struct plan_time *t, double parameters, double ranks)
{
    struct sent_bytes sent = sent_bytes(t);
    return (sent.gradients + sent.parameters) * parameters * (ranks - 1) / ranks;
}

/* Returns whether the links within nodes limit a ring, rather than the adapters; its data passes both. */
static bool waits_for_links(const struct plan_time *t, double ranks, double apart)
{
    double node = (double)t->cluster->link_domain, members = floor(node / apart);
    return ranks * apart <= node || (members > 1 && LINK_SHARE * t->cluster->intra_bytes_per_s <=
                                                        ADAPTER_SHARE * members * t->cluster->inter_bytes_per_s);
}

/* `apart`: distance in ranks between neighbours of the group. */
static void add_data_group(const struct plan_time *t, double volume, double ranks, double apart, struct terms *out)
{
    if (ranks <= 1)
        return;
    if (waits_for_links(t, ranks, apart))
        out->x[TIME_DATA_INTRA] +=
            volume /
            (ranks * apart <= (double)t->cluster->link_domain ? group_speed(t, ranks) : t->cluster->intra_bytes_per_s);
    else
        out->x[TIME_DATA_INTER] += volume / ring_speed(t, ranks, apart);
}

/* Adds the latency of units that are gathered and reduced one by one. */
static void add_unit_latency(const struct plan_time *t, struct terms *out)
{
    double nodes = fmax(1, ceil(t->shards * t->tensor / (double)t->cluster->link_domain));
    double collectives = sharded_passes(t) * t->layers / (double)t->plan->pipeline * (t->plan->zero_stage == 3 ? 3 : 2);
    enum time_term term = waits_for_links(t, t->shards, t->tensor) ? TIME_DATA_INTRA : TIME_DATA_INTER;
    double weight = t->framework->time.nominal[term];
    if (is_sharded_at_rest(t) && !holds_stage(t) && t->shards > 1 && weight > 0)
        out->x[term] += collectives * cluster_ring_latency(t->cluster, t->shards, nodes) / weight;
}

/* Parameters by which a bucket exceeds its size on average, as it includes the whole tensor that fills it. A layer has
 * four: queries, keys and values; output; gate and up; down. */
static double bucket_excess(const struct plan_time *t)
{
    double output = (double)t->a->hidden * (double)t->a->heads * (double)t->a->head_dim;
    double down = t->layer.mlp / (t->a->gated_mlp ? 3 : 2);
    const double tensors[] = {fmax(0, t->layer.attention - output), output, t->layer.mlp - down, down};
    double sum = 0, squares = 0;
    for (int i = 0; i < 4; i++) {
        sum += tensors[i] / t->tensor;
        squares += tensors[i] / t->tensor * tensors[i] / t->tensor;
    }
    return sum > 0 ? squares / (2 * sum) : 0;
}

/* Adds the latency of all gradient buckets if the framework reduces in buckets. */
static void add_buckets(const struct plan_time *t, double parameters, double ranks, double apart, struct terms *out)
{
    double full = t->framework->time.bucket_bytes / t->framework->memory.parameter;
    if (full > 0 && t->plan->zero_stage == 0)
        out->x[TIME_DATA_INTER] += ceil(parameters / (full + bucket_excess(t))) *
                                   cluster_all_reduce_latency(t->cluster, ranks, apart) /
                                   t->framework->time.nominal[TIME_DATA_INTER];
}

/* For `parameters` on `replicas` ranks, each with a copy or, under ZeRO, 1/shard of one. */
static void add_data(const struct plan_time *t, double parameters, double replicas, double shard, double apart,
                     struct terms *out)
{
    double gradient = sent_gradient(t);
    add_data_group(t, data_volume(t, parameters, shard), shard, apart, out);
    add_buckets(t, parameters, shard, apart, out);
    if (shard < replicas) {
        double copies = replicas / shard;
        add_data_group(t, 2 * gradient * parameters / shard * (copies - 1) / copies, copies, apart * shard, out);
    }
}

/* Gathers of stored weights, forward and, if they are resharded after that, backward; each rank's part comes from the
 * host if that has them. */
static void add_frozen_gathers(const struct plan_time *t, double parameters, struct terms *out)
{
    double stored = tuning_weight_bytes(t->plan), passes = t->plan->zero_stage == 3 ? 2 : 1;
    double gathers = holds_stage(t) ? 1 : passes * (double)t->plan->micro_batches;
    double bytes = gathers * (stored > 0 ? stored : gathered_bytes(t)) * parameters;
    if (is_sharded_at_rest(t))
        add_data_group(t, bytes * (t->shards - 1) / t->shards, t->shards, t->tensor, out);
    if (t->plan->offload == OFFLOAD_PARAMETERS)
        out->x[TIME_OFFLOAD] += bytes / t->shards / t->cluster->pcie_bytes_per_s;
}

/* Bytes of a gradient that cross PCIe in a step. Where the host accumulates, each micro-batch adds on the device what
 * the host has, but for stage 2's first, and the last one brings the sum in fp32: step_time.h. */
static double offloaded_gradient(const struct plan_time *t)
{
    double m = t->plan->zero_stage >= 2 ? (double)t->plan->micro_batches : 1;
    bool accumulates = t->framework->time.host_accumulates != 0;
    double returned = t->plan->zero_stage == 3 ? m : m - 1, sent = t->plan->zero_stage == 3 || m > 1 ? m : 0;
    return accumulates ? 4 + 2 * (sent + returned) : 2 * m;
}

/* Bytes per parameter of an optimizer on the host, which reads four numbers and writes three; with a master copy,
 * scaling the gradient and narrowing the weight are passes of their own. */
static double host_traffic(const struct plan_time *t)
{
    const struct memory_coefficients *c = &t->framework->memory;
    return c->master > 0 ? 7 * 4 + 8 + 6 : 7 * layer_weight_bytes(t->plan, c);
}

static void add_offload(const struct plan_time *t, double parameters, double shards, struct terms *out)
{
    double mine = parameters / shards, m = (double)t->plan->micro_batches;
    double moved = offloaded_gradient(t) * mine + 2 * mine;
    if (t->plan->offload == OFFLOAD_NONE)
        return;
    if (t->plan->offload == OFFLOAD_PARAMETERS)
        moved += 4 * mine * m;
    bool is_torch = t->framework->time.host_accumulates == 0;
    double link = fmin(t->cluster->pcie_bytes_per_s, is_torch ? TORCH_LINK : INFINITY);
    double host = fmin(t->cluster->host_bytes_per_s, is_torch ? TORCH_HOST : INFINITY);
    out->x[TIME_OFFLOAD] += moved / link + host_traffic(t) * mine * (double)t->cluster->devices_per_node / host;
}

/* Sharded parameters are prefetched and buckets overlap, whatever the plan says. Where unfused adapters are units of
 * their own, what is prefetched during a layer is only an adapter. */
static bool overlaps(const struct plan_time *t, bool said)
{
    bool in_buckets = t->plan->zero_stage == 0 && t->framework->time.bucket_bytes > 0;
    bool between =
        t->framework->time.adapter_units != 0 && t->plan->tuning != TUNING_FULL && t->plan->adapters != ADAPTERS_FUSED;
    return said || in_buckets || (is_sharded_at_rest(t) && !between);
}

/* The share of sharded parameters whose gradients are reduced when nothing is left to compute: step_time.h. */
static double edge_share(const struct plan_time *t)
{
    double layer = layer_weights(t) + t->layer.norms, root = t->vocab * t->hidden / t->tensor;
    bool apart = is_sharded_at_rest(t) && !holds_stage(t);
    return apart ? (layer + root) / (t->layers / (double)t->plan->pipeline * layer + root) : 0;
}

static void hide_data(const struct plan_time *t, struct terms *out)
{
    const double *weights = t->framework->time.nominal;
    struct sent_bytes parts = sent_bytes(t);
    double m = sharded_passes(t), gradients = parts.gradients / (parts.gradients + parts.parameters);
    double sent =
        weights[TIME_DATA_INTRA] * out->x[TIME_DATA_INTRA] + weights[TIME_DATA_INTER] * out->x[TIME_DATA_INTER];
    double stage = computing(t, &t->of_layer) * t->layers / (double)t->plan->pipeline, forward = stage / t->passes;
    bool each = reduces_each(t);
    bool reduces_behind = overlaps(t, t->plan->overlap_gradients) && !holds_stage(t); /* otherwise after all passes */
    bool in_turn = t->plan->gathers_in_turn && is_sharded_at_rest(t);
    double behind_gradients = reduces_behind && !in_turn ? 2 * forward * (each ? m : 1) : 0;
    bool both_passes = t->plan->zero_stage == 3 && !in_turn;
    double gathering = holds_stage(t) || !is_sharded_at_rest(t) ? 1 : both_passes ? 3 * m : m;
    double behind_parameters = overlaps(t, t->plan->overlap_parameters) ? forward * gathering : 0;
    double edge = edge_share(t), gathered_edge = t->plan->zero_stage == 3 ? edge / 2 : edge;
    double hidden = fmin((1 - edge) * gradients * sent, behind_gradients) +
                    fmin((1 - gathered_edge) * (1 - gradients) * sent, behind_parameters);
    hidden = fmin(hidden, stage * (each ? m : 1)); /* both overlap the backward pass, one after the other */
    double left = sent > 0 ? 1 - (1 - contention(t)) * hidden / sent : 1;
    out->x[TIME_DATA_INTRA] *= left;
    out->x[TIME_DATA_INTER] *= left;
}

/* Bytes per parameter that the optimizer's step moves: step_time.h. */
static double stepped_bytes(const struct plan_time *t)
{
    const struct memory_coefficients *c = &t->framework->memory;
    struct state_bytes s = stage_state_bytes(t->plan, c);
    if (s.master > 0 || t->plan->tuning != TUNING_FULL)
        return OPTIMIZER_TRAFFIC;
    return t->plan->optimizer == OPTIMIZER_ADAM && stage_step_bytes(t->plan, c) > 0
               ? 10 * s.parameter + 2 * s.gradient + 4 * s.moments
               : 2 * s.parameter + s.gradient + 2 * s.moments;
}

static void add_step(const struct plan_time *t, struct terms *out)
{
    double p = (double)t->plan->pipeline;
    double dense = t->layers / p * ((t->layer.attention + t->layer.mlp) / t->tensor + t->layer.norms) +
                   t->vocab * t->hidden / t->tensor;
    double experts = t->layers / p * t->layer.experts / ((double)t->plan->expert_tensor * (double)t->plan->expert);
    double shards = t->plan->zero_stage >= 1 ? t->shards : 1, tensors = trained_share(t) * layer_tensors(t);
    if (t->plan->tuning != TUNING_FULL) {
        add_frozen_gathers(t, dense + experts, out);
        tensors = 2 * t->adapters.modules;
        dense = t->layers / p * t->adapters.dense + tuning_saved(t->a, t->plan, true, p == 1);
        experts = t->layers / p * t->adapters.experts;
    } else {
        dense *= trained_share(t);
        experts *= trained_share(t);
    }
    add_data(t, dense, t->replicas, t->shards, t->tensor, out);
    double expert_replicas = plan_expert_replicas(t->plan);
    if (experts > 0)
        add_data(t, experts, expert_replicas, plan_shards(t->plan, expert_replicas),
                 (double)t->plan->expert_tensor * (double)t->plan->expert, out);
    add_unit_latency(t, out);
    hide_data(t, out);
    if (t->plan->offload == OFFLOAD_NONE)
        out->x[TIME_OPTIMIZER] += stepped_bytes(t) * (dense + experts) / shards / t->bandwidth;
    if (t->plan->zero_stage == 1 && t->shards > 1)
        out->x[TIME_LAUNCH] += t->cluster->device->launch_factor * COPY_LAUNCHES * t->framework->time.gathered_tensors *
                               t->layers / p * t->shards;
    add_offload(t, dense + experts, shards, out);
    if (t->plan->optimizer == OPTIMIZER_MUON && t->plan->tuning == TUNING_FULL)
        out->x[TIME_MATRICES] += t->layers / p * trained_share(t) * flops_orthogonalised(t->a, t->plan) /
                                 (t->plan->zero_stage < 3 ? shards : 1) / peak_in(t, PRECISION_BF16);
    out->x[TIME_STEP] += (OUTER_TENSORS + tensors * t->layers / p) / STEPPED_TENSORS;
}

bool step_predict(const struct architecture *a, const struct training_plan *plan, const struct cluster *cluster,
                  const struct framework *framework, struct step_prediction *out)
{
    struct plan_time t = {.a = a, .plan = plan, .cluster = cluster, .framework = framework};
    struct terms terms = {{0}};
    set_up(&t);
    t.of_layer = layer_terms(&t);
    add_stages(&t, &terms);
    add_step(&t, &terms);
    double seconds = weighted_sum(framework->time.weights, terms.x, TIME_TERM_COUNT);
    if (!(seconds > 0 && seconds < SECONDS_MOST))
        return false;
    *out = (struct step_prediction){.seconds = seconds, .sigma = framework->time.sigma};
    memcpy(out->terms, terms.x, sizeof out->terms);
    return true;
}
