/* Coefficients that differ between frameworks in the models of memory and time: bytes per parameter, activation
 * constants, bucket sizes, and the weights of the terms. They are data: the tables [predict.memory] and [predict.time]
 * of each framework's profile (configs/profiles/NAME.toml) override those of configs/profiles/predict.toml, which hold
 * for all; each number has its source there. A framework whose profile gives no `sigma` was not compared with
 * measurements: it is uncalibrated and has the wider interval of predict.toml. Calibration derives coefficients from
 * these and measurements (calibration.h).
 *
 * A weight multiplies a term of the model, and is 1 by default for terms in bytes or in seconds at the peak rate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum memory_term {
    MEMORY_BASE = 0,
    MEMORY_UNSHARDED,   /* states that every data-parallel rank holds in full */
    MEMORY_SHARDED,     /* states divided over the data-parallel group */
    MEMORY_ACTIVATIONS, /* kept for the backward pass, of all micro-batches in flight */
    MEMORY_WORKING,     /* of the layer being computed */
    MEMORY_LOGITS,      /* logits and loss */
    MEMORY_BUFFERS,     /* communication buckets and gathered parameters */
    MEMORY_TERM_COUNT,
};

enum time_term {
    TIME_MATRICES = 0, /* matrix products at the device's peak */
    TIME_ATTENTION,    /* attention products at the rate of attention kernels */
    TIME_ELEMENTWISE,  /* activations read or written once in device memory */
    TIME_LOGITS,       /* fp32 logits read or written once in device memory */
    TIME_LAUNCH,       /* layers × micro-batches whose kernel launches are waited for */
    TIME_TENSOR,       /* volume of tensor parallelism over its link */
    TIME_TENSOR_STEPS, /* collectives of tensor parallelism, times log2 of the degree */
    TIME_CONTEXT,      /* volume of context parallelism over its link */
    TIME_EXPERT,       /* volume of expert parallelism over its link */
    TIME_PIPELINE,     /* volume between stages over its link */
    TIME_DATA_INTRA,   /* volume of data parallelism within a node over its link */
    TIME_DATA_INTER,   /* the same between nodes */
    TIME_OPTIMIZER,    /* optimizer states read and written once */
    TIME_OFFLOAD,      /* traffic to the host, and the optimizer there */
    TIME_STEP,         /* per 500 tensors that a rank trains: step_time.h */
    TIME_TERM_COUNT,
};

extern const char *const memory_term_names[MEMORY_TERM_COUNT]; /* "base", "unsharded", … */
extern const char *const time_term_names[TIME_TERM_COUNT];

