/* The memory that a layer keeps of a micro-batch for its backward pass, and what it has while it is computed.
 *
 * Symbols are those of architecture.h and plan.h; T = b·s/c tokens of a micro-batch, o is t with sequence parallelism,
 * else 1.
 *
 *   kept         bytes per layer and micro-batch, the sum of                                           source
 *   between      T·h·(8 + 2·dropout), / t with sequence parallelism; 2 for each norm more than two      [2]
 *                (norms_per_layer), parallel blocks: 4 with one norm, and one mask
 *   eager norms  RMS norms that neither a kernel nor a compiler fuses, unless layernorm is dropped: norm_bytes·T·h
 *                more for two, / t with sequence parallelism
 *   gathered     where it is kept, not gathered again: 2·T·h·(1 - 1/t) for each of these norms, as a     [10]
 *                matrix product reads it whole under sequence parallelism
 *   attention    T·(4·a·d + 4·g·d) / t; with qk_norm, 2·a·d + 2·g·d more                               [2]
 *   MLP          T·4·f / t; gated: 6 to 8 (gated_mlp_bytes) in place of 4, compiled 6, as a compiler   [2], gated [3]
 *                (and Liger) computes again what no matrix product of the backward pass reads          [14]
 *   experts      in place of the MLP: T·(K·imbalance·(2·h·et + 4…8·f_e) + 2·h·K)/o + T·4…8·f_s/t,      gated [3] [6]
 *                et 1 where o is
 *   latent       in place of attention: T·((4·q + 4·c + 2·r)/o + (4·a·(d + r) + 4·a·w)/t)              [7]
 *   scores       T·a·s·2 / t, with dropout 5 in place of 2; none with flash attention or selective     [2]
 *                recompute
 *     wide       a Llama's, and all under autocast (wide_scores): T·a·s·4 more, with dropout 2, as the [11] [12]
 *                softmax is in fp32 and then narrowed; 6 while its gradient passes, in fp32 before and
 *                after, and in 16 bits
 *   full         full recompute: 2·T·h, / t with sequence parallelism or where checkpoints are         [2] [13]
 *                divided, in place of all of these
 *   some layers  of each stage recompute (plan_recompute_share), the others keep all; by groups of n   [9]
 *                layers (uniform) one input is kept for n layers, and n layers' sets are there at once
 *   windows      save nothing: scores that are stored are stored masked
 *   operations   by operations: T·(8·h/o + (2·g·d + 2·f)/t)                                            [8]
 *   modules      selective recompute drops: layernorm 4·h/o, mla_up_proj (4·a·(d + r) + 2·a·w)/t, mlp   [9]
 *                all of the MLP, mlp_act all but 2·f/t (gated: 4·f/t), moe_act 2·K·f_e/o, moe all but 2·h/o,
 *                shared_experts theirs
 *   fp8, fp4     what a product reads is kept in 8 bits: norms 6·h, the MLP 1·f less, an expert's input h, and the
 *                attention's output a·w/t once more
 *                (but for bf16_layers)
 *   autocast     weights in fp32 under 16-bit precision: what is between layers is in fp32, so are checkpoints
 *                (4·T·h) and what norms read, 2·T·h more each; where three (not a GPT's) and two products (of a gated
 *                MLP) read it and cast it each for itself, further 2·T·h for all but one; 2 for each weight of a
 *                layer's matrices, which the cast leaves for the backward pass                               [11]
 *   adapters     tuning.h in place of a layer's set; checkpoints as under full recompute, in fp32 with
 *                kbit_preparation
 *
 * With f = 4·h, dropout and scores, without sequence parallelism, it is the T·h·(10 + 24/t + 5·a·s/(h·t)) of [2].
 *
 * PRECISION_FP32 doubles all of it.
 *
 * Sources: [2] arXiv 2205.05198, table 2 · [3] arXiv 2411.06465 ·
 * [6] Megatron-LM core/transformer/moe/token_dispatcher.py · [7] core/transformer/multi_latent_attention.py ·
 * [8] torchtitan's list of operations for torch.utils.checkpoint · [9] core/transformer/transformer_config.py ·
 * [10] nanotron parallel/tensor_parallel/functional.py, column_linear: tp_recompute_allgather ·
 * [11] torch aten/src/ATen/autocast_mode.cpp: casts of parameters alone are cached, softmax is in fp32 ·
 * [12] transformers models/llama/modeling_llama.py, eager_attention_forward ·
 * [13] Megatron-LM core/tensor_parallel/random.py, distribute_saved_activations; DeepSpeed
 * runtime/activation_checkpointing/checkpointing.py, partition_activations ·
 * [14] torch _functorch/config.py, ban_recompute_materialized_backward; partitioners.py. Pure. */
