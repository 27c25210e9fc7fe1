/* How a model is trained: degrees of parallelism, batch, schedule, and what is kept or recomputed.
 *
 *   t    tensor degree                      p    pipeline degree (stages)      v    virtual stages per rank
 *   c    context degree                     e    expert degree                 et   expert-tensor degree
 *   N    data-parallel degree, without c    b    sequences per micro-batch     s    tokens per sequence
 *   m    micro-batches per step and pipeline (gradient accumulation)
 *
 *   world size      W = t·c·p·N   ranks
 *   micro-batch     T = b·s/c     tokens on a rank
 *   global batch    b·m·N         sequences per step
 *
 * Rules decide whether a framework accepts a plan (heads divisible by t, p·v dividing the layers, …). This module
 * refuses only plans for which the formulas are meaningless. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "predict/architecture.h"
#include "util/error.h"

/* INTERLEAVED: v > 1. ZB_H1 splits the backward pass and fills bubbles with weight gradients. ZB_V and DUALPIPE_V give
 * each rank two parts of the model, which passes the ranks once in order and once in reverse. */
enum pipeline_schedule {
    SCHEDULE_1F1B = 0,
    SCHEDULE_GPIPE,
    SCHEDULE_INTERLEAVED,
    SCHEDULE_ZB_H1,
    SCHEDULE_ZB_V,
    SCHEDULE_DUALPIPE_V,
    SCHEDULE_END,
};
/* SELECTIVE: attention scores, or the modules in recompute_modules. OPERATIONS: all but the output of every second
 * matrix product (torch's selective activation checkpointing as torchtitan sets it). */
enum recompute { RECOMPUTE_NONE = 0, RECOMPUTE_SELECTIVE, RECOMPUTE_OPERATIONS, RECOMPUTE_FULL };

/* The layers that recompute if recompute_layers is given. BLOCK: the first ones of a stage; UNIFORM: all, in groups of
 * recompute_layers that keep only the group's input (Megatron-LM --recompute-method). */
enum recompute_method { RECOMPUTE_BLOCK = 0, RECOMPUTE_UNIFORM };

/* How tokens reach their experts. ALL_GATHER: every rank gets all tokens. ONCE: each node, or rank within a node, gets
 * a token once, however many of its experts are there (DeepEP, HybridEP). Source: Megatron-LM
 * core/transformer/moe/token_dispatcher.py. */
enum expert_dispatcher { DISPATCH_ALL_TO_ALL = 0, DISPATCH_ALL_GATHER, DISPATCH_ONCE };

/* Modules that selective recompute drops, as bits (Megatron-LM --recompute-modules). */
enum recompute_module {
    MODULE_CORE_ATTN = 1,
    MODULE_LAYERNORM = 2,
    MODULE_MLA_UP_PROJ = 4,
    MODULE_MLP = 8,
    MODULE_MOE_ACT = 16,
    MODULE_MOE = 32,
    MODULE_SHARED_EXPERTS = 64,
    MODULE_MLP_ACT = 128, /* what torch.compile recomputes by itself; not in Megatron-LM */
};
/* FUSED: one kernel over the logits; TE: TransformerEngine's; LINEAR: fused with the head, without logits. */
enum loss_kernel { LOSS_EAGER = 0, LOSS_FUSED, LOSS_TE, LOSS_LINEAR, LOSS_COMPILED, LOSS_END };
/* What a loop has of a pass's output until it has the next one's: logits, or its keys and values as well. */
enum held_outputs { HELD_NONE = 0, HELD_LOGITS, HELD_CACHE };
enum offload { OFFLOAD_NONE = 0, OFFLOAD_OPTIMIZER, OFFLOAD_PARAMETERS }; /* PARAMETERS: optimizer, too */
/* Precision of matrix products; fp16 counts as bf16. TF32: numbers in fp32, products on tensor cores. */
enum precision { PRECISION_BF16 = 0, PRECISION_FP8, PRECISION_FP4, PRECISION_FP32, PRECISION_TF32 };

/* Type of the trained weights if the framework keeps no master copy; FRAMEWORK: as in its profile. */
enum weights_type { WEIGHTS_FRAMEWORK = 0, WEIGHTS_16, WEIGHTS_FP32 };

