/* The memory of a rank of one pipeline stage. Symbols are those of architecture.h and plan.h.
 *
 *   parameters   of a rank                                                                             source
 *   layers       matrices / t                                                                          [4]
 *   experts      all experts of a layer / (et·e)
 *   small        norms and router, not divided
 *   embedding    on the first stage: V·h/t                                                             [4]
 *   head         on the stage that has it: V·h/t; if tied, a copy, unless that is the first stage      [4]
 *
 * If the framework's phases are known (coefficients.h), a stage needs as much as the largest phase of a step. Besides
 * the states, a phase has activations, buffers, and logits or working memory; the last one has only the optimizer's
 * temporaries. These are (step unless the optimizer is fused + flat_step below stage 3 + 4 if 2-byte
 * gradients are widened, which moments of a given width say they are not) / N per parameter, at least tied_sum·V·h/t
 * while the two gradients of a tied embedding are added up; and of the largest tensor, 8 bytes per parameter where
 * torch's operations step moments in 8 bits (torchao, compiled), 24 where in 4: 2 and 6 numbers in fp32 [20]. If
 * gradients are freed (frees_gradients) and there is one micro-batch, there are none yet with the logits and in the
 * last layer's backward pass, and activations are gone when all gradients are there, which under full recompute are
 * all but a layer's while that goes backward.
 *
 * Besides what its layers keep (layer_memory.h), a stage keeps
 *
 *   MTP          on the stage with the head: the MTP layers, and 4·T·V/t of logits for each
 *   inputs       first stage, per micro-batch: 8·T of token ids; with dropout a mask of T·h, with a norm of the
 *                embedding its input of 2·T·h (both / t with sequence parallelism)
 *   buckets      below stage 2, with more than one rank: bucket_copy · the gradients of trained parameters, [12]
 *                unless a loop of its own reduces them (unbucketed_gradients)
 *   narrow       under fp8, unless weights are in 8 bits themselves: narrow_copies for each weight of a        [15]
 *                layer's matrices; under fp4 half of it
 *   cast         under autocast (layer_memory.h), with the logits: 2·V·h/t, the head's weights
 *   partition    stages of DeepSpeed: the partition's gradients (coefficients.h), and with a pipeline of stage   [17]
 *                1 the bucket, are reserved besides, but not allocated with what the passes have
 *   loading      loaded_whole under stage 3: no less than the weights of a rank, undivided; with those then on   [18]
 *                the host, their blocks stay reserved, but for what activations and working fit in; and under [19]
 *                DeepSpeed, with buffers, the gathered weights of layers that do not recompute
 *   outputs      held_outputs, without a pipeline: 4·T·V/t of logits, with the cache 4·T·g·d/t for each       [16]
 *                layer; with the logits those of the pass before, and the cache of layers that recompute twice
 *   pieces       where batches differ in length, reserved but not allocated: length_pieces of the logits     [13]
 *
 * Under full recompute, GPTBigCode (coefficients.h, gpt_bigcode) holds 2·T·(a·d + 2·d) per layer, in fp32 4, along with
 * the logits: the cached keys and values are a view of a tensor that has the queries, too. Its loss takes half the
 * bytes.
 *
 * Under PRECISION_FP32, 2-byte parameters and gradients take 4 bytes each, without a master copy (but for fp32_master)
 * and without a further fp32 gradient:
 *
 *   bytes per parameter with Adam    parameter   gradient   master and moments
 *   mixed precision [1]                      2          2                   12   plus a separate accumulation buffer
 *   fp32                                     4          4                    8
 *
 * Without a master copy, parameter, gradient and moments have the width of the plan's `weights`.
 *
 * Frozen weights have no gradient, master copy or moments; adapters (tuning.h) have them, in their own widths. Under
 * ZeRO stage 3 the embedding and head stay gathered with adapters, all in 16 bits if products are (MixedPrecision of
 * torch distributed/fsdp/api.py), and under FSDP1 (holds_gradients) with full
 * recompute the backward pass holds a further 2·T·h for all but two of the stage's layers. Frozen leading layers keep
 * no activations.
 *
 * Sharded gradients of an offloaded optimizer go to the host as they are reduced, but under FSDP1, which copies them
 * there and holds them until the backward pass ends (holds_gradients).                                [14]
 *
 * Sources: [1] arXiv 1910.02054, section 3.1 · [4] Megatron-LM theoretical_memory_usage.py ·
 * [12] torch nn/parallel/distributed.py, gradient_as_bucket_view ·
 * [13] torch c10/cuda/CUDACachingAllocator.cpp: see length_pieces in stage_memory.c ·
 * [14] DeepSpeed runtime/zero/stage3.py, grad_partitions_flat_buffer, and stage_1_and_2.py, cpu_offload; torch
 * distributed/fsdp: _fully_shard/_fsdp_collectives.py, foreach_reduce; _runtime_utils.py, _saved_grad_shard ·
 * [15] TransformerEngine pytorch/module/base.py, _fp8_workspaces ·
 * [16] transformers models/llama/modeling_llama.py up to 4.44: logits.float(), and next_decoder_cache, which only
 * gradient_checkpointing_enable() turns off; torch distributed/algorithms/_checkpoint/checkpoint_wrapper.py does not.
 * [17] DeepSpeed runtime/zero/stage_1_and_2.py, step and reduce_gradients (pipeline_parallel), and stage3.py,
 * _prepare_fp32_grad_for_sub_group ·
 * [18] DeepSpeed runtime/engine.py, _configure_distributed_model, and zero/stage3.py: only defragment() empties the
 * cache, where parameters stay on the device · [19] deepspeedai/DeepSpeed, pull request 8189: until it, torch's linear,
 * which saves a view of the weight, was replaced only under zero.Init (zero/linear.py) ·
 * [20] pytorch/ao, torchao/optim/adam.py: single_param_adam. Its compiled kernels are several; the widths are those of
 * 3B and 7B on one H100 (tests/data/unseen/qat-precision-bench.csv), to 1 %. Pure.
 */
