/* Seconds of a training step: a sum of terms, each a weight (coefficients.h) times what the term counts, so that few
 * measurements are enough to fit the weights.
 *
 * Symbols are those of architecture.h and plan.h, and
 *
 *   T     b·s/c tokens of a micro-batch              r     passes: 3, with full recompute 4
 *   F     forward FLOPs per token (flops.h, CAUSAL)  Ψ_r   parameters of a rank
 *   R     N·c ranks                                  G     bytes per gradient: the plan's, or the framework's
 *
 * Terms are in seconds at the full rate of the device, memory or link unless another unit is given.
 *
 *   term          per layer and micro-batch                                                              source
 *   matrices      r·T·F_matrices / (t·peak). The peak is scaled by the share of it that the device's     flops.h
 *                 best products reach, relative to an A100's (device.h); bf16_layers have that of bf16.
 *                 Routed experts with e > 1: by the busiest rank (layer_imbalance). Without flash
 *                 attention also attention's products over the whole square, outside the tensor cores
 *                 if the head size is not a multiple of 8                                                [6]
 *   attention     r·T·F_attention / (t·attention rate of the device), by kernel (plan.h)                  flops.h
 *                 Of the weight, 1.4 is the kernel's, and 0.6 at 4,096 tokens what goes with it in each token [20]:
 *                 rotations and layouts, as fast as memory where attention is slower than on A100.
 *                 It is less the longer a sequence is; up to 4,096 tokens, for
 *                 the Triton kernel of the first FlashAttention, and for a ring's blocks (of which no
 *                 source says why), all is as for 4,096
 *                 with a padding mask, of which sdpa has no flash kernel: the whole square, at 0.43 of the rate   [26]
 *                 heads of 256, and so of more than 128: 370/297 times                                            [32]
 *                 deterministic: the backward pass 1.2 times                                                      [27]
 *                 chunked scans of mixers, which are memory-bound: 3/16 of an A100's attention rate,     [10]
 *                 scaled by memory bandwidth. There Mamba-2's scan takes as long as attention of the
 *                 same width at 2,048 tokens, with 768 FLOPs against attention's 4,096. That is its
 *                 forward pass: trained, on H100 (four releases' Nemotron 3 Nano of
 *                 Megatron-Bridge), it takes 1.5 times as long. The gated delta rule does not
 *                 adapters: r - 1 passes for matrices; leading frozen layers: 1 pass
 *                 recompute by operations: every second product again                                    [7]
 *                 selective recompute: the modules in recompute_modules, or the attention, again        [13]
 *   elementwise   the layer's activations (layer_memory_set) / device memory, times 4/3 with full        layer_memory.h
 *                 recompute or recompute by operations; twice as much if hidden states are in fp32
 *                 (tuning_is_wide), but under torch.autocast only with dropout, and not compiled: with it
 *                 RoBERTa of torch 1.7 takes as long, of which the count below explains two thirds
 *                 a third of what modules of selective recompute drop.
 *                 Of compiled layers only what they would keep with norms and the MLP's activation
 *                 computed again. torchtitan's paper (arXiv 2410.06511, tables 1 and 2): Llama 3.1 8B
 *                 with recompute by operations gains 6.6 % on 8 H100, 14.8 % on 128
 *                 an eighth of these bytes:
 *                 scores that are not fused, read and written by the kernels of softmax and dropout and  [11]
 *                 the products around them: 8 bytes per score forward and 14 backward, with dropout
 *                 11 and 19; forward twice with selective recompute. Where torch's operations scale,
 *                 mask, soften and drop one after the other (fuses_scores, eager, fp32), 16 and 18; a softmax in  [31]
 *                 fp32 24 and 28, under autocast 32 and 36; with dropout 5, under autocast 9, more of both
 *                 RMS norms of torch's operations (eager) where the framework's are a kernel, 32 a number  [33]
 *                 forward and 86 backward. Where they are its own (norm_bytes) they are in the passes above,
 *                 as a gated MLP's operations move 28·f of the 64·f that count
 *                 torch.autocast, not compiled: 6 for each weight that is cast, and its gradient; without dropout [28]
 *                 24 a hidden unit forward, 32 backward: norms (8 and 20 in place of 4 and 10, each), sums
 *                 with the residual stream (10 and 12 in place of 6) and casts (6, four forward, six backward)
 *                 beyond the passes above
 *                 casts for 8-bit and 4-bit products (layer_cast_bytes)                                  layer_memory.h
 *                 quantised weights, read, and written and read in 2 bytes, r - 1 times;                  tuning.h
 *                 unpacked by torch's operations 18 bytes in each forward pass, and read once more        [21]
 *                 adapters (tuning_traffic)                                                              tuning.h
 *   optimizer     gradient accumulation, bytes per parameter / device memory: 3·G per micro-batch after
 *                 the first; per micro-batch G + 8 with a separate fp32 buffer, or 2·G if the matrix
 *                 product accumulates (Megatron-LM)
 *                 copies between buffers and tensors that are gathered (coefficients.h: gather_copies):           [23]
 *                 4 for each gather, and 2 + G for the gradient
 *   tensor        4 all-reduces of 2·T·h, 6 with full recompute: 2·(t-1)/t of that each over the link.   [2] [3]
 *                 Sequence parallelism sends as much; recompute by operations 5 times with it, else 6     [7]
 *   tensor-steps  4 (6) · log2 t steps, or across nodes 2·(t - 1) instead of log2 t (rings); 1.25 times  [2] [3]
 *                 with sequence parallelism, which gathers inputs again for the backward pass. Across
 *                 nodes, half an all-reduce also takes 2·latency of the network per node, in steps       [8] [9]
 *   context       3 · 2·(c-1)/c · 4·T·g·d/t over the link                                                [3]
 *   expert        4 all-to-alls of 2·T·h·K·(e-1)/(e·t) over the link, in layers with experts; 6 if        [3]
 *                 recompute_modules has moe; times the imbalance. Over n nodes: (n-1)/n for (e-1)/e, over
 *                 adapters at 0.9 of their bandwidth, where the weight is for links at 0.65, and by NCCL twice as
 *                 long, fitted to tests/data/unseen
 *   launch        (∛(device³ + host³) - device) / time of a layer's launches: number of layers, see below [5]
 *
 *   term          per stage and micro-batch                                                              source
 *   pipeline      2 transfers of 2·T·h (/ t with sequence parallelism) over the link; none if stages are [1]
 *                 interleaved, which compute another chunk meanwhile (Megatron-LM overlap_p2p_comm)
 *
 *   term          of the head, per micro-batch                                                           source
 *   matrices      3·T·F_head / (t·peak), as for a layer, but never below 16 bits                         flops.h
 *   logits        4·T·V/t / device memory; a quarter of it for a loss in a compiled model's graph        coefficients.h
 *   tensor        1 all-reduce of 2·T·h, 2 if the embedding is on the same stage                           [2] [14]
 *   tensor-steps  these and the loss's 3, as for a layer; half an all-reduce more with sequence            [14]
 *                 parallelism
 *
 *   term          per step                                                                               source
 *   data          by ZeRO stage, times (R-1)/R, over the link:                                           [3]
 *                   0   2·G·Ψ_r
 *                   1   (G + 2)·Ψ_r
 *                   2   (G + 2)·Ψ_r, with m·G for G if the framework reduces each micro-batch            [4]
 *                       DeepSpeed's 1 and 2 all-reduce (all_reduces): 2·G for G
 *                       FSDP (sharded_at_rest) also gathers for each micro-batch: m·(2 + G)·Ψ_r          [18]
 *                   3   m·(4 + G)·Ψ_r
 *                   2 and 3 of FSDP2 in a pipeline (whole_stages): (2 + G)·Ψ_r                            [16]
 *                   in fp32 G and what is gathered have 4
 *                 stage 0 in buckets (coefficients.h): also, per bucket over n nodes, the smaller of      [8]
 *                 2·((R/n - 1)·4 us + log2 n·λ) (tree) and 2·(R - n)·3.4 us + 2·(n - 1)·λ (ring); λ is
 *                 14 us + 2·latency of the network. A bucket ends with the tensor that fills it, so on    [12]
 *                 average it is larger by Σs²/(2·Σs), with s the sizes of a layer's tensors
 *                 FSDP's 2 and 3: also, per unit gathered or reduced, (R - n)·3.4 us + (n - 1)·λ (ring)          [8]
 *                 adapters: Ψ_r has only them, and each micro-batch gathers the frozen weights, as stored,
 *                 twice under stage 3 and once under FSDP's stage 2
 *   optimizer     bytes per parameter of the rank's shard / device memory: 30, or without a master copy  [30]
 *                 7 numbers, 20 by kernels of lists of tensors
 *   matrices      Muon: its products (flops_orthogonalised), in bf16; of the rank's share below stage 3,   flops.h
 *                 of all above, whose ranks gather each matrix
 *   launch        ZeRO stage 1: a copy per rank and gathered tensor (coefficients.h)
 *   offload       over PCIe, per parameter of the rank: 2 for it, and 4·m more if it is on the host; 2·m for
 *                 its gradient (m is 1 below stage 2), and where the host accumulates (DeepSpeed) 4 for the [29]
 *                 sum in fp32, and back 2·(m - 1), under stage 3 2·m (with m = 1 below it only the 4)
 *                 per parameter of a node / host memory: 7 numbers of the states' width; with a master copy 28, 8
 *                 to scale the gradient and 6 to narrow the weight
 *                 torch's own offload (FSDP) is no faster on Grace, whose link and memory DeepSpeed uses: 13 rows
 *                 of Llamas of 0.08B to 19B on 2 and 16 GH200 (tests/data/unseen/lai-proj.csv)
 *                 adapters: and, where parameters are offloaded, the frozen weights for each gather, as stored
 *   step          trained tensors of a rank / 500: AdamW on lists of tensors takes 50 us each (15.6 ms for a    [34]
 *                 ResNet-101's 314), the norm of all gradients 9
 *
 * Launch: the part of a layer's launches that the device waits for. The host launches ahead of the device, so a layer
 * takes ∛(device³ + host³), more than the larger and less than the sum. The third power predicts vTrain's and
 * nanotron's runs better than the second, and fits llm-foundry's more closely. Both times use the profile's weights,
 * even after calibration, so that the sum stays linear in the fitted weights:
 *   device   the terms above launch
 *   host     one layer's launches, plus 0.05 of them per adapter target (fused 0.03) and 0.4 per expert of the rank if
 *            experts are looped over [17], per matrix 0.02 where bitsandbytes dequantises it, forward and backward,
 *            and 0.06 where its scales are quantised, too [19], 0.13 where torch's operations compute scores, which
 *            copy q, k, v and the output, scale, mask and soften (8 kernels more forward, 5 backward), and 0.17 where
 *            the softmax is in fp32 [31], or where attention is fused module_launches, all times 4/3 with full
 *            recompute; plus, in each forward pass, 0.09 per matrix where torch's operations unpack GPTQ's weights
 *            [21]; plus what hooks of the framework launch (coefficients.h: gradient_hooks, module_hooks,
 *            passing_hooks), the latter two in each forward pass and the backward one, with a gather and a copy where
 *            there is more than one rank; of FSDP (unit_hooks, parameter_hooks) a gather and a copy per unit, in the
 *            backward pass only if it gathers again, and a scatter and four copies (flattened, divided twice, cast)
 *            where it reduces [24]; plus, per collective of tensor parallelism, collective_launches and, unless they
 *            are compiled, dispatch_launches (coefficients.h); 0.04 per matrix for torch.autocast, which casts its
 *            input and weight, and both gradients, in kernels of their own unless they are compiled [28], 0.54 for
 *            fp8 by torch's operations (layer_eager_cast_bytes), 0.3 (fitted to tests/data/unseen) per norm that they
 *            compute, in some twenty kernels, with those of rotary positions by hand, which go together with such
 *            norms, and checkpoint_launches with full recompute. All
 *            this, and copies of gathered tensors, by the device's launch_factor (devices.toml); with CUDA graphs a
 *            hundredth
 *            (docs.nvidia.com/dl-cuda-graph: a layer is one). Experts that are not looped over have routing_launches
 *            and grouped_launches for each of the rank (coefficients.h), with full recompute times 4/3, too; a layer's
 *            graph has half of the former, the router, as how many tokens an expert gets is known only after it
 *            (docs.nvidia.com/megatron-core, cuda_graph: moe_router, moe_preprocess)
 *
 * Stages combine to (m - 1)·slowest + sum of all, which is the bubble exactly [1]; interleaving divides what exceeds
 * m·slowest by v.
 *
 * Links: tensor groups (and context · tensor, expert · expert-tensor groups) within a link domain (device.h; here
 * "node") use its links, larger ones the network adapters. Where no switch joins a node's devices, a group of r uses
 * what leads to r - 1 others (pair_bandwidth in devices.toml). Stages are on different nodes if the world is larger
 * than a node. Data-parallel groups and larger tensor groups use the adapters of all their members in a node, as
 * NCCL's rings do; if these are faster than the links within the node, which the ring also passes, the links limit it.
 * Experts have their own data-parallel group, whose ranks are et·e apart. With shard_ranks the volumes above are within
 * the shard, and gradients of Ψ_r/shard are also reduced across shards.
 *
 * Overlap: communication that overlaps counts only as far as it exceeds the computation that hides it. It overlaps if
 * the plan says so (overlap_gradients, …), in buckets, and under ZeRO stage 3 and FSDP's stage 2, which prefetch (torch
 * FSDP and FSDP2, DeepSpeed overlap_comm, Megatron-FSDP; but not with adapters that are units of their own).
 * Computation is kernels and their waiting for the host, by the profile's weights, even after calibration. Two forward
 * passes' time of the stage hides gradients (of the last micro-batch, or of each that is reduced), and one hides
 * parameters (ZeRO stage 3: all passes of all micro-batches; FSDP's 2: all forward passes); together they hide behind
 * no more than the whole pass. FSDP2 in a pipeline reduces after the last pass. Nothing hides the first gathers and the
 * last reductions of sharded parameters, those of the embedding and of one layer [25]. Where the backward pass does not
 * prefetch (gathers_in_turn), a gather waits in its stream for the reduction before it, which waits for the layer
 * before, so that only the forward pass hides anything [25]. Tensor and expert parallelism hide
 * behind their own layer. On GPUs, computation takes 18.9 % longer during communication, as both use cores and memory
 * (4 devices of H100, A100, MI250 and MI210; GPT and Llama [15]), so 0.159 of the hidden time counts; it does not if
 * collectives have engines of their own (device.h).
 *
 * Experts' tokens (plan.h, enum expert_dispatcher): all-gather has e in place of K; sending once to each of n nodes, or
 * of n = e ranks of one node, has n·(1 - (1 - 1/n)^K), of which DeepEP's 43 to 51 of an adapter's 50 GB/s count the
 * node's own, too [22]. If only some layers recompute, r is 3 plus their share.
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
 * modeling_mixtral.py: where (4 kernels), an index, three products, an activation and the product of both, the
 * weight's index, a product and index_add; backward two products for each product, one kernel for each of the others,
 * and three gradients accumulated ·
 * [18] torch distributed/fsdp/_runtime_utils.py: SHARD_GRAD_OP reshards after each backward pass ·
 * [19] bitsandbytes functional.py, dequantize_4bit: one kernel, with nested scales three ·
 * [20] Dao-AILab/flash-attention, pull request 1791: 8,192 tokens with a mask on H100, heads of 128, take
 * FlashAttention-2 1.935 ms forward and 4.788 backward (1.37 of the term), without it 2.972 and 9.460. arXiv
 * 2307.08691, section 4: it is 1.3 to 2.5 times as fast as the first in Triton ·
 * [21] AutoGPTQ nn_modules/qlinear/qlinear_cuda_old.py: of zeros a shift, a narrowing, a mask and an addition, of
 * weights a shift (4 bytes written), a narrowing (4 + 1), a mask (1 + 1), a subtraction (1 + 1) and a product (1 + 2),
 * which the matrix product reads (2) and keeps · [22] deepseek-ai/DeepEP README.md, normal kernels on 16 to 64 H800;
 * tests/test_internode.py, rdma_send_bytes · [23] torch distributed/fsdp/_fully_shard/_fsdp_collectives.py:
 * split_with_sizes_copy out of the gathered buffer, chunk_cat into that of the reduction; DeepSpeed runtime/zero/
 * partition_parameters.py, AllGatherCoalescedHandle.wait, and stage3.py, new_grad_tensor ·
 * [24] torch distributed/fsdp/_runtime_utils.py, _post_backward_hook and _reduce_grad · [25] PyTorch's FSDP notes,
 * "prefetch nuances"; torch distributed/fsdp/api.py, BackwardPrefetch: a process group's collectives share a stream ·
 * [26] torch aten/src/ATen/native/transformers/cuda/sdp_utils.cpp; NVIDIA/TileGym, pull request 49:
 * the memory-efficient kernel reaches 36 of flash's 84 TFLOP/s forward and 37 of 87 backward, heads of 128. So Mistral
 * 7B with LoRA takes 1.3 and 1.6 times as long with 4,096 and 8,192 tokens (huggingface/transformers, issue 30461) ·
 * [27] Dao-AILab/flash-attention, pull request 2280: 2.459 and 2.945 ms with a causal mask ·
 * [28] torch aten/src/ATen/autocast_mode.cpp, cached_cast, and lists of what is in fp32; dropout of 0 is nothing
 * (native/Dropout.cpp) · [29] DeepSpeed runtime/zero/stage_1_and_2.py,
 * async_accumulate_grad_in_cpu_via_gpu and step; stage3.py, partition_grads ·
 * [30] torch optim/adam.py, _multi_tensor_adam: weights are read and written twice, gradients read twice, the first
 * moment read twice and written, the second read three times and written twice, and its root three times each ·
 * [31] transformers models/llama/modeling_llama.py, eager_attention_forward; torch aten/src/ATen/autocast_mode.cpp ·
 * [32] arXiv 2407.08608, figure 5: FlashAttention-2 forward without a mask, 8,192 tokens on H100 ·
 * [33] of LlamaRMSNorm (models/llama/modeling_llama.py, in fp32) and its gradients (torch tools/autograd/
 * derivatives.yaml), of which each operation reads and writes its tensors: 36 and 92, of which a kernel moves 4 and 6 ·
 * [34] pytorch/pytorch, pull request 45299 and issue 133586 (18 ms for 2,000 tensors).
 * Terms without a source are counted as described. Pure; takes some hundred nanoseconds. */
#pragma once

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/device.h"
#include "predict/plan.h"
#include "util/error.h"

struct step_prediction {
    double seconds, sigma;
    double terms[TIME_TERM_COUNT]; /* unweighted; calibration fits the weights */
};

/* All arguments must be completed. Memory coefficients enter through the size of activations. False, `out` untouched,
 * if the result is not a positive number of seconds below 10^9. */
bool step_predict(const struct architecture *a, const struct training_plan *plan, const struct cluster *cluster,
                  const struct framework *framework, struct step_prediction *out);

/* Returns whether GPTQ's weights are unpacked by torch's operations. */
bool step_unpacks(const struct training_plan *plan, const struct framework *framework);
