/* Device memory of a training plan: the most that any pipeline stage reserves, term by term.
 *
 * For a stage k with L_k layers, in_flight_k micro-batches (plan.h) and T = b·s/c tokens:
 *
 *   states        bytes per parameter (coefficients.h) times the parameters of a rank: layers' matrices / t,
 * experts / (et·e), norms and router whole, embedding V·h/t on the first stage, head V·h/t on the stage that
 * has it (tied: only when that is another stage, which then holds a copy) activations   fragmentation · L_k ·
 * in_flight_k · kept; kept per layer = T·(h·(8 + 2·dropout) / (t with sequence parallelism, else 1)
 *                      + (4·a·d + 4·g·d + 4·f) / t)              f: 6 to 8 in place of 4 when gated
 *                   + T·a·s·(2, with dropout 5) / t              unless flash attention or selective
 * recompute which is T·h·(10 + 24/t + 5·a·s/(h·t)) of arXiv 2205.05198 for f = 4·h; full recompute keeps
 *                 2·T·h, divided by t with sequence parallelism. Mixtures of experts keep per token
 *                 K·imbalance·(2·h + 4…8·f_e)/et + 2·h·K + 4·h in place of the MLP's share
 *                 On the first stage also 8·T per micro-batch for token ids, and T·h of a dropout mask
 *                 Under PRECISION_FP32 a parameter and a gradient of 2 bytes take 4 each, with neither a master copy
 *                 (but for fp32_master) nor a further gradient in fp32: with Adam 4 + 4 + 8, where mixed precision has
 *                 2 + 2 + 12 (arXiv 1910.02054, section 3.1) and whatever is accumulated besides
 *   working       one layer's whole set, and hidden_bytes·T·h
 *   logits        logit_bytes·T·V/t + 2·T·h on the stage with the head
 *   buffers       stage 1, 2: 2·min(bucket, parameters); stage 3: 2·min(parameters, prefetch + gathered
 * layers)
 *                 + 2·largest layer or embedding
 *   base          constant
 *
 * PRECISION_FP32 doubles activations too. An optimizer on the host takes master weights and moments there,
 * OFFLOAD_PARAMETERS the parameters too: 16 (18, in fp32 20) bytes per parameter, times 1.5, over the nodes.
 * Sources: arXiv 2205.05198 table 2; arXiv 2411.06465 (gated MLP); Megatron-LM theoretical_memory_usage.py;
 * DeepSpeed runtime/zero/config.py and stage3.py. Not compared with measurements: mixtures of experts,
 * offload, DeepSpeed's stages, context parallelism; ± 25 % there. Pure; some hundred nanoseconds. */
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
    double low_bytes, high_bytes; /* of most.bytes, 90 % */
    double sigma;
    double reserve_bytes; /* context and communicators, which torch's counters leave out */
    double host_bytes;    /* of a node, for offload */
};

/* All arguments completed. -1 (ERROR_USAGE), `out` untouched, when more than 10^15 parameters or bytes come
 * out. */
int memory_predict(const struct architecture *a, const struct training_plan *plan,
                   const struct cluster *cluster, const struct memory_coefficients *coefficients,
                   struct memory_prediction *out, struct error *e);

/* A model of which only this is known, as a short run shows it. Activations are what the forward pass of one sample leaves
 * allocated on a device without tensor and pipeline parallelism. */
struct measured_model {
    double parameters, activation_bytes;
    double forward_flops; /* of a sample; 0: not known */
};

/* The same from these: states and buffers as above, of parameters / (t·p); activations / (t·c), of as many micro-batches as
 * the first stage holds, in proportion to their samples (a stage of p holds 1/p of them). No layer being computed, no
 * logits: DeepSpeed autotuning/autotuner.py, get_instantiation_memory_required_per_gpu and model_info, counts neither. Nor
 * does precision change what was measured of activations: they are those of the run that was. */
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
