/* Device memory of a training plan: the most that any pipeline stage reserves, term by term.
 *
 * Symbols are those of architecture.h and plan.h. Stage k has L_k layers and in_flight_k micro-batches
 * (plan_in_flight); T = b·s/c tokens of a micro-batch. A rank of the stage reserves the sum of these, each times its
 * weight. Weights and constants are in coefficients.h, and their values in the profiles, with where they come from.
 *
 *   term         bytes                                                                                 source
 *   states       bytes per parameter (coefficients.h) · parameters of the rank                         [1] [5]
 *   activations  fragmentation · in_flight_k · (L_k · kept + inputs)                                   [2]
 *   working      one layer's whole set (layer_memory_set), under full recompute with what passes it    coefficients.h
 *                (layer_memory_passing), + hidden_bytes·T·h
 *   logits       on the stage with the head: (logit_bytes + logit_slack)·T·V/t + 2·T·h, not / t where  coefficients.h
 *                they are gathered; where the loss is in a compiled model's graph, 4 for logit_bytes
 *   buffers      ZeRO stage 1, 2: 2·bucket, twice with overlap_gradients; stage 2, 3 also on one rank  [5]
 *                ZeRO stage 3: 2·bucket + 2·min(parameters, live, prefetch + gathered layers) + 2·(largest [5]
 *                layer or embedding; where layers are the units (no prefetch), embedding and head      [10]
 *                together; with unit_parameters the largest unit for a layer, and what no unit has together      [13]
 *                with these; with unlimited_gathers all layers, the further ones freed but reserved)
 *                with a pipeline under whole_stages: (2 + gradient) · parameters of the rank             [11]
 *                FSDP's stage 2 (sharded_at_rest): 2 · parameters of the rank, in fp32 4                 [12]
 *                FSDP2, on one rank as well: in a layer's backward pass gradients of a layer, as they    [14]
 *                are reduced, and 2 · the head's; with vocab_units these are not, nor gathered with
 *                the embedding
 *   all-gather   of experts' tokens: 2·T·h·e more while a layer is computed                            [6]
 *   base         base_bytes, and what is missing to 1 / (1 - unusable) of all that is allocated         coefficients.h
 *
 * What a layer keeps is in layer_memory.h; parameters of a rank and phases of a step are in stage_memory.h.
 *
 * Offload: an optimizer on the host takes master weights and moments there, OFFLOAD_PARAMETERS the parameters too.
 *
 *   on the host          bytes per parameter, times 1.5, over the nodes
 *   OFFLOAD_OPTIMIZER    16
 *   OFFLOAD_PARAMETERS   18, in fp32 20
 *
 * Sources: [1] arXiv 1910.02054, section 3.1 · [2] arXiv 2205.05198, table 2 ·
 * [5] DeepSpeed runtime/zero/config.py, stage3.py and stage_1_and_2.py, setup_buckets ·
 * [6] Megatron-LM core/transformer/moe/token_dispatcher.py ·
 * [10] torchtitan parallelize.py, torch FSDP: the root holds what no other unit does, gathered until the backward pass
 * · [11] torchtitan parallelize.py: reshard_after_forward = not pp_enabled; torch distributed/pipelining/stage.py and
 * fsdp/_fully_shard/_fsdp_param.py: neither resharded nor reduced, but accumulated whole in the dtype of the reduction,
 * before the last micro-batch · [12] torch distributed/fsdp/api.py, SHARD_GRAD_OP; fully_shard's reshard_after_forward
 * · [13] torch distributed/fsdp: wrap.py, size_based_auto_wrap_policy and _recursive_wrap, which do not wrap the list
 * of layers; _limiter_utils.py, _FreeEventQueue: two gathers in flight, but without limit_all_gathers · [14] torch
 * distributed/fsdp/_fully_shard: _fsdp_collectives.py, foreach_reduce; _fsdp_param_group.py, wait_for_unshard and
 * post_backward, which frees that input when the next layer's gradients are there
 *
 * docs/predictions.md has what it was compared with.
 * Pure; some hundred nanoseconds. */
#pragma once

#include <stdint.h>

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/device.h"
#include "predict/plan.h"
#include "predict/stage_memory.h"
#include "util/error.h"

struct memory_prediction {
    struct memory_stage most;     /* the stage that reserves most: it must fit */
    struct memory_stage first;    /* stage 0, which many frameworks log */
    struct memory_stage last;     /* the last stage, which others log */
    double low_bytes, high_bytes; /* 90 % interval of most.bytes */
    double least; /* factor on most.bytes, at most 1, for a loss in parts, where releases differ and no key says */
    double other; /* factor on most.bytes, at least 1, for the other value of what no key says
                                   * (predictor.h) */
    double sigma;
    double parameters;    /* of the whole model */
    double trainable;     /* of the parameters, adapters included */
    double reserve_bytes; /* context and communicators, which torch does not count */
    double host_bytes;    /* per node, for offload */
};

/* All arguments must be completed. False, `out` untouched, if the result exceeds 10^15 parameters or bytes. */
bool memory_predict(const struct architecture *a, const struct training_plan *plan, const struct cluster *cluster,
                    const struct memory_coefficients *coefficients, struct memory_prediction *out);

/* A model known only by measurements of a short run. Activations are what the forward pass of one sample leaves
 * allocated on a device without tensor and pipeline parallelism. */
struct measured_model {
    double parameters, activation_bytes;
    double forward_flops; /* per sample; 0: not known */
};

/* The same for such a model: states and buffers as above, with parameters / (t·p); activations / (t·c) times the
 * micro-batches that the first stage holds, in proportion to their samples (a stage of p holds 1/p of them). Neither
 * the layer being computed nor logits are counted, as in DeepSpeed autotuning/autotuner.py,
 * get_instantiation_memory_required_per_gpu and model_info. Precision does not change the activations, which are as
 * measured. False, too, for fine-tuning, which needs the keys of the architecture. */
bool memory_predict_measured(const struct measured_model *model, const struct training_plan *plan,
                             const struct cluster *cluster, const struct memory_coefficients *coefficients,
                             struct memory_prediction *out);
