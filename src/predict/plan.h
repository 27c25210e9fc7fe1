/* How a model is trained: degrees of parallelism, batch, schedule, and what is kept or computed again.
 *
 *   t    tensor degree                      p    pipeline degree (stages)      v    virtual stages per rank
 *   c    context degree                     e    expert degree                 et   expert-tensor degree
 *   N    data-parallel degree, without c    b    sequences per micro-batch     s    tokens per sequence
 *   m    micro-batches per step and pipeline (gradient accumulation)
 *
 *   world size      W = t·c·p·N   ranks
 *   micro-batch     T = b·s/c     tokens of it on a rank
 *   global batch    b·m·N         sequences per step
 *
 * Whether a framework accepts a plan (heads divisible by t, p·v dividing the layers, …) is a matter of rules, not of
 * this: here only what would make the formulas meaningless is refused. Pure. */
#ifndef MESHSWEEP_PREDICT_PLAN_H
#define MESHSWEEP_PREDICT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "predict/architecture.h"
#include "util/error.h"

/* Interleaved: v > 1. ZB_H1 splits the backward pass and fills bubbles with weight gradients; ZB_V and DUALPIPE_V give
 * a rank two parts of the model, the first on the way there and the second on the way back. */
enum pipeline_schedule {
    SCHEDULE_1F1B = 0,
    SCHEDULE_GPIPE,
    SCHEDULE_INTERLEAVED,
    SCHEDULE_ZB_H1,
    SCHEDULE_ZB_V,
    SCHEDULE_DUALPIPE_V,
    SCHEDULE_END,
};
/* Selective: attention scores, or what is in recompute_modules. OPERATIONS: all but the output of every second matrix
 * product (torch's selective activation checkpointing as torchtitan sets it). */
enum recompute { RECOMPUTE_NONE = 0, RECOMPUTE_SELECTIVE, RECOMPUTE_OPERATIONS, RECOMPUTE_FULL };

/* Which layers of a stage that has recompute_layers: its first ones, or all, kept by groups of so many (Megatron-LM
 * --recompute-method). */
enum recompute_method { RECOMPUTE_BLOCK = 0, RECOMPUTE_UNIFORM };

/* How tokens reach their experts. ALL_GATHER: all tokens everywhere. ONCE: a token once to each node, or rank within
 * one, however many of its experts are there (DeepEP, HybridEP). Megatron-LM core/transformer/moe/token_dispatcher.py.
 */
enum expert_dispatcher { DISPATCH_ALL_TO_ALL = 0, DISPATCH_ALL_GATHER, DISPATCH_ONCE };

/* Bits of what selective recompute drops (Megatron-LM --recompute-modules). */
enum recompute_module {
    MODULE_CORE_ATTN = 1,
    MODULE_LAYERNORM = 2,
    MODULE_MLA_UP_PROJ = 4,
    MODULE_MLP = 8,
    MODULE_MOE_ACT = 16,
    MODULE_MOE = 32,
    MODULE_SHARED_EXPERTS = 64,
    MODULE_MLP_ACT = 128, /* what torch.compile does by itself; not one of Megatron-LM's */
};
/* FUSED: one kernel over the logits; TE: TransformerEngine's; LINEAR: fused with the head, no logits at all. */
enum loss_kernel { LOSS_EAGER = 0, LOSS_FUSED, LOSS_TE, LOSS_LINEAR, LOSS_END };
enum offload { OFFLOAD_NONE = 0, OFFLOAD_OPTIMIZER, OFFLOAD_PARAMETERS }; /* parameters: and the optimizer */
/* Of matrices; fp16 is as bf16. TF32: numbers are in fp32, and products on tensor cores. */
enum precision { PRECISION_BF16 = 0, PRECISION_FP8, PRECISION_FP4, PRECISION_FP32, PRECISION_TF32 };

/* Of what the optimizer steps, where a framework keeps no master copy; FRAMEWORK: as its profile has it. */
enum weights_type { WEIGHTS_FRAMEWORK = 0, WEIGHTS_16, WEIGHTS_FP32 };

enum optimizer {
    OPTIMIZER_ADAM = 0,
    OPTIMIZER_ADAM_8BIT,
    OPTIMIZER_ADAM_4BIT,
    OPTIMIZER_LION,
    OPTIMIZER_MUON,
    OPTIMIZER_SGD_MOMENTUM,
    OPTIMIZER_SGD,
    OPTIMIZER_END,
};

/* FUSED: one kernel for all of a step; FOREACH: by lists of tensors, with temporaries as large as the parameters. */
enum optimizer_kernel { OPTIMIZER_KERNEL_FRAMEWORK = 0, OPTIMIZER_KERNEL_FUSED, OPTIMIZER_KERNEL_FOREACH };