struct memory_coefficients {
    /* Bytes per parameter. ZeRO stage 1 shards master and moments, stage 2 also gradient and accumulation, stage 3 also
     * the parameter. Moments depend on the optimizer (Adam 8) and are not here. */
    double parameter, gradient, master;
    double accumulation[4]; /* another gradient in fp32, by ZeRO stage */
    /* In fp32, from stage 1 on: a second copy of the parameters, where 2-byte parameters have a master copy. */
    double fp32_master;
    double partition;   /* stage 1: further copies of the gradients of a rank's own partition, sharded */
    double norm_bytes;  /* of two norms of a layer, per token and hidden unit, if no kernel fuses them */
    double wide_norms;  /* not 0: LayerNorms return fp32, and 4-bit products return what they read: tuning.h */
    double wide_rows;   /* not 0: what experts give is weighted in fp32: layer_memory.h */
    double wide_scores; /* not 0: a Llama's softmax, or any under autocast, is in fp32 if not fused: layer_memory.h */
    /* Not 0: a GPT with one key-value head is transformers' GPTBigCode: stage_memory.h. */
    double gpt_bigcode;
    /* Not 0: fp32 weights train under torch.autocast if precision is 16 bits: layer_memory.h. */
    double autocast;
    double narrow_copies; /* of weights, under fp8 and fp4: stage_memory.h */
    double bucket_copy;   /* stages 0 and 1, with more than one rank: copies of gradients in DDP's buckets */
    double tied_sum;      /* bytes per entry of a tied embedding while its two gradients are added up */
    double moment;        /* bytes of one number of the optimizer's state */
    double adapter;       /* bytes of an adapter's weight, and of its gradient */
    /* Not 0: this framework's adapters were compared with measurements. */
    double adapters_compared;
    double quantised_inputs; /* bytes that a product with quantised weights keeps per number of its input */
    double unpacked;         /* bytes that a product keeps per GPTQ weight that torch's operations unpack: tuning.h */
    double step;             /* temporaries of an optimizer that is not fused; sharded like its states */
    double fuses_step;       /* not 0: the optimizer is fused unless a key says otherwise */
    double flat_step;        /* stages 0 to 2: further temporaries, if the step flattens gradients into one block */
    /* Not 0: its recipes recompute and reduce gradients in 16 bits, or keep weights in 8, unless a key says otherwise;
     * a plan is excluded only by the least of these needs. */
    double recipes;
    double default_stage; /* ZeRO stage if no key gives one: 3 for fully sharded frameworks */
    /* Not 0: its releases differ in whether inputs gathered by sequence parallelism are kept. If no key says so, the
     * interval spans the current default and the other, and a plan that fits only with one of them is a risk. */
    double may_keep_gathered;
    double may_chunk_loss; /* not 0: releases differ in whether the loss makes logits part by part */
    double phases; /* not 0: the peak is in one phase of a step (memory.h); 0: the terms of all phases are added */

    double base_bytes;
    double fragmentation;      /* bytes reserved per byte allocated, for activations */
    double unusable;           /* share of reserved memory that is free but too fragmented to use */
    double unusable_sharded;   /* the same at stage 3, which gathers and frees units between tensors that stay */
    double gated_mlp_bytes;    /* kept per token and unit of a gated MLP's width */
    double logit_bytes;        /* per token and vocabulary entry of the rank */
    double fused_logit_bytes;  /* the same if one kernel computes loss and gradient */
    double te_logit_bytes;     /* the same with TransformerEngine's kernel */
    double part_logit_bytes;   /* the same if the loss is computed in parts; compiled, no more than 2.25 */
    double gathered_logits;    /* not 0: tensor-parallel ranks gather all logits for the loss */
    double logit_slack;        /* of logit_bytes, reserved but not allocated: a free block that is too small */
    double length_pieces;      /* of the logits' bytes, held besides if batches differ in length: stage_memory.h */
    double frees_gradients;    /* not 0: gradients do not exist before the first backward pass of a step */
    double hidden_bytes;       /* per token and hidden unit: temporary gathered inputs and gradients */
    double expert_imbalance;   /* tokens of the busiest expert rank divided by the mean */
    double reduce_elements;    /* bucket size, if no key says it */
    double prefetch_elements;  /* stage 3: elements gathered ahead */
    double gathered_layers;    /* stage 3: layers gathered at once */
    double live_elements;      /* stage 3: most elements of layers that are gathered at once; 0: no limit */
    double sharded_at_rest;    /* not 0: stage 2 also shards parameters, but gathers all of them for a pass */
    double whole_gradients;    /* not 0: FSDP reduces none before the last micro-batch, unless a key says otherwise */
    double holds_gradients;    /* not 0: FSDP1 frees some gradients only at the end of a pass: stage_memory.h */
    double whole_stages;       /* not 0: with a pipeline, all parameters stay gathered, and gradients whole, until the
                                * last micro-batch */
    double context_bytes;      /* CUDA context, which torch does not count */
    double communicator_bytes; /* per parallel dimension above 1, also not counted; another two for experts */
    double communicators;      /* those besides, with tensor or pipeline parallelism */