#pragma once

#include <stdbool.h>

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/plan.h"

/* Bytes that a layer keeps per micro-batch, before fragmentation. */
double layer_memory_kept(const struct architecture *a, const struct training_plan *plan,
                         const struct memory_coefficients *coefficients);

/* The same without recompute, including scores if they are stored; element-wise operations pass through as much. */
double layer_memory_set(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *coefficients);

/* Bytes of a number of an expert's output that is weighted in fp32, while that goes backward: what fp32 takes more, its
 * gradient in 16 bits and in 32, and in 32 those of the number and of the weight, before these are added up. 0: it is
 * weighted in 16. */
double layer_row_gradients(const struct memory_coefficients *coefficients);

/* What its MLP's backward pass has besides, where all of the layer is computed again. */
double layer_memory_passing(const struct architecture *a, const struct training_plan *plan,
                            const struct memory_coefficients *coefficients);

/* Bytes per token of the attention scores of a layer that stores them, in 16 bits; windows save nothing. */
double layer_score_bytes(const struct architecture *a, const struct training_plan *plan);

/* Returns whether selective recompute drops the module's activations and computes them again. */
bool layer_drops(const struct training_plan *plan, enum recompute_module module);

/* Returns whether scores are dropped: selective recompute, with no other modules named. */
bool layer_drops_scores(const struct training_plan *plan);

/* Returns whether matrix products are in 8 or 4 bits. */
bool layer_is_narrow(const struct training_plan *plan);

/* Returns, for such a plan, the share of layers whose products are in 16 bits nevertheless (bf16_layers). */
double layer_share_in_bf16(const struct architecture *a, const struct training_plan *plan);

/* Device memory traffic of a layer per micro-batch for casting inputs and output gradients of products to 8 or 4 bits:
 * read in 2 bytes and written row-wise and, for weight gradients, column-wise (TransformerEngine pytorch/module, the
 * columnwise usage of quantizers). Norms return their output already cast. 0 for other plans. */
double layer_cast_bytes(const struct architecture *a, const struct training_plan *plan);

/* The same where torch's operations scale and cast, one after the other: absolute values (2 bytes read, 2 written), the
 * largest (2 read), in fp32 (2, 4), scaled (4, 4), clamped (4, 4), in 8 bits (4, 1), and in the other order (1, 1).
 * Each product's input, weight and output gradient are cast for two of its three passes, but experts' are not
 * (pytorch/ao, torchao/float8: float8_scaling_utils.py, float8_training_tensor.py and float8_linear.py). */
double layer_eager_cast_bytes(const struct architecture *a, const struct training_plan *plan);

/* Tokens of the busiest rank's experts divided by the mean. */
double layer_imbalance(const struct training_plan *plan, const struct memory_coefficients *c);

/* Bytes per token and hidden unit that a layer's RMS norms keep besides where nothing fuses them; 0: a kernel or a
 * compiler does. */
double layer_norm_bytes(const struct architecture *a, const struct training_plan *plan,
                        const struct memory_coefficients *c);

/* Bytes of a weight that the optimizer steps, and whether weights are cast for each product (torch.autocast). */
double layer_weight_bytes(const struct training_plan *plan, const struct memory_coefficients *c);
bool layer_autocasts(const struct training_plan *plan, const struct memory_coefficients *c);

/* Tokens of a micro-batch, doubled in fp32 relative to 16 bits. */
double layer_activation_scale(const struct training_plan *plan);

/* Degree that divides the activations between matrices, and the one that divides what a layer recomputes from. */
double layer_outer_degree(const struct training_plan *plan);
double layer_checkpoint_degree(const struct training_plan *plan);