#pragma once

#include <stdint.h>

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/plan.h"
#include "predict/tuning.h"

struct memory_stage {
    int64_t stage;
    double bytes;           /* reserved by the framework's allocator: sum of weight · term */
    double allocated_bytes; /* the same without fragmentation and slack */
    double slack;           /* part of `bytes` in free blocks that are too small; returned before memory runs out */
    double parameters;      /* of a rank */
    double terms[MEMORY_TERM_COUNT]; /* bytes, unweighted; calibration fits the weights */
};

/* Bytes per parameter, before sharding and offload. */
struct state_bytes {
    double parameter, gradient, master, moments;
};

/* Parts that all stages of a prediction share. Pointers are borrowed. */
struct plan_memory {
    const struct architecture *a;
    const struct training_plan *plan;
    const struct memory_coefficients *c;
    struct architecture_parameters whole;
    double vocab_weights; /* V·h */
    double layer_kept, layer_set;
    double layer_whole;        /* kept by a layer that does not recompute; 0: all layers do, or none */
    struct state_bytes states; /* of trained parameters */
    struct state_bytes saved;  /* of modules that are trained whole beside adapters */
    double frozen, quantised;  /* bytes per frozen weight; the latter for layers' matrices */
    struct layer_adapters adapters;
    double replicas, expert_replicas;
    int64_t head_stage;
};

struct state_bytes stage_state_bytes(const struct training_plan *plan, const struct memory_coefficients *c);

/* Bytes of a parameter's moments; each number has `width` bytes unless the optimizer quantises it. */
double stage_moment_bytes(enum optimizer optimizer, double width);

/* Returns whether FSDP's gradients are whole until the last micro-batch. */
bool stage_accumulates_whole(const struct training_plan *plan, const struct memory_coefficients *c);

/* Temporaries of an optimizer that is not fused, per parameter. */
double stage_step_bytes(const struct training_plan *plan, const struct memory_coefficients *c);

/* Adds to `terms` the states of `parameters` that `replicas` ranks have copies of. */
void stage_add_states(const struct plan_memory *m, double parameters, double replicas, double *terms);

/* The share of reserved memory that is free, but in pieces too small to use. */
double stage_unusable(const struct training_plan *plan, const struct memory_coefficients *c);

/* Sets bytes, allocated_bytes and slack from the terms; memory that is unusable, or held of other batches, beyond them
 * is added to the base term and to slack. It follows from the profile's weights, so that weights which were fitted to
 * terms with it count it once. `kept`: activations before fragmentation. */
void stage_weigh(const struct memory_coefficients *c, double kept, double unusable, double held,
                 struct memory_stage *out);

void stage_memory_fill(const struct plan_memory *m, int64_t stage, struct memory_stage *out);