    double weights[MEMORY_TERM_COUNT];
    double nominal[MEMORY_TERM_COUNT]; /* weights of the profile: for unusable pieces (stage_memory.h) */
    double sigma;                      /* standard deviation of ln(measured / predicted) */
    double spread;                     /* relative standard deviation of a weight before calibration */
    bool calibrated;
};

struct time_coefficients {
    double weights[TIME_TERM_COUNT]; /* LAUNCH and TENSOR_STEPS in seconds each, STEP in seconds */
    double nominal[TIME_TERM_COUNT]; /* weights of the profile: for what is waited for and hidden (step_time.h) */
    double gradient_bytes;           /* per gradient sent */
    double reduce_each_micro_batch;  /* not 0: stage 2 reduces after every micro-batch */
    double all_reduces;              /* not 0: stages 1 and 2 all-reduce gradients, and do not scatter them */
    double collective_launches;      /* launches per tensor-parallel collective, counted with the layer's */
    double module_launches;          /* more of a layer's, by modules around its products, where attention is fused */
    double checkpoint_launches;      /* the same per layer that is recomputed in full, beside its forward pass */
    double gradient_hooks;   /* where gradients are accumulated once more: launches per trained tensor of a layer */
    double module_hooks;     /* stage 3: the same per module whose matrix hooks gather and release, in each pass */
    double passing_hooks;    /* stage 3: the same per module without one */
    double host_accumulates; /* not 0: gradients that go to the host are added up with what it has: step_time.h */
    double unit_hooks;       /* FSDP: the same per unit (a layer, or an adapter), in each pass that gathers it */
    double parameter_hooks;  /* FSDP: the same per tensor of a unit */
    double ring;             /* not 0: context parallelism passes keys and values around, and does not exchange heads */
    double gather_copies;    /* not 0: gathered parameters and gradients are copied between tensors and buffers */
    double adapter_units;    /* not 0: an adapter that is not fused is gathered by itself, not with its layer */
    double unpacks;          /* not 0: GPTQ's weights are unpacked by torch's operations unless a key says otherwise */
    double loops_experts;    /* not 0: loops over experts unless a key says otherwise */
    double may_mask;         /* not 0: sdpa has a padding mask or none, and no key says which: intervals span both,
                              * and, of memory, batches of one length and of several */
    double fuses_scores;     /* tp from which one kernel scales, masks and softens scores; 0: torch's operations do */
    double latest_attention; /* not 0: uses the attention kernels written for the device (plan.h) */
    double bucket_bytes;     /* stage 0: size of the buckets that are reduced while computing; 0: no overlap */
    double gathered_tensors; /* stage 1: tensors per layer that are copied from each rank, a launch each */
    double sigma, spread;    /* as above */
    bool calibrated;
};

struct framework {
    const char *name;
    char *compared_on; /* chips on which its time was compared, by [predict.time]; NULL: none */
    struct memory_coefficients memory;
    struct time_coefficients time;
};

/* Sets a coefficient by the name of its member (parameter, base_bytes, accumulation_2, sigma, …), or the weight of a
 * term by the name of the term. Setting sigma marks the framework as calibrated. False: there is none of that name. */
bool memory_coefficient_set(struct memory_coefficients *c, const char *name, double value);
bool time_coefficient_set(struct time_coefficients *c, const char *name, double value);

/* Lists the names that these functions accept, at most `most`. Returns their number. */
size_t coefficient_names(bool is_time, const char **out, size_t most);

/* The frameworks of the embedded profiles, in byte order of their files: deepspeed, fsdp, fsdp2, gpt-neox, hf-trainer,
 * internevo, maxtext, megatron-distopt, megatron, nanotron, picotron, torch-ddp, torchtitan, torchtune, trainer. */
struct framework_set {
    struct framework *items;
    size_t count;
    struct framework base; /* predict.toml only: for a framework about which nothing is known */
};
int framework_set_read(struct framework_set *out, struct error *e);
void framework_set_free(struct framework_set *s);
