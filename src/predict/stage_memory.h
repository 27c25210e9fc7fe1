/* What a rank of one pipeline stage holds. Symbols are those of architecture.h and plan.h.
 *
 *   parameters   of a rank                                                                             source
 *   layers       matrices / t                                                                          [4]
 *   experts      all of a layer's / (et·e)
 *   small        norms and router: whole
 *   embedding    on the first stage: V·h/t                                                             [4]
 *   head         on the stage that has it: V·h/t; where tied, only when that is not the first stage,   [4]
 *                and then a copy
 *
 * Where a framework's phases are known (coefficients.h), only the larger of working and logits is there, or, where that
 * is more than activations and both, what the end of a step has: the optimizer's temporaries (step, unless it is fused,
 * below stage 3 flat_step, and 4 where gradients of 2 bytes are widened) / N, or, where that is more, tied_sum·V·h/t
 * while both gradients of a tied embedding are added up.
 * Where it frees its gradients and there is one micro-batch, the logits are there before any gradient; where those are
 * less than working, the last layer's backward pass is.
 *
 * Besides what its layers keep (layer_memory.h), a stage keeps
 *
 *   MTP          on the stage with the head: a layer, and 4·T·V/t of its logits
 *   inputs       first stage, per micro-batch: 8·T of token ids, and T·h of a dropout mask and 2·T·h of
 *                the input of a norm of the embedding (/ t with sequence parallelism)
 *   buckets      below stage 2, with more than one rank: bucket_copy · the gradients of what is trained  [12]
 *   cast         under autocast (layer_memory.h), with the logits: 2·V·h/t, the head's weights
 *
 * With the logits of GPTBigCode (coefficients.h, gpt_bigcode) its layers' 2·T·(a·d + 2·d) are there, in fp32 4, under
 * full recompute: keys and values for a cache, as a view of what has the queries, too. Its loss takes half the bytes.
 *
 * Under PRECISION_FP32 a parameter and a gradient of 2 bytes take 4 each, with neither a master copy (but for
 * fp32_master) nor a further gradient in fp32:
 *
 *   bytes per parameter with Adam    parameter   gradient   master and moments
 *   mixed precision [1]                      2          2                   12   and whatever is accumulated besides
 *   fp32                                     4          4                    8
 *
 * Without a master copy parameter, gradient and moments are as wide as the plan's weights_type says.
 *
 * Frozen weights have no gradient, master or moments; adapters (tuning.h) have, in their own bytes. Under ZeRO stage 3
 * with full recompute the backward pass of frozen layers holds a further 2·T·h of each of the stage's but two, and the
 * embedding and head are gathered throughout. Frozen leading layers keep no activations.
 *
 * Sources: [1] arXiv 1910.02054, section 3.1 · [4] Megatron-LM theoretical_memory_usage.py ·
 * [12] torch nn/parallel/distributed.py, gradient_as_bucket_view. Pure. */
#ifndef MESHSWEEP_PREDICT_STAGE_MEMORY_H
#define MESHSWEEP_PREDICT_STAGE_MEMORY_H

#include <stdint.h>

#include "predict/architecture.h"
#include "predict/coefficients.h"
#include "predict/plan.h"
#include "predict/tuning.h"

struct memory_stage {
    int64_t stage;
    double bytes;                    /* reserved by the framework's allocator: sum of weight · term */
    double allocated_bytes;          /* the same without fragmentation and slack */
    double slack;                    /* of bytes, free blocks that nothing fits in: given back before memory runs out */
    double parameters;               /* of a rank */
    double terms[MEMORY_TERM_COUNT]; /* bytes, unweighted: what calibration fits weights to */
};

/* Bytes per parameter, before anything is sharded or on the host. */
struct state_bytes {
    double parameter, gradient, master, moments;
};

/* What a prediction works out once for all its stages. */
struct plan_memory {
    const struct architecture *a;
    const struct training_plan *plan;
    const struct memory_coefficients *c;
    struct architecture_parameters whole;
    double vocab_weights; /* V·h */
    double layer_kept, layer_set;
    double layer_whole;        /* what a layer keeps that does not recompute; 0: all recompute, or none */
    struct state_bytes states; /* of what is trained */
    double frozen, quantised;  /* bytes per weight that is not; of a layer's matrices */
    struct layer_adapters adapters;
    double replicas, expert_replicas;
    int64_t head_stage;
};

struct state_bytes stage_state_bytes(const struct training_plan *plan, const struct memory_coefficients *c);

/* Of the moments of a parameter, whose numbers have `width` bytes unless they are quantised. */
double stage_moment_bytes(enum optimizer optimizer, double width);

/* Adds the states of `parameters`, copies of which are on `replicas` ranks. */
void stage_add_states(const struct plan_memory *m, double parameters, double replicas, double *terms);

/* Of what is reserved, the share in pieces that nothing fits in. */
double stage_unusable(const struct training_plan *plan, const struct memory_coefficients *c);

/* The sum of the weighted terms, and of what is unusable beyond them, which is slack; `kept`: activations before
 * fragmentation. */
void stage_weigh(const struct memory_coefficients *c, double kept, double unusable, struct memory_stage *out);

void stage_memory_fill(const struct plan_memory *m, int64_t stage, struct memory_stage *out);

#endif
