/* Fine-tuning: what low-rank adapters add to a model whose own weights are frozen, and what a frozen layer keeps.
 *
 *   r   rank                 in, out   widths of a target module
 *
 *   parameters of a target   r·(in + out), DoRA also out (magnitudes)                                      [1] [2]
 *     of tensor parallelism  r·(in + out/t) where the matrix is cut by columns, r·(in/t + out) by rows
 *
 *   bytes per frozen weight                                                                                source
 *     nf4                    1/2 + 4/64 (an fp32 scale for 64 weights)                                     [3]
 *     nf4-dq                 1/2 + 1/64 + 4/16,384 (scales in 8 bits, an fp32 one for 256 of them)         [3]
 *     gptq                   1/2 + 2.5/128 (a scale of 2 bytes and a zero of 4 bits for 128 weights)       [4]
 *     int8                   1
 *   Quantised are the matrices of layers, experts too; embedding, head and norms are not.
 *
 *   kept of a layer whose weights are frozen, per token                                                    source
 *     quantised products     quantised_inputs of what each reads: of bitsandbytes before 0.43.2 2·(2·h + f)  [5]
 *     norms                  2·h each; 4·h where an RMS norm has no kernel (its input in fp32)
 *     targets' inputs        with adapters in fp32 and no autocast a copy of 4 bytes each; else 2 once       [1]
 *                            (nothing where it is kept anyway); with dropout each, and a mask of 1
 *     attention              2·(2·a·d + 2·g·d), and scores where they are stored
 *     MLP                    6·f gated (both inputs of the product, and what its activation reads), else 2·f
 *     experts                K times that of f_e, and 2·h each, times the imbalance
 *     DoRA                   4·out of each target                                                          [2]
 *   between layers           2·h; in fp32 4·h, where the model is prepared for k-bit training, and under autocast where
 *                            LayerNorms, which are in fp32 there, come before products in 4 bits, whose output has
 *                            their input's type                                                              [6]
 *   in passing of its backward pass: gradients of the MLP's product, of the activation and of its other factor 6·f,
 *   not gated 4·f (of one expert's tokens); the largest matrix in 2 bytes where weights are quantised, and twice that
 *   for DoRA, which adds the product of its factors to it.
 *
 * A frozen matrix keeps no input, as no gradient of its weights is wanted.
 *
 * Sources: [1] arXiv 2106.09685, peft src/peft/tuners/lora/layer.py · [2] arXiv 2402.09353, lora/dora.py ·
 * [3] arXiv 2305.14314 · [4] arXiv 2210.17323; groups of 128 ·
 * [5] bitsandbytes autograd/_functions.py, MatMul4Bit, until commit 9e753741 (July 2024) ·
 * [6] torch.amp, "CUDA Ops that can autocast to float32"; bitsandbytes nn/modules.py, Linear4bit. Pure. */
#ifndef MESHSWEEP_PREDICT_TUNING_H
#define MESHSWEEP_PREDICT_TUNING_H

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/plan.h"

/* Adapters of one layer on a rank: of attention and MLP, and of experts (over the expert ranks). 0 without. */
struct layer_adapters {
    double dense, experts;
    double modules; /* targets */
};
void tuning_adapters(const struct architecture *a, const struct training_plan *plan, struct layer_adapters *out);

/* Of the head, on the stage that has it. */
double tuning_head_adapter(const struct architecture *a, const struct training_plan *plan);

/* Of the whole model, on however many ranks. */
double tuning_trainable(const struct architecture *a, const struct training_plan *plan, double parameters);

/* Of these, what one token passes, on average over the encoder's: a decoder of another length counts by its tokens, of
 * experts those that a token is sent to. */
double tuning_passed(const struct architecture *a, const struct training_plan *plan);

/* Bytes per weight of a layer's matrix; 0: as the framework has parameters. */
double tuning_weight_bytes(const struct training_plan *plan);

/* Whether hidden states are in fp32: prepared for k-bit training, under autocast (layer_memory.h), or LayerNorms of
 * autocast before 4-bit products. */
bool tuning_is_wide(const struct architecture *a, const struct training_plan *plan,
                    const struct memory_coefficients *c);

/* Bytes per token that a frozen layer keeps, without scores, and what its backward pass has for a while. */
double tuning_kept(const struct architecture *a, const struct training_plan *plan, const struct memory_coefficients *c);
double tuning_passing(const struct architecture *a, const struct training_plan *plan);

/* Bytes per token through device memory that adapters cost a layer, beside its own, with so many forward passes. */
double tuning_traffic(const struct architecture *a, const struct training_plan *plan,
                      const struct memory_coefficients *c, double forward_passes);

/* Bytes of the matrices that a layer's pass makes for a while: dequantised, with DoRA's product. */
double tuning_dense_matrices(const struct architecture *a, const struct training_plan *plan);

#endif
