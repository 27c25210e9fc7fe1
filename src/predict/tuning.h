/* Fine-tuning: what low-rank adapters add to a model with frozen weights, and what a frozen layer keeps.
 *
 *   r   rank                 in, out   widths of a target module
 *
 *   parameters of a target   r·(in + out); DoRA also `out` magnitudes, AdaLoRA r singular values           [1] [2]
 *                            IA3: out, of the MLP's second product in; OFT: in·(r - 1)/2, blocks of r;     [7]
 *                            VeRA: r + out, its random matrices, which all layers share, not counted
 *   trained whole            V·h each of the embedding and the head, as a copy beside the frozen one       [8]
 *     tensor parallelism     r·(in + out/t) if the matrix is cut by columns, r·(in/t + out) if by rows
 *
 *   bytes per frozen weight                                                                                source
 *     nf4                    1/2 + 4/64 (an fp32 scale per 64 weights)                                     [3]
 *     nf4-dq                 1/2 + 1/64 + 4/16,384 (scales in 8 bits, an fp32 one per 256 scales)          [3]
 *     gptq                   1/2 + 2.5/128 (a scale of 2 bytes and a zero of 4 bits per 128 weights)       [4]
 *     int8, fp8, eetq        1
 *     aqlm                   2/8 (a code of 16 bits per 8 weights)                                         [9]
 *     hqq, torchao           1/2 + 4/64, 1/2 + 4/128 (a scale and a zero of 2 bytes each per group)        [9]
 *   Layers' matrices, experts included, are quantised; embedding, head and norms are not.
 *
 *   bytes that a frozen layer keeps per token                                                              source
 *     quantised products     quantised_inputs per number of each input; bitsandbytes < 0.43.2: 2·(2·h + f) [5]
 *     norms                  2·h each; 4·h (input in fp32) under autocast or for an RMS norm without a kernel
 *     dropout                2·h of masks
 *     targets' inputs        a copy for each target: 4 bytes per number for fp32 adapters on weights that are not  [1]
 *                            quantised, 2 under autocast; otherwise 2 once, or 0 if kept anyway; with dropout a
 *                            copy for each target in any case, and a mask of 1
 *     attention              2·(2·a·d + 2·g·d), and scores if they are stored
 *     MLP                    6·f if gated (both factors of the product, and the activation's input), else 2·f
 *                            twice that where hidden states are in fp32 and products in 4 bits, which answer in
 *                            the type of what they read                                                  [6]
 *     experts                K·(the MLP's with f_e + 2·h), times the imbalance
 *     DoRA, VeRA             4·out of each target; VeRA and IA3 no input                                   [2]
 *     IA3                    2·out of each target
 *   between layers           2·h; 4·h in fp32: after preparation for k-bit training, under autocast, or if LayerNorms
 *                            return fp32 and 4-bit products, whose output has their input's type, follow     [6]
 *   temporary in the backward pass: 6·f for gradients of the MLP's product, of the activation and of the other factor,
 *   4·f if not gated (for an expert, of its own tokens, or what the weighting in fp32 of all that experts give
 *   leaves: layer_row_gradients); the largest matrix, dequantised to 2 bytes, and twice that for
 *   DoRA, which adds the product of its factors to it. GPTQ unpacked by torch's operations: no more in the backward
 *   pass, but every matrix of a layer is kept in 2 bytes until then, and the last one unpacked takes 3 more    [10]
 *
 * A frozen matrix keeps no input, because no gradient of its weights is needed.
 *
 * Sources: [1] arXiv 2106.09685, peft src/peft/tuners/lora/layer.py · [2] arXiv 2402.09353, lora/dora.py ·
 * [3] arXiv 2305.14314 · [4] arXiv 2210.17323; groups of 128 ·
 * [5] bitsandbytes autograd/_functions.py, MatMul4Bit, until commit 9e753741 (July 2024) ·
 * [6] torch.amp, "CUDA Ops that can autocast to float32"; bitsandbytes nn/modules.py, Linear4bit ·
 * [7] peft tuners/adalora, ia3, oft, vera: layer.py · [8] peft utils/other.py, ModulesToSaveWrapper ·
 * [9] arXiv 2401.06118, 1x16; transformers utils/quantization_config.py, HqqConfig, TorchAoConfig ·
 * [10] auto_gptq nn_modules/qlinear/qlinear_cuda_old.py: an int32 shift cast to int8. Pure. */
#pragma once

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/plan.h"

/* Parameters of one layer's adapters on a rank; 0 without adapters. */
struct layer_adapters {
    double dense, experts; /* of attention and MLP; of experts, divided over the expert ranks */
    double modules;        /* number of targets */
};
void tuning_adapters(const struct architecture *a, const struct training_plan *plan, struct layer_adapters *out);

/* Parameters of the head's adapter on a rank of the stage that has the head. */
double tuning_head_adapter(const struct architecture *a, const struct training_plan *plan);

/* Parameters on a rank that are trained whole beside adapters, of a stage that has these. */
double tuning_saved(const struct architecture *a, const struct training_plan *plan, bool has_embedding, bool has_head);

/* Trained parameters of the whole model, which has `parameters`. */
double tuning_trainable(const struct architecture *a, const struct training_plan *plan, double parameters);

/* Adapter parameters that one token passes, on average over the encoder's tokens: a decoder of another length counts
 * by its tokens, and only the experts that a token is sent to count. */
double tuning_passed(const struct architecture *a, const struct training_plan *plan);

/* Bytes per weight of a layer's quantised matrix; 0 if it is not quantised. */
double tuning_weight_bytes(const struct training_plan *plan);

/* Returns whether hidden states between layers are in fp32; see above. */
bool tuning_is_wide(const struct architecture *a, const struct training_plan *plan,
                    const struct memory_coefficients *c);

/* Bytes per token that a frozen layer keeps, without scores, and that its backward pass needs temporarily. */
double tuning_kept(const struct architecture *a, const struct training_plan *plan, const struct memory_coefficients *c);
double tuning_passing(const struct architecture *a, const struct training_plan *plan,
                      const struct memory_coefficients *c);

/* Bytes per token that a layer's adapters move through device memory, with `forward_passes` forward passes and one
 * backward pass. */
double tuning_traffic(const struct architecture *a, const struct training_plan *plan,
                      const struct memory_coefficients *c, double forward_passes);

/* Bytes per weight that a product unpacked by torch's operations keeps; 0: none is. */
double tuning_unpacked(const struct training_plan *plan, const struct memory_coefficients *c);

/* Bytes of a layer's temporary matrices in the backward pass: the dequantised one, which `unpacked` weights do not
 * have, and DoRA's product. */
double tuning_dense_matrices(const struct architecture *a, const struct training_plan *plan, bool unpacked);

/* Bytes of the widest matrix while it is unpacked, beyond those that are kept. */
double tuning_unpacking(const struct architecture *a, const struct training_plan *plan);