enum optimizer {
    OPTIMIZER_ADAM = 0,
    OPTIMIZER_ADAM_8BIT,
    OPTIMIZER_ADAM_TORCH_8BIT,
    OPTIMIZER_ADAM_TORCH_4BIT,
    OPTIMIZER_LION,
    OPTIMIZER_MUON,
    OPTIMIZER_SGD_MOMENTUM,
    OPTIMIZER_SGD,
    OPTIMIZER_END,
};

/* FUSED: one kernel for the whole step; FOREACH: lists of tensors, with temporaries as large as the parameters. */
enum optimizer_kernel { OPTIMIZER_KERNEL_FRAMEWORK = 0, OPTIMIZER_KERNEL_FUSED, OPTIMIZER_KERNEL_FOREACH };

/* FULL: all weights but those of frozen_layers are trained; otherwise only low-rank adapters (tuning.h). */
enum tuning {
    TUNING_FULL = 0,
    TUNING_LORA,
    TUNING_DORA,
    TUNING_ADALORA,
    TUNING_IA3,
    TUNING_OFT,
    TUNING_VERA,
};

/* Modules that are trained whole beside adapters, as bits (peft, modules_to_save). */
enum saved_module { SAVED_EMBEDDING = 1, SAVED_HEAD = 2 };

/* Modules that have adapters, as bits. QKV and GATE_UP are fused matrices. */
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

/* FRAMEWORK: the framework's choice; NONE: attention is not fused; EAGER: nor is its softmax; FLASH_2:
 * FlashAttention-2; LATEST: kernels written for the device (cuDNN, later FlashAttention); TRITON: the first
 * FlashAttention, in Triton (llm-foundry); SDPA: as FRAMEWORK, by PyTorch's function, whose kernel depends on the mask;
 * CUDNN: by it, LATEST's, which takes masks. */
enum attention_kernel {
    ATTENTION_KERNEL_FRAMEWORK = 0,
    ATTENTION_KERNEL_NONE,
    ATTENTION_KERNEL_FLASH_2,
    ATTENTION_KERNEL_LATEST,
    ATTENTION_KERNEL_TRITON,
    ATTENTION_KERNEL_SDPA,
    ATTENTION_KERNEL_EAGER,
    ATTENTION_KERNEL_CUDNN,
};

/* FUSED: one kernel, even if the framework has none; EAGER: none, even if it has one. */
enum norm_kernel { NORMS_FRAMEWORK = 0, NORMS_FUSED, NORMS_EAGER };

/* FUSED: one autograd function for a frozen product and its adapters, which are then not sharded (fms-acceleration
 * fused_ops/unsloth_lora). */
enum adapter_kernel { ADAPTERS_FRAMEWORK = 0, ADAPTERS_FUSED };

/* Scales and casts of products in fp8. FRAMEWORK, FUSED: one kernel (Transformer Engine); EAGER: torch's operations,
 * one after the other, unless the plan is compiled. */
enum cast_kernel { CASTS_FRAMEWORK = 0, CASTS_FUSED, CASTS_EAGER };

/* LOOPED: one expert's products after another's; GROUPED: all experts' products at once. */
enum expert_kernel { EXPERTS_FRAMEWORK = 0, EXPERTS_LOOPED, EXPERTS_GROUPED };

/* How GPTQ's weights become those of a product. FUSED: by one kernel; UNPACKED: by torch's operations, one after
 * another. */
enum quantization_kernel { QUANTIZED_FRAMEWORK = 0, QUANTIZED_FUSED, QUANTIZED_UNPACKED };

/* Quantization of the layers' frozen weights. */
enum quantization {
    QUANTIZATION_NONE = 0,
    QUANTIZATION_NF4,
    QUANTIZATION_NF4_DOUBLE,
    QUANTIZATION_GPTQ,
    QUANTIZATION_INT8,
    QUANTIZATION_FP8,
    QUANTIZATION_AQLM,
    QUANTIZATION_EETQ,
    QUANTIZATION_HQQ,
    QUANTIZATION_TORCHAO_INT4,
    QUANTIZATION_TORCHAO_INT8,
    QUANTIZATION_END,
};

/* Cuts of layers into stages.
 *   UNIFORM   layers / p each; the first stages get one of the remaining layers each
 *   BY_COST   nanotron: blocks are assigned in order, and stage k ends once the running sum of 4·a·d·h + 3·f·h per
 *             layer (and V·h for the head) has reached (k + 1)/p of the total, so the last stage, which has the head,
 *             holds fewer layers */
