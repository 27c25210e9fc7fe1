/* Seconds of a training step: a sum of terms, each a weight (coefficients.h) times what the term counts, so
 * that few measurements are enough to fit the weights.
 *
 * A layer of a micro-batch, T = b·s/c tokens, F the forward FLOPs per token of flops.h under the CAUSAL
 * convention, r = 3, with full recompute 4 passes:
 *
 *   matrices     r·T·F_matrices / (t·peak)             without flash attention also its products, the whole square
 *   attention    r·T·F_attention / (t·attention rate of the device)
 *   elementwise  the layer's activations (memory_layer_set) / device memory, 4/3 with full recompute
 *   tensor       4 all-reduces of 2·T·h, 6 with full recompute: each 2·(t-1)/t of it over the link. Sequence parallelism
 *                sends as much
 *   tensor-steps 4 (6) · log2 t
 *   context      3 · 2·(c-1)/c · 4·T·g·d/t over the link
 *   expert       4 all-to-alls of 2·T·h·K·(e-1)/(e·t) over the link, in layers with experts
 *   launch       what of a layer's launches the device waits for: the processor launches ahead of it, so a layer takes
 *                √(device² + host²), more than each and less than both, of which √(device² + host²) - device is
 *                counted, over what a launch takes. device: the terms above; host: one layer's launches, 4/3 with full
 *                recompute, and 2 of its hundred more for each collective of tensor parallelism; both with the weights
 *                of predict.toml, whatever is calibrated, so that the sum stays linear
 * A stage adds    pipeline: 2 transfers of 2·T·h (/ t with sequence parallelism) · v
 * The head adds   matrices: 3·T·F_head / (t·peak); logits: 4·T·V/t / device memory
 *
 * Stages combine to (m - 1)·slowest + sum of all, which is the bubble exactly; interleaving divides what lies
 * beyond m·slowest by v. A step adds, Ψ_r parameters of a rank, R = N·c ranks, g bytes per gradient:
 *
 *   data         stage 0: 2·g·Ψ_r · 1: (g + 2)·Ψ_r · 2: (g, times m where the framework reduces each
 * micro-batch, + 2) · 3: m·(4 + g)·Ψ_r, each times (R-1)/R; within a node over its link, between nodes over
 * the adapters of the node's members of the group, all of which NCCL's rings use. Experts by their own group;
 *                shard_ranks: within the shard, and g·Ψ_r/shard reduced across
 *   optimizer    30 bytes per parameter of the rank's shard / device memory
 *   offload      gradients and parameters over PCIe, 30 bytes per parameter of a node / host memory
 *   step         1
 *
 * Links: tensor (and context, expert times tensor) groups of at most a node use the node's, others the
 * adapters; stages are on different nodes once the world is larger than one. Overlap is in the weights: a
 * fitted weight of data is the share that is not hidden. Sources: arXiv 2104.04473, 2205.05198; nccl-tests
 * doc/PERFORMANCE.md; DeepSpeed runtime/engine.py (stage 2 refuses no_sync); (x^γ + y^γ)^(1/γ) for work that overlaps in
 * part: Pollux (OSDI 2021). Pure; some hundred nanoseconds.
 */
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
 * `out` untouched, when what comes out is no positive number of seconds below 10^9. */
int step_predict(const struct architecture *a, const struct training_plan *plan,
                 const struct cluster *cluster, const struct framework *framework,
                 struct step_prediction *out, struct error *e);

/* FLOPs of a step at the devices' peak, in seconds: model FLOPs (ATTENTION_FULL) / (W · peak). What a
 * constant MFU divides (calibration.h). */
double step_peak_seconds(const struct architecture *a, const struct training_plan *plan,
                         const struct cluster *cluster);

#endif
