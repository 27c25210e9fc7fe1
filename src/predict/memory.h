/* Device memory of a training plan: the most that any pipeline stage reserves, term by term.
 *
 * Symbols are those of architecture.h and plan.h. Stage k has L_k layers and in_flight_k micro-batches
 * (plan_in_flight); T = b·s/c tokens of a micro-batch. A rank of the stage reserves the sum of these, each times its
 * weight. Weights and constants are in coefficients.h, and their values in the profiles, with where they come from.
 *
 *   term         bytes                                                                                 source
 *   states       bytes per parameter (coefficients.h) · parameters of the rank                         [1] [5]
 *   activations  fragmentation · in_flight_k · (L_k · kept + inputs)                                   [2]
 *   working      one layer's whole set (memory_layer_set) + hidden_bytes·T·h                           coefficients.h
 *   logits       on the stage with the head: logit_bytes·T·V/t + 2·T·h                                 coefficients.h
 *   buffers      ZeRO stage 1, 2: 2·min(bucket, parameters)                                            [5]
 *                ZeRO stage 3: 2·min(parameters, prefetch + gathered layers) + 2·(largest layer        [5]
 *                or embedding)
 *   base         base_bytes                                                                            coefficients.h
 *
 * Where a framework's phases are known (coefficients.h), only the larger of working and logits is there, or, where that
 * is more than activations and both, the step's temporaries (step, and 4 where gradients of 2 bytes are widened) / N.
 * Where it frees its gradients and there is one micro-batch, the logits are there before any gradient.
 *
 *   parameters   of a rank                                                                             source
 *   layers       matrices / t                                                                          [4]
 *   experts      all of a layer's / (et·e)
 *   small        norms and router: whole
 *   embedding    on the first stage: V·h/t                                                             [4]
 *   head         on the stage that has it: V·h/t; where tied, only when that is not the first stage,   [4]
 *                and then a copy
 *
 *   kept         bytes per layer and micro-batch, the sum of                                           source
 *   between      T·h·(8 + 2·dropout), / t with sequence parallelism; 2 for each norm more than two      [2]
 *                (norms_per_layer), parallel blocks: 4 with one norm, and one mask
 *   attention    T·(4·a·d + 4·g·d) / t; with qk_norm, 2·a·d + 2·g·d more                               [2]
 *   MLP          T·4·f / t; gated: 6 to 8 (gated_mlp_bytes) in place of 4                              [2], gated [3]
 *   experts      in place of the MLP: T·(K·imbalance·(2·h·et + 4…8·f_e) + 2·h·K)/o + T·4…8·f_s/t       gated [3] [6]
 *   latent       in place of attention: T·((4·q + 4·c + 2·r)/o + (4·a·(d + r) + 4·a·w)/t)              [7]
 *   scores       T·a·s·2 / t, with dropout 5 in place of 2; none with flash attention or selective     [2]
 *                recompute
 *   full         full recompute: 2·T·h, / t with sequence parallelism, in place of all of these        [2]
 *   some layers  of each stage recompute (plan_recompute_share), the others keep all; by groups of n   [9]
 *                layers (uniform) one input is kept for n layers, and n layers' sets are there at once
 *   windows      save nothing: scores that are stored are stored masked
 *   operations   by operations: T·(8·h/o + (2·g·d + 2·f)/t)                                            [8]
 *   modules      selective recompute drops: layernorm 4·h/o, mla_up_proj (4·a·(d + r) + 2·a·w)/t, mlp   [9]
 *                all of the MLP, moe_act 2·K·f_e/o, moe all but 2·h/o, shared_experts theirs
 *   fp8, fp4     what a product reads is kept in 8 bits: norms 6·h, the MLP 1·f less, an expert's input h, and the
 *                attention's output a·w/t once more
 *   adapters     tuning.h in place of a layer's set; checkpoints as under full recompute, in fp32 with
 *                kbit_preparation
 *   all-gather   of experts' tokens: 2·T·h·e more while a layer is computed                              [6]
 *   MTP          on the stage with the head: a layer, and 4·T·V/t of its logits
 *   inputs       first stage, per micro-batch: 8·T of token ids, and T·h of a dropout mask and 2·T·h of
 *                the input of a norm of the embedding (/ t with sequence parallelism)
 *
 * With f = 4·h, dropout and scores, without sequence parallelism, it is the T·h·(10 + 24/t + 5·a·s/(h·t)) of [2].
 *
 * PRECISION_FP32 doubles activations. Under it a parameter and a gradient of 2 bytes take 4 each, with neither a master
 * copy (but for fp32_master) nor a further gradient in fp32:
 *
 *   bytes per parameter with Adam    parameter   gradient   master and moments
 *   mixed precision [1]                      2          2                   12   and whatever is accumulated besides
 *   fp32                                     4          4                    8
 *
 * Frozen weights have no gradient, master or moments; adapters (tuning.h) have, in their own bytes. Under ZeRO stage 3
 * with full recompute the backward pass of frozen layers holds a further 2·T·h of each of the stage's but two, and the
 * embedding and head are gathered throughout. Frozen leading layers keep no activations.
 *
 * Offload: an optimizer on the host takes master weights and moments there, OFFLOAD_PARAMETERS the parameters too.
 *
 *   on the host          bytes per parameter, times 1.5, over the nodes
 *   OFFLOAD_OPTIMIZER    16
 *   OFFLOAD_PARAMETERS   18, in fp32 20
 *
 * Sources: [1] arXiv 1910.02054, section 3.1 · [2] arXiv 2205.05198, table 2 · [3] arXiv 2411.06465 ·
 * [4] Megatron-LM theoretical_memory_usage.py · [5] DeepSpeed runtime/zero/config.py and stage3.py ·
 * [6] Megatron-LM core/transformer/moe/token_dispatcher.py · [7] core/transformer/multi_latent_attention.py ·
 * [8] torchtitan's list of operations for torch.utils.checkpoint · [9] core/transformer/transformer_config.py
 * o is t with sequence parallelism, else 1.
 *
 * docs/predictions.md has what it was compared with.
 * Pure; some hundred nanoseconds. */
