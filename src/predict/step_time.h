/* Seconds of a training step: a sum of terms, each a weight (coefficients.h) times what the term counts, so that few
 * measurements are enough to fit the weights.
 *
 * Symbols are those of architecture.h and plan.h, and
 *
 *   T     b·s/c tokens of a micro-batch              r     passes: 3, with full recompute 4
 *   F     forward FLOPs per token (flops.h, CAUSAL)  Ψ_r   parameters of a rank
 *   R     N·c ranks                                  G     bytes per gradient: the plan's, or the framework's
 *
 * Terms are in seconds at the full rate of the device, memory or link, where no other unit stands.
 *
 *   term          of a layer and a micro-batch                                                           source
 *   matrices      r·T·F_matrices / (t·peak), the peak less what the device's best products are           flops.h
 *                 measured to fall short of it more than an A100's (device.h), of bf16_layers that of
 *                 bf16; of routed experts, with e > 1, the busiest rank's (layer_imbalance); without flash attention
 *                 also attention's products, the whole square, and where the head size is not a multiple
 *                 of 8 outside the tensor cores                                                          [6]
 *   attention     r·T·F_attention / (t·attention rate of the device), by the kernels (plan.h)             flops.h
 *                 chunked scans of mixers, which are bound by memory, at 3/16 of that rate on an A100   [10]
 *                 and as much more as a device's memory is faster: Mamba-2's is there as fast as
 *                 attention of the same width at 2,048 tokens, 4,096 of its FLOPs against 768
 *                 adapters: r - 1 for matrices; leading frozen layers: 1
 *                 recompute by operations: every second product again                                    [7]
 *                 selective recompute: what is in recompute_modules, or the attention, once more        [13]
 *   elementwise   the layer's activations (layer_memory_set) / device memory, 4/3 with full recompute    layer_memory.h
 *                 and with that by operations; twice as many after preparation for k-bit training;
 *                 a third more of what the modules of selective recompute would keep
 *                 for scores that are not fused, by what kernels of softmax and dropout and the products  [11]
 *                 around them read and write: 8 bytes each forward and 14 backward, with dropout 11
 *                 and 19, an eighth of it; selective recompute forward twice
 *                 an eighth of: what is cast for products in 8 bits or 4 (layer_cast_bytes);            layer_memory.h
 *                 quantised weights, stored and in 2 bytes, written and read, r - 1 times; tuning.h
 *                 what passes adapters that no kernel fuses
 *   optimizer     gradients added up over micro-batches: 3·G for each after the first; where they are
 *                 added up in fp32 beside, G + 8 for each; in the product (Megatron-LM) 2·G
 *   tensor        4 all-reduces of 2·T·h, 6 with full recompute: each 2·(t-1)/t of it over the link.     [2] [3]
 *                 Sequence parallelism sends as much
 *   tensor-steps  4 (6) · log2 t, over nodes 2·(t - 1) (rings): a number of steps. With sequence         [2] [3]
 *                 parallelism 1.25 times: it gathers inputs again for the backward pass. Over
 *                 nodes, half an all-reduce also has 2·latency of the network for each node, in steps    [8] [9]
 *   context       3 · 2·(c-1)/c · 4·T·g·d/t over the link                                                [3]
 *   expert        4 all-to-alls of 2·T·h·K·(e-1)/(e·t) over the link, in layers with experts; 6 where     [3]
 *                 the module moe is computed again; times the imbalance
 *   launch        (∛(device³ + host³) - device) / what a launch takes: a number of layers, see below     [5]
 *
 *   term          of a stage and a micro-batch                                                           source
 *   pipeline      2 transfers of 2·T·h (/ t with sequence parallelism) over the link; none where stages  [1]
 *                 are interleaved, which compute another chunk meanwhile (Megatron-LM overlap_p2p_comm)
 *
 *   term          of the head and a micro-batch                                                          source
 *   matrices      3·T·F_head / (t·peak), as of a layer, in no less than 16 bits                          flops.h
 *   logits        4·T·V/t / device memory                                                                coefficients.h
 *   tensor        1 all-reduce of 2·T·h, 2 where the embedding is on the same stage                        [2] [14]
 *   tensor-steps  3 of the loss and these, as of a layer; with sequence parallelism half a one more        [14]
 *
 *   term          of a step                                                                              source
 *   data          by ZeRO stage, times (R-1)/R, over the link:                                           [3]
 *                   0   2·G·Ψ_r
 *                   1   (G + 2)·Ψ_r
 *                   2   (G, times m where the framework reduces each micro-batch, + 2)·Ψ_r               [4]
 *                       FSDP (sharded_at_rest) gathers for each micro-batch, too: m·(2 + G)·Ψ_r          [18]
 *                   3   m·(4 + G)·Ψ_r; FSDP2 in a pipeline (whole_stages), and 2 there, (2 + G)·Ψ_r         [16]
 *                 stage 0 in buckets (coefficients.h): for each 2·((R/n - 1)·4 us + log2 n·λ), or 2·(R - n)·3.4  [8]
 *                 us + 2·(n - 1)·λ where that is less, of n nodes; λ 14 us and 2·latency of the network. A
 *                 bucket ends with the tensor that fills it: larger by Σs²/(2·Σs) of a layer's tensors' sizes s  [12]
 *                 adapters: of these, and under stage 3 two gathers of the frozen weights as stored
 *   optimizer     30 bytes per parameter of the rank's shard / device memory
 *   launch        under ZeRO stage 1 a copy for each rank and gathered tensor (coefficients.h)
 *   offload       gradients and parameters over PCIe, 30 bytes per parameter of a node / host memory
 *   step          1: a number of steps
 *
 * Launch: what of a layer's launches the device waits for. The processor launches ahead of it, so a layer takes
 * ∛(device³ + host³), more than each and less than both: with the third power vTrain's and nanotron's runs are off by
 * less than with the second, and llm-foundry's are fitted closer. Both are with the weights of the profile, whatever
 * is calibrated, so that the sum stays linear:
 *   device   the terms above it
 *            (adapters: 5 more for each target, fused 3)
 *   host     one layer's launches, 4/3 with full recompute, and for each collective of tensor parallelism what the
 *            framework's profile says (collective_launches); for each of a rank's experts, where they are
 *            looped over, 0.4 of a layer's                                                             [17]
 *
 * Stages combine to (m - 1)·slowest + sum of all, which is the bubble exactly [1]; interleaving divides what lies
 * beyond m·slowest by v.
 *
 * Links: tensor (and context times tensor, expert times expert-tensor) groups of at most a link domain (device.h; here
 * "node") use its links, others the adapters; stages are on different nodes once the world is larger than one. Data and
 * larger tensor groups go over the adapters of the node's members of the group, all of which NCCL's rings use; where
 * these are faster than the links within the node, which the same ring passes, its data waits for the links.
 * Experts go by their own group, whose ranks are et·e apart; with shard_ranks it is within the shard, and G·Ψ_r/shard
 * is reduced across.
 *
 * Overlap. What is known to overlap counts only as far as it takes longer than the computing that it hides behind:
 * what the plan says (overlap_gradients, …), gradients in buckets, and ZeRO stage 3, or 2 under FSDP, which prefetch
 * (torch FSDP and FSDP2, DeepSpeed overlap_comm, Megatron-FSDP; but not over adapters that are units of their own).
 * Computing is kernels, and what they wait for the host, by the weights of the profile, whatever is calibrated.
 * Gradients hide behind two forward passes of the stage (of the last micro-batch, or of each that is reduced),
 * parameters behind one (ZeRO stage 3: all passes of all micro-batches, FSDP's 2: all forward passes), both together
 * behind no more than the pass; FSDP2 in a pipeline reduces after the last pass. Tensor and expert parallelism hide
 * behind their own layer. On GPUs, computing with communication beside it takes 18.9 % longer, as both use cores and
 * memory (4 devices of H100, A100, MI250 and MI210; GPT and Llama [15]), so 0.159 of what is hidden counts; it does not
 * where collectives have engines of their own (device.h).
 *
 * Experts' tokens (plan.h, enum expert_dispatcher): with all-gather e in place of K; once to each of n nodes, or of
 * n = e ranks in one, n·(1 - (1 - 1/n)^K) in place of K. Where some layers recompute, r is 3 and their share.
 *
 * Sources: [1] arXiv 2104.04473 · [2] arXiv 2205.05198 · [3] nccl-tests doc/PERFORMANCE.md ·
 * [4] DeepSpeed runtime/engine.py (stage 2 refuses no_sync) · [5] Pollux (OSDI 2021), (x^γ + y^γ)^(1/γ) for work that
 * overlaps in part · [6] NVIDIA Matrix Multiplication Background User's Guide; arXiv 2401.14489 · [7] torchtitan
 * distributed/activation_checkpoint.py · [8] NCCL src/graph/tuning.cc: a ring of the protocol for large messages counts
 * an adapter's latency twice · [9] aws-ofi-nccl src/tuner/nccl_ofi_model.cpp: steps between nodes ·
 * [10] arXiv 2405.21060, figure 10 · [11] Megatron-LM megatron/fused_kernels, scaled_upper_triang_masked_softmax ·
 * [12] torch csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
 * [13] Megatron-LM core/transformer/transformer_config.py, recompute_modules: checkpoints of core/transformer/moe/
 * moe_layer.py, transformer_layer.py and multi_latent_attention.py.
 * [14] Megatron-LM core/tensor_parallel/layers.py, VocabParallelEmbedding and ColumnParallelLinear, and
 * cross_entropy.py; nanotron parallel/tensor_parallel/functional.py has the same.
 * [15] arXiv 2507.03114, section 5: the average · [16] memory.h [11]; post_backward of all units after the last
 * backward pass (run_post_backward, or the schedule's REDUCE_GRAD) · [17] transformers models/mixtral/
 * modeling_mixtral.py: where (4 kernels), an index, three products, an activation and a product of both, the weight's
 * index, a product and index_add; backward two products for each, what the others leave, and three gradients added up ·
 * [18] torch distributed/fsdp/_runtime_utils.py: SHARD_GRAD_OP reshards after each backward pass.
 * A term without one counts what its line says. Pure; some hundred nanoseconds. */
#ifndef MESHSWEEP_PREDICT_STEP_TIME_H
#define MESHSWEEP_PREDICT_STEP_TIME_H

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/device.h"
#include "predict/plan.h"
#include "util/error.h"

struct step_prediction {
    double seconds;
    double low_s, high_s; /* 90 % */
    double sigma;
    double bubble_s; /* of seconds: stages waiting for each other */
    double tokens_per_s;
    double mfu;                    /* ATTENTION_FULL, of the bf16 peak */
    double terms[TIME_TERM_COUNT]; /* unweighted: what calibration fits weights to */
};

/* All arguments completed. Memory's coefficients enter through the size of activations. -1 (ERROR_USAGE),
 * `out` untouched, when what comes out is not a positive number of seconds below 10^9. */
int step_predict(const struct architecture *a, const struct training_plan *plan, const struct cluster *cluster,
                 const struct framework *framework, struct step_prediction *out, struct error *e);

/* FLOPs of a step at the devices' peak, in seconds: model FLOPs (ATTENTION_FULL) / (W · peak). What a
 * constant MFU divides (calibration.h). */
double step_peak_seconds(const struct architecture *a, const struct training_plan *plan, const struct cluster *cluster);

#endif
