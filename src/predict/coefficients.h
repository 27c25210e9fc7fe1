/* What differs between frameworks in the models of memory and time: bytes per parameter, activation constants, bucket
 * sizes, and the weights of the terms. They are data: the tables [predict.memory] and [predict.time] of the profiles
 * (configs/profiles/NAME.toml, a framework each), over those of configs/profiles/predict.toml, which hold for all; each
 * number there has where it comes from. A framework whose profile gives no `sigma` of its own was not compared with
 * measurements: it is uncalibrated, and has the wider interval of predict.toml. Calibration makes coefficients of its
 * own from these and measurements (calibration.h).
 *
 * A weight multiplies a term of the model: 1 where the term is in bytes, or in seconds at the peak rate. */
#ifndef MESHSWEEP_PREDICT_COEFFICIENTS_H
#define MESHSWEEP_PREDICT_COEFFICIENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum memory_term {
    MEMORY_BASE = 0,
    MEMORY_UNSHARDED,   /* states that every rank of the data-parallel group holds */
    MEMORY_SHARDED,     /* states divided over the group */
    MEMORY_ACTIVATIONS, /* kept for the backward pass, of all micro-batches in flight */
    MEMORY_WORKING,     /* of the layer being computed */
    MEMORY_LOGITS,      /* logits and loss */
    MEMORY_BUFFERS,     /* communication buckets and gathered parameters */
    MEMORY_TERM_COUNT,
};

enum time_term {
    TIME_MATRICES = 0, /* matrix products at the device's peak */
    TIME_ATTENTION,    /* attention products at the rate of attention kernels */
    TIME_ELEMENTWISE,  /* activations passed once through device memory */
    TIME_LOGITS,       /* logits in fp32 passed once through device memory */
    TIME_LAUNCH,       /* layers of micro-batches whose launches are waited for */
    TIME_TENSOR,       /* volume of tensor parallelism over its link */
    TIME_TENSOR_STEPS, /* collectives of tensor parallelism, times log2 of the degree */
    TIME_CONTEXT,      /* volume of context parallelism over its link */
    TIME_EXPERT,       /* volume of expert parallelism over its link */
    TIME_PIPELINE,     /* volume between stages over its link */
    TIME_DATA_INTRA,   /* volume of data parallelism within a node over its link */
    TIME_DATA_INTER,   /* the same between nodes */
    TIME_OPTIMIZER,    /* optimizer states read and written once */
    TIME_OFFLOAD,      /* traffic to the host, and the optimizer there */
    TIME_STEP,         /* a step */
    TIME_TERM_COUNT,
};

extern const char *const memory_term_names[MEMORY_TERM_COUNT]; /* "base", "unsharded", … */
extern const char *const time_term_names[TIME_TERM_COUNT];

struct memory_coefficients {
    /* Bytes per parameter. ZeRO stage 1 shards master and moments, 2 also gradient and accumulation, 3 also
     * the parameter. The moments are the optimizer's (Adam 8), so they are not here. */
    double parameter, gradient, master;
    double accumulation[4]; /* a further gradient in fp32, by ZeRO stage */
    /* Under fp32, from stage 1 on: a second copy of the parameters, where 2-byte ones have a master. */
    double fp32_master;
    double partition;  /* stage 1: further copies of the gradients of a rank's own partition, sharded */
    double norm_bytes; /* of a layer's norms, per token and hidden unit, where no kernel fuses them */
    double wide_norms; /* not 0: LayerNorms give fp32, and products in 4 bits answer in what they read: tuning.h */
    /* Not 0: a GPT with one head of keys and values is transformers' GPTBigCode: stage_memory.h. */
    double gpt_bigcode;
    /* Not 0: weights in fp32 train under torch.autocast where precision is 16 bits: layer_memory.h. */
    double autocast;
    double bucket_copy; /* stages 0 and 1, with more than one rank: copies of gradients in DDP's buckets */
    double tied_sum;    /* bytes per entry of a tied embedding while its two gradients are added up */
    double moment;      /* bytes of one number of the optimizer's state */
    double adapter;     /* bytes of an adapter's weight, and as many of its gradient */
    /* Not 0: adapters under this framework were compared with measurements. */
    double adapters_compared;
    double quantised_inputs; /* bytes that a product with quantised weights keeps of each number of its input */
    double step;             /* temporaries of an optimizer that is not fused, sharded as its states */
    double fuses_step;       /* not 0: it is fused, unless a key says otherwise */
    double flat_step;        /* stages 0 to 2: further ones, where the step lays gradients out in one block */
    /* Not 0: its recipes recompute and reduce gradients in 16 bits where no key says otherwise, so that what excludes
     * is the least of these. */
    double recipes;
    double default_stage; /* ZeRO stage where no key says one: 3 of what is called fully sharded */
    /* Not 0: its releases differ in whether what sequence parallelism gathers is kept; where no key says so, intervals
     * reach from the present default to the other, and what fits only as the one is a risk. */
    double may_keep_gathered;
    double phases; /* not 0: the peak is in one phase (memory.h); 0: the terms of all are added up */