#ifndef MESHSWEEP_PREDICT_MEMORY_H
#define MESHSWEEP_PREDICT_MEMORY_H

#include <stdint.h>

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/device.h"
#include "predict/plan.h"
#include "util/error.h"

struct memory_stage {
    int64_t stage;
    double bytes;                    /* reserved by the framework's allocator: sum of weight · term */
    double allocated_bytes;          /* the same without fragmentation */
    double parameters;               /* of a rank */
    double terms[MEMORY_TERM_COUNT]; /* bytes, unweighted: what calibration fits weights to */
};

struct memory_prediction {
    struct memory_stage most;     /* the stage that reserves most: what must fit */
    struct memory_stage first;    /* stage 0, which is what many frameworks log */
    struct memory_stage last;     /* the last stage, which is what others log */
    double low_bytes, high_bytes; /* of most.bytes, 90 % */
    double sigma;
    double parameters;    /* of the whole model */
    double trainable;     /* of these, and of adapters */
    double reserve_bytes; /* context and communicators, which torch's counters leave out */
    double host_bytes;    /* of a node, for offload */
};

/* All arguments completed. -1 (ERROR_USAGE), `out` untouched, when more than 10^15 parameters or bytes come
 * out. */
int memory_predict(const struct architecture *a, const struct training_plan *plan, const struct cluster *cluster,
                   const struct memory_coefficients *coefficients, struct memory_prediction *out, struct error *e);

/* A model of which only this is known, as a short run shows it. Activations are what the forward pass of one sample
 * leaves allocated on a device without tensor and pipeline parallelism. */
struct measured_model {
    double parameters, activation_bytes;
    double forward_flops; /* of a sample; 0: not known */
};

/* The same from these: states and buffers as above, of parameters / (t·p); activations / (t·c), of as many
 * micro-batches as the first stage holds, in proportion to their samples (a stage of p holds 1/p of them). No layer
 * being computed, no logits: DeepSpeed autotuning/autotuner.py, get_instantiation_memory_required_per_gpu and
 * model_info, counts neither. Nor does precision change what was measured of activations: they are those of the run
 * that was. */
int memory_predict_measured(const struct measured_model *model, const struct training_plan *plan,
                            const struct cluster *cluster, const struct memory_coefficients *coefficients,
                            struct memory_prediction *out, struct error *e);

/* Bytes that one layer keeps of one micro-batch, before fragmentation. */
double memory_kept_per_layer(const struct architecture *a, const struct training_plan *plan,
                             const struct memory_coefficients *coefficients);

/* The same under no recompute, scores included where they are stored: also what element-wise work passes
 * through. */
double memory_layer_set(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *coefficients);

#endif
