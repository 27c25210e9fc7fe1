/* How a model is trained: degrees of parallelism, batch, schedule, and what is kept or computed again.
 *
 * Symbols: t tensor, p pipeline, v virtual stages per rank, c context, e expert and et expert-tensor degree,
 * N data-parallel degree (without c), m micro-batches per step and pipeline (gradient accumulation), b
 * sequences per micro-batch, s tokens per sequence. World size W = t·c·p·N; tokens of a micro-batch on a rank
 * T = b·s/c; global batch b·m·N sequences.
 *
 * Whether a framework accepts a plan (heads divisible by t, p·v dividing the layers, …) is a matter of rules,
 * not of this: here only what would make the formulas meaningless is refused. Pure. */
#ifndef MESHSWEEP_PREDICT_PLAN_H
#define MESHSWEEP_PREDICT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "predict/architecture.h"
#include "util/error.h"

enum pipeline_schedule { SCHEDULE_1F1B = 0, SCHEDULE_GPIPE, SCHEDULE_INTERLEAVED }; /* interleaved: v > 1 */
enum recompute {
    RECOMPUTE_NONE = 0,
    RECOMPUTE_SELECTIVE,
    RECOMPUTE_FULL
}; /* selective: attention scores alone */
enum offload { OFFLOAD_NONE = 0, OFFLOAD_OPTIMIZER, OFFLOAD_PARAMETERS }; /* parameters: and the optimizer */
enum precision { PRECISION_BF16 = 0, PRECISION_FP8, PRECISION_FP32 }; /* of matrices; fp16 counts as bf16 */

enum optimizer {
    OPTIMIZER_ADAM = 0,
    OPTIMIZER_ADAM_8BIT,
    OPTIMIZER_LION,
    OPTIMIZER_MUON,
    OPTIMIZER_SGD_MOMENTUM,
    OPTIMIZER_SGD,
    OPTIMIZER_END,
};

/* Where layers are cut into stages.
 * UNIFORM  layers / p each, what is left over one each to the first stages.
 * BY_COST  nanotron: blocks are dealt out in order, the next stage begins once the running sum of
 *          4·a·d·h + 3·f·h per layer (and V·h for the head) has reached (k + 1)/p of the whole, so the last
 * stage, which has the head, holds fewer layers. */
enum stage_split { SPLIT_UNIFORM = 0, SPLIT_BY_COST };

/* Zero means 1, or the first of the enumerators. */
struct training_plan {
    int64_t tensor, pipeline, virtual_stages, data, context, expert;
    int64_t expert_tensor; /* 0: as tensor, as far as the experts' group allows */
    int64_t zero_stage;    /* 0 to 3 */
    int64_t
        shard_ranks; /* ranks that a parameter's states are sharded over (HSDP); 0: all that replicate it */
    int64_t micro_batch, micro_batches, sequence; /* sequence 0: ViT's image tokens */
    enum pipeline_schedule schedule;
    enum stage_split split;
    enum recompute recompute;
    enum offload offload;
    enum optimizer optimizer;
    enum precision precision;
    bool sequence_parallel; /* activations outside the matrices are divided by t, too */
    bool flash_attention;   /* scores are never stored */
};

extern const char *const optimizer_names[OPTIMIZER_END]; /* "adam", "adam-8bit", "lion", … */

/* Fills in the defaults for a completed architecture. -1 (ERROR_USAGE), with `plan` as it was, when a number
 * is negative or absurdly large, a stage would have no layer, or experts do not divide over their ranks. */
int plan_complete(struct training_plan *plan, const struct architecture *a, struct error *e);

/* The rest wants a completed plan. */

double plan_world(const struct training_plan *plan);
double plan_tokens(const struct training_plan *plan);       /* T */
double plan_global_batch(const struct training_plan *plan); /* sequences per step */

/* Ranks that hold a copy of a dense parameter (N·c), and of an expert's (W / (et·e·p), at least 1). */
double plan_replicas(const struct training_plan *plan);
double plan_expert_replicas(const struct training_plan *plan);

/* Ranks over which states are sharded: `replicas`, or shard_ranks when that is less. */
double plan_shards(const struct training_plan *plan, double replicas);

/* Layers of stage 0 … p - 1, and the stage that has the head (not always the last when cut by cost). */
double plan_stage_layers(const struct training_plan *plan, const struct architecture *a, int64_t stage);
int64_t plan_head_stage(const struct training_plan *plan, const struct architecture *a);

/* Micro-batches whose activations a stage holds at once, in units of the whole stage (interleaving makes
 * fractions): GPipe m · 1F1B min(p - k, m) · interleaved min(2(p - k - 1) + (v - 1)p + 1, m·v) / v.
 * Source: Megatron-LM megatron/core/pipeline_parallel/schedules.py; on stage 0 equal to the p·(1 + (p -
 * 1)/(p·v)) of arXiv 2205.05198. */
double plan_in_flight(const struct training_plan *plan, int64_t stage);

/* Idle share of the ideal time: (p - 1) / (v·m). */
double plan_bubble(const struct training_plan *plan);

#endif