    double base_bytes;
    double fragmentation;      /* bytes reserved over bytes allocated, of activations */
    double unusable;           /* share of all that is reserved that is free, in pieces that nothing fits in */
    double unusable_sharded;   /* the same at stage 3, whose units are gathered and freed between what is kept */
    double gated_mlp_bytes;    /* kept per token and unit of a gated MLP's width */
    double logit_bytes;        /* per token and vocabulary entry of a rank */
    double fused_logit_bytes;  /* the same where one kernel makes the loss and its gradient */
    double te_logit_bytes;     /* and TransformerEngine's */
    double gathered_logits;    /* not 0: tensor-parallel ranks gather them for the loss, so that each has all of them */
    double logit_slack;        /* of logit_bytes, reserved but not allocated: a block that is free, and too small */
    double frees_gradients;    /* not 0: gradients are not there before the first backward pass of a step */
    double hidden_bytes;       /* per token and hidden unit: gathered inputs and gradients in passing */
    double expert_imbalance;   /* tokens of the busiest expert rank over the mean */
    double reduce_elements;    /* bucket of stage 1 and 2 */
    double prefetch_elements;  /* stage 3: gathered ahead */
    double gathered_layers;    /* stage 3: layers gathered at once */
    double sharded_at_rest;    /* not 0: stage 2 shards parameters too, but for a pass gathers all of them */
    double whole_stages;       /* not 0: with a pipeline all of them, and gradients whole, until the last micro-batch */
    double context_bytes;      /* CUDA context: outside what torch counts */
    double communicator_bytes; /* per parallel dimension above 1, also outside; twice more for experts */

    double weights[MEMORY_TERM_COUNT];
    double sigma;  /* standard deviation of ln(measured / predicted) */
    double spread; /* relative standard deviation of a weight before calibration */
    bool calibrated;
};

struct time_coefficients {
    double weights[TIME_TERM_COUNT]; /* LAUNCH and TENSOR_STEPS in seconds each, STEP in seconds */
    double nominal[TIME_TERM_COUNT]; /* those of the profile: what is waited for and hidden (step_time.h) */
    double gradient_bytes;           /* per gradient sent */
    double reduce_each_micro_batch;  /* not 0: stage 2 reduces after every micro-batch */
    double collective_launches;      /* of tensor parallelism, each in a layer's launches */
    double loops_experts;            /* not 0: experts are looped over, unless a key says not */
    double latest_attention;         /* not 0: attention kernels are those written for the device (plan.h) */
    double bucket_bytes;             /* stage 0: gradients reduced behind computing, in buckets of so many; 0: not */
    double gathered_tensors;         /* stage 1: of a layer, each copied from every rank by its own launch */
    double sigma, spread;            /* as above */
    bool calibrated;
};

struct framework {
    const char *name;
    struct memory_coefficients memory;
    struct time_coefficients time;
};

/* Changes a coefficient by the name of a member (parameter, base_bytes, accumulation_2, sigma, …) or of a term, for its
 * weight. A sigma says that there were measurements: calibrated. False when there is none of that name. */
bool memory_coefficient_set(struct memory_coefficients *c, const char *name, double value);
bool time_coefficient_set(struct time_coefficients *c, const char *name, double value);

/* The names that these take; at most `most` of them, the number is returned. */
size_t coefficient_names(bool is_time, const char **out, size_t most);

/* The frameworks of the profiles that the program carries, in byte order of their files: deepspeed, fsdp,
 * fsdp2, gpt-neox, hf-trainer, internevo, maxtext, megatron-distopt, megatron, nanotron, picotron, torch-ddp,
 * torchtitan, torchtune, trainer. */
struct framework_set {
    struct framework *items;
    size_t count;
    struct framework base; /* of predict.toml alone: a framework of which nothing is known */
};
int framework_set_read(struct framework_set *out, struct error *e);
void framework_set_free(struct framework_set *s);

#endif