/* FULL: all weights are trained (but those of frozen_layers); else low-rank adapters alone (tuning.h). */
enum tuning { TUNING_FULL = 0, TUNING_LORA, TUNING_DORA };

/* Modules that have adapters, as bits. QKV and GATE_UP are one matrix for what others have in parts. */
enum tuning_target {
    TARGET_Q = 1,
    TARGET_K = 2,
    TARGET_V = 4,
    TARGET_QKV = 8,
    TARGET_O = 16,
    TARGET_GATE = 32,
    TARGET_UP = 64,
    TARGET_GATE_UP = 128,
    TARGET_DOWN = 256,
    TARGET_HEAD = 512,
    TARGETS_OF_ATTENTION = TARGET_Q | TARGET_K | TARGET_V | TARGET_O,
    TARGETS_OF_MLP = TARGET_GATE | TARGET_UP | TARGET_DOWN,
};

/* FLASH_2: FlashAttention-2's; LATEST: those written for the device, cuDNN's and later FlashAttentions'. FRAMEWORK:
 * what it takes; NONE: attention is not fused. */
enum attention_kernel {
    ATTENTION_KERNEL_FRAMEWORK = 0,
    ATTENTION_KERNEL_NONE,
    ATTENTION_KERNEL_FLASH_2,
    ATTENTION_KERNEL_LATEST,
};

/* FUSED: a kernel, whatever the framework has. */
enum norm_kernel { NORMS_FRAMEWORK = 0, NORMS_FUSED };

/* FUSED: one function of autograd for a frozen product and its adapters, which are then not sharded (fms-acceleration
 * fused_ops/unsloth_lora). */
enum adapter_kernel { ADAPTERS_FRAMEWORK = 0, ADAPTERS_FUSED };

/* LOOPED: each expert's products by themselves; GROUPED: those of all at once. */
enum expert_kernel { EXPERTS_FRAMEWORK = 0, EXPERTS_LOOPED, EXPERTS_GROUPED };

/* Of the frozen weights of layers. */
enum quantization {
    QUANTIZATION_NONE = 0,
    QUANTIZATION_NF4,
    QUANTIZATION_NF4_DOUBLE,
    QUANTIZATION_GPTQ,
    QUANTIZATION_INT8,
    QUANTIZATION_END,
};

/* Where layers are cut into stages.
 *   UNIFORM   layers / p each; what is left over, one each to the first stages
 *   BY_COST   nanotron: blocks are dealt out in order, the next stage begins once the running sum of 4·a·d·h + 3·f·h
 *             per layer (and V·h for the head) has reached (k + 1)/p of the whole, so the last stage, which has the
 *             head, holds fewer layers */
enum stage_split { SPLIT_UNIFORM = 0, SPLIT_BY_COST };

/* Zero means 1, or the first of the enumerators. */
struct training_plan {
    int64_t tensor, pipeline, virtual_stages, data, context, expert;
    int64_t expert_tensor; /* 0: as tensor, as far as the experts' group allows */
    int64_t zero_stage;    /* 0 to 3 */
    int64_t shard_ranks;   /* ranks that a parameter's states are sharded over (HSDP); 0: all that replicate it */
    int64_t micro_batch, micro_batches, sequence; /* sequence 0: ViT's image tokens */
    enum pipeline_schedule schedule;
    enum stage_split split;
    /* Uneven stages under a uniform split; at most one of the three ways. */
    int64_t first_layers, last_layers;    /* of the first and last stage; 0: as the others */
    bool count_embedding, count_head;     /* as a layer */
    bool is_uneven;                       /* one of them is given; plan_complete says so */
    const char *layout;                   /* layout.h, borrowed; NULL: none */
    unsigned modules;                     /* of enum recompute_module */
    int64_t offload_layers;               /* layers of a stage whose activations wait on the host */
    int64_t gradient_bytes, moment_bytes; /* per parameter, moments together; 0: the framework's, the optimizer's */
    enum recompute recompute;
    int64_t recompute_layers; /* of each part of a stage; 0: all */
    int64_t recompute_every;  /* every so many-th layer; 0: every one */
    enum recompute_method recompute_method;
    bool overlap_gradients, overlap_parameters, overlap_tensor, overlap_expert; /* communication behind computing */
    enum expert_dispatcher dispatcher;
    enum loss_kernel loss;
    enum offload offload;
    enum optimizer optimizer;
    enum optimizer_kernel optimizer_kernel;
    enum precision precision;
    enum weights_type weights;
    int64_t bf16_layers;   /* of the model, whose products are in 16 bits although precision has fewer */
    bool balanced_experts; /* each gets as many tokens as any */
    enum tuning tuning;
    enum quantization quantization;
    int64_t lora_rank;
    unsigned lora_targets; /* of enum tuning_target */
    bool lora_dropout;
    bool kbit_preparation; /* what is not quantised, and with it checkpoints, in fp32 (peft's preparation) */
    int64_t frozen_layers; /* leading ones, and the embedding, that are not trained */
    enum norm_kernel norms;
    enum adapter_kernel adapters;
    enum expert_kernel experts;
    bool padding_free; /* micro-batches have mean_tokens a sequence, if that is known, instead of `sequence` */
    int64_t mean_tokens;
    int64_t packed_tokens;    /* of a document of those packed into a sequence, which its tokens see alone; 0: all */
    int64_t decoder_sequence; /* tokens of the decoder of T5 alone; 0: as many as sequence */
    bool sequence_parallel;   /* activations outside the matrices are divided by t, too */
    bool keeps_gathered;      /* what sequence parallelism gathers for a matrix product is kept, not gathered again */
    bool flash_attention;     /* scores are never stored */
    enum attention_kernel attention_kernel; /* where flash_attention; never NONE */
};