enum stage_split { SPLIT_UNIFORM = 0, SPLIT_BY_COST };

/* Whether each sequence of a batch has `sequence` tokens (packed, or padded to that) or batches differ in length. */
enum lengths { LENGTHS_UNKNOWN = 0, LENGTHS_EQUAL, LENGTHS_VARY };

/* Zero stands for 1 where nothing else is said; for an enum it is the first enumerator. */
struct training_plan {
    int64_t tensor, pipeline, virtual_stages, data, context, expert;
    int64_t expert_tensor; /* 0: same as tensor, or less if the experts' group is smaller */
    int64_t zero_stage;    /* 0 to 3 */
    int64_t shard_ranks;   /* ranks over which a parameter's states are sharded (HSDP); 0: all its replicas */
    int64_t micro_batch, micro_batches, sequence; /* sequence 0: the image tokens of a ViT */
    enum pipeline_schedule schedule;
    enum stage_split split;
    /* Uneven stages under SPLIT_UNIFORM; at most one of these three ways. */
    int64_t first_layers, last_layers; /* of the first and last stage; 0: as many as the others */
    bool count_embedding, count_head;  /* as a layer each */
    bool is_uneven;                    /* any of the three is given; set by plan_complete */
    const char *layout;                /* layout.h; borrowed; NULL: none */
    unsigned modules;                  /* bits of enum recompute_module */
    int64_t gradient_bytes;            /* per parameter; 0: the framework's */
    int64_t offload_layers;            /* layers of a stage whose activations are offloaded to the host */
    int64_t bucket_elements;           /* of gradients that are reduced at once; 0: the framework's */
    bool unbucketed;                   /* gradients are reduced where they are, without DDP's buckets */
    int64_t moment_bytes;              /* per parameter, all moments together; 0: the optimizer's */
    enum tuning tuning;
    enum quantization quantization;
    int64_t lora_rank;
    unsigned lora_targets;  /* bits of enum tuning_target */
    unsigned saved_modules; /* bits of enum saved_module */
    bool lora_dropout;
    bool kbit_preparation; /* peft's: non-quantised weights, and so activation checkpoints, are in fp32 */
    enum recompute recompute;
    int64_t recompute_layers; /* per virtual stage; 0: all */
    int64_t recompute_every;  /* only every n-th layer recomputes; 0: every layer */
    enum recompute_method recompute_method;
    bool overlap_gradients, overlap_parameters, overlap_tensor,
        overlap_expert;     /* communication that computation hides */
    bool gathers_in_turn;   /* FSDP1 without prefetching in the backward pass */
    bool unlimited_gathers; /* of FSDP1: the host may start those of all layers at once */
    bool vocab_units;       /* of FSDP: embedding and head are units of their own, not the root's */
    enum expert_dispatcher dispatcher;
    enum loss_kernel loss;
    bool expandable_segments; /* torch's allocator leaves no unusable pieces */
    bool autocasts;           /* torch.autocast, whatever the weights' type */
    bool syncs_each_batch;    /* gradients of a micro-batch are reduced even where more follow */
    bool syncs_last_batch;    /* under FSDP they are whole until the last one */
    bool gathers_logits;      /* for the loss, whole on each tensor-parallel rank */
    bool narrow_loss;         /* of logits as they are, in 16 bits, unless hidden states are in fp32 */
    enum held_outputs held;
    bool loaded_whole; /* stage 3: all weights are on the device before they are divided */
    enum offload offload;
    enum optimizer optimizer;
    enum optimizer_kernel optimizer_kernel;
    enum precision precision;
    enum weights_type weights;
    bool narrow_weights;   /* under fp8 or fp4, weights have no other copy in 16 bits */
    bool balanced_experts; /* all get the same number of tokens */
    int64_t frozen_layers; /* leading layers that are not trained, nor is the embedding then */
    enum norm_kernel norms;
    enum adapter_kernel adapters;
    enum cast_kernel casts;
    enum expert_kernel experts;
    enum quantization_kernel quantized_by;
    bool padding_mask; /* attention of the framework or of sdpa gets one */
    enum lengths lengths;
    bool is_bfloat;           /* of the kinds of 16 bits it is said to be bf16 */
    bool wide_products;       /* layers' products are in fp32, whatever the precision */
    bool deterministic;       /* kernels sum in one order */
    bool padding_free;        /* sequences are as long as they are, `sequence` at most */
    int64_t mean_tokens;      /* of padding-free ones, on average; 0: not known, so `sequence` */
    int64_t packed_tokens;    /* tokens per document of a packed sequence, which see only each other; 0: no packing */
    int64_t bf16_layers;      /* layers of the model that stay in bf16 under fp8 or fp4 */
    int64_t decoder_sequence; /* tokens of T5's decoder; only for T5; 0: same as sequence */
    int64_t unit_parameters;  /* FSDP: the least of a unit, made of modules from the smallest up; 0: layers are units */
    bool divided_checkpoints; /* full recompute: a layer's input is divided by t, whatever else is */
    bool sequence_parallel;   /* activations outside the matrices are also divided by t */
    bool keeps_gathered;      /* inputs gathered by sequence parallelism are kept for the backward pass */
    bool flash_attention;     /* scores are never stored */
    bool cuda_graphs;         /* the host launches a layer's kernels at once */
    bool compiled;            /* a compiler fuses elementwise operations */
    enum attention_kernel attention_kernel; /* not NONE if flash_attention */
};