/* Fills in the defaults for a completed architecture. -1 (ERROR_USAGE), with `plan` as it was, when a number
 * is negative or absurdly large, a stage would have no layer, or experts do not divide over their ranks. */
int plan_complete(struct training_plan *plan, const struct architecture *a, struct error *e);

/* The rest wants a completed plan. */

static inline double plan_world(const struct training_plan *plan)
{
    return (double)plan->tensor * (double)plan->context * (double)plan->pipeline * (double)plan->data;
}
static inline bool plan_is_fp32(const struct training_plan *plan)
{
    return plan->precision == PRECISION_FP32 || plan->precision == PRECISION_TF32;
}
/* T */
static inline double plan_tokens(const struct training_plan *plan)
{
    return (double)plan->micro_batch * (double)plan->sequence / (double)plan->context;
}

/* Of T5, whose decoder has δ tokens for each of the encoder, per token of the latter: layers' worth of what each layer
 * has once (an MLP), and of attention blocks, over all layers. A decoder's second block reads keys and values of the
 * encoder, half of what it projects. 1 and the share of layers with attention of other models. */
double plan_decoder_share(const struct training_plan *plan); /* δ */
double plan_layer_share(const struct training_plan *plan, const struct architecture *a);
double plan_attention_blocks(const struct training_plan *plan, const struct architecture *a);

double plan_global_batch(const struct training_plan *plan); /* sequences per step */

/* Ranks that hold a copy of a dense parameter (N·c), and of an expert's (W / (et·e·p), at least 1). */
static inline double plan_replicas(const struct training_plan *plan)
{
    return (double)plan->data * (double)plan->context;
}
double plan_expert_replicas(const struct training_plan *plan);

/* Ranks over which states are sharded: `replicas`, or shard_ranks when that is less. */
double plan_shards(const struct training_plan *plan, double replicas);

/* Layers of stage 0 … p - 1, and the stage that has the head (not always the last when cut by cost). */
double plan_stage_layers(const struct training_plan *plan, const struct architecture *a, int64_t stage);
int64_t plan_head_stage(const struct training_plan *plan, const struct architecture *a);

/* Of a stage's layers, the share that recomputes anything. */
double plan_recompute_share(const struct training_plan *plan, double layers);

/* Micro-batches whose activations stage k holds at once, in units of the whole stage (interleaving makes fractions):
 *
 *   GPipe         m
 *   1F1B          min(p - k, m)
 *   interleaved   min(2·(p - k - 1) + (v - 1)·p + 1, m·v) / v
 *   ZB-H1         as 1F1B (arXiv 2401.10241)
 *   ZB-V          min(p, m) on every stage (arXiv 2405.15362)
 *   DualPipe-V    min(p + 1/2, m) on every stage (github.com/deepseek-ai/DualPipe)
 *
 * Source: Megatron-LM megatron/core/pipeline_parallel/schedules.py; interleaved on stage 0 equals the
 * p·(1 + (p - 1)/(p·v)) of arXiv 2205.05198. */
double plan_in_flight(const struct training_plan *plan, int64_t stage);

/* Share of a pipeline's waiting that its schedule leaves: 1, ZB-H1 a third (forward, backward and weight passes of
 * equal length: (p - 1)·(F + B - W) of (p - 1)·(F + B + W)), DualPipe-V too, ZB-V none. */
double plan_waiting_share(const struct training_plan *plan);

#endif