/* Fills in the defaults; `a` must be complete. -1 (ERROR_USAGE), `plan` untouched, if a number is negative or too
 * large, a stage would have no layer, experts cannot be divided evenly over their ranks, or keys contradict each other.
 */
int plan_complete(struct training_plan *plan, const struct architecture *a, struct error *e);

/* All functions below need a completed plan. */

static inline double plan_world(const struct training_plan *plan)
{
    return (double)plan->tensor * (double)plan->context * (double)plan->pipeline * (double)plan->data;
}
static inline bool plan_is_fp32(const struct training_plan *plan)
{
    return plan->precision == PRECISION_FP32 || plan->precision == PRECISION_TF32;
}
/* Memory is that of the longest batch, whose sequences have `sequence` tokens; time that of one with so many. */
static inline int64_t plan_mean_sequence(const struct training_plan *plan)
{
    return plan->padding_free && plan->mean_tokens > 0 ? plan->mean_tokens : plan->sequence;
}
/* T, the tokens of a micro-batch on a rank. */
static inline double plan_tokens(const struct training_plan *plan)
{
    return (double)plan->micro_batch * (double)plan->sequence / (double)plan->context;
}

/* Work per token of T5's encoder, averaged over all layers, where the decoder has δ tokens for each of the encoder's:
 * in layers for parts that a layer has once (an MLP), and in attention blocks. Cross-attention projects keys and
 * values, half of its projections, from the encoder's tokens. Other models: 1, and the share of layers with attention.
 */
double plan_decoder_share(const struct training_plan *plan); /* δ */
double plan_layer_share(const struct training_plan *plan, const struct architecture *a);
double plan_attention_blocks(const struct training_plan *plan, const struct architecture *a);

double plan_global_batch(const struct training_plan *plan); /* sequences per step */

/* Ranks that hold a copy of a dense parameter: N·c; of an expert's parameter: W / (et·e·p), at least 1. */
static inline double plan_replicas(const struct training_plan *plan)
{
    return (double)plan->data * (double)plan->context;
}
double plan_expert_replicas(const struct training_plan *plan);

/* Ranks over which states are sharded: the smaller of `replicas` and shard_ranks, if that is given. */
double plan_shards(const struct training_plan *plan, double replicas);

/* Layers of stage 0 … p - 1, and the stage that has the head (with SPLIT_BY_COST not always the last). */
double plan_stage_layers(const struct training_plan *plan, const struct architecture *a, int64_t stage);
int64_t plan_head_stage(const struct training_plan *plan, const struct architecture *a);

/* The share of a stage's layers that recompute anything. */
double plan_recompute_share(const struct training_plan *plan, double layers);

/* Micro-batches whose activations stage k holds at once, in units of the whole stage (fractions if interleaved):
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

/* The schedule's pipeline bubble as a share of that of 1F1B: 1; ZB-H1 and DualPipe-V a third, as forward, backward and
 * weight passes are taken to be equally long ((p - 1)·(F + B - W) of (p - 1)·(F + B + W)); ZB-V none. */
double plan_waiting_share(const struct training_plan *plan);
