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

#include "util/suggest.h"

/* The terms: MEMORY_id, TIME_id and their names. */
#define MEMORY_TERMS(ROW)                                                                                              \
    ROW(BASE, "base")                                                                                                  \
    ROW(UNSHARDED, "unsharded")     /* states that every data-parallel rank holds in full */                           \
    ROW(SHARDED, "sharded")         /* states divided over the data-parallel group */                                  \
    ROW(ACTIVATIONS, "activations") /* kept for the backward pass, of all micro-batches in flight */                   \
    ROW(WORKING, "working")         /* of the layer being computed */                                                  \
    ROW(LOGITS, "logits")           /* logits and loss */                                                              \
    ROW(BUFFERS, "buffers")         /* communication buckets and gathered parameters */

#define TIME_TERMS(ROW)                                                                                                \
    ROW(MATRICES, "matrices")         /* matrix products at the device's peak */                                       \
    ROW(ATTENTION, "attention")       /* attention products at the rate of attention kernels */                        \
    ROW(ELEMENTWISE, "elementwise")   /* activations read or written once in device memory */                          \
    ROW(LOGITS, "logits")             /* fp32 logits read or written once in device memory */                          \
    ROW(LAUNCH, "launch")             /* layers × micro-batches whose kernel launches are waited for */               \
    ROW(TENSOR, "tensor")             /* volume of tensor parallelism over its link */                                 \
    ROW(TENSOR_STEPS, "tensor-steps") /* collectives of tensor parallelism, times log2 of the degree */                \
    ROW(CONTEXT, "context")           /* volume of context parallelism over its link */                                \
    ROW(EXPERT, "expert")             /* volume of expert parallelism over its link */                                 \
    ROW(PIPELINE, "pipeline")         /* volume between stages over its link */                                        \
    ROW(DATA_INTRA, "data-intra")     /* volume of data parallelism within a node over its link */                     \
    ROW(DATA_INTER, "data-inter")     /* the same between nodes */                                                     \
    ROW(OPTIMIZER, "optimizer")       /* optimizer states read and written once */                                     \
    ROW(OFFLOAD, "offload")           /* traffic to the host, and the optimizer there */                               \
    ROW(STEP, "step")                 /* per 500 tensors that a rank trains: step_time.h */

#define MEMORY_TERM(id, name) MEMORY_##id,
#define TIME_TERM(id, name) TIME_##id,
enum memory_term { MEMORY_TERMS(MEMORY_TERM) MEMORY_TERM_COUNT };
enum time_term { TIME_TERMS(TIME_TERM) TIME_TERM_COUNT };
#undef MEMORY_TERM
#undef TIME_TERM

extern const char *const memory_term_names[MEMORY_TERM_COUNT]; /* "base", "unsharded", … */
extern const char *const time_term_names[TIME_TERM_COUNT];

/* Coefficients of memory, members of these names. ZeRO stage 1 shards master and moments, stage 2 also gradient and
 * accumulation, stage 3 also the parameter. Moments depend on the optimizer (Adam 8) and are not here.
 *
 * recipes: they recompute and reduce gradients in 16 bits, or keep weights in 8, unless a key says otherwise; a plan is
 * excluded only by the least of these needs. may_keep_gathered: releases differ in whether inputs gathered by sequence
 * parallelism are kept; if no key says so, the interval spans the current default and the other, and a plan that fits
 * only with one of them is a risk. */
#define MEMORY_COEFFICIENTS(ROW)                                                                                       \
    ROW(parameter)     /* bytes per parameter */                                                                       \
    ROW(gradient)      /* the same */                                                                                  \
    ROW(master)        /* the same, of a copy in fp32 */                                                               \
    ROW(fp32_master)   /* in fp32, from stage 1 on: a second copy, where 2-byte parameters have a master */            \
    ROW(moment)        /* bytes of one number of the optimizer's state */                                              \
    ROW(partition)     /* stage 1: further copies of the gradients of a rank's own partition, sharded */               \
    ROW(norm_bytes)    /* of two norms of a layer, per token and hidden unit, if no kernel fuses them */               \
    ROW(autocast)      /* not 0: fp32 weights train under torch.autocast if precision is 16 bits: layer_memory.h */    \
    ROW(bucket_copy)   /* stages 0 and 1, with more than one rank: copies of gradients in DDP's buckets */             \
    ROW(narrow_copies) /* of weights, under fp8 and fp4: stage_memory.h */                                             \
    ROW(tied_sum)      /* bytes per entry of a tied embedding while its two gradients are added up */                  \
    ROW(wide_norms)    /* not 0: LayerNorms return fp32, and 4-bit products return what they read: tuning.h */         \
    ROW(wide_scores)   /* not 0: a Llama's softmax, or any under autocast, is in fp32 if not fused: layer_memory.h */  \
    ROW(wide_rows)     /* not 0: what experts give is weighted in fp32: layer_memory.h */                              \
    ROW(gpt_bigcode)   /* not 0: a GPT with one key-value head is GPTBigCode of transformers: stage_memory.h */        \
    ROW(step)          /* temporaries of an optimizer that is not fused; sharded like its states */                    \
    ROW(fuses_step)    /* not 0: the optimizer is fused unless a key says otherwise */                                 \
    ROW(flat_step)     /* stages 0 to 2: further temporaries, if the step flattens gradients into one block */         \
    ROW(adapter)       /* bytes of an adapter's weight, and of its gradient */                                         \
    ROW(adapters_compared) /* not 0: this framework's adapters were compared with measurements */                      \
    ROW(quantised_inputs)  /* bytes that a product with quantised weights keeps per number of its input */             \
    ROW(unpacked)          /* bytes that a product keeps per GPTQ weight that torch's operations unpack: tuning.h */   \
    ROW(phases)  /* not 0: the peak is in one phase of a step (memory.h); 0: the terms of all phases are added */      \
    ROW(recipes) /* not 0: recipes recompute, or narrow what they keep, though no key says so: see above */            \
    ROW(default_stage)     /* ZeRO stage if no key gives one: 3 for fully sharded frameworks */                        \
    ROW(may_keep_gathered) /* not 0: releases differ in what sequence parallelism keeps: see above */                  \
    ROW(may_chunk_loss)    /* not 0: releases differ in whether the loss makes logits part by part */                  \
    ROW(base_bytes)        /* of the term base */                                                                      \
    ROW(fragmentation)     /* bytes reserved per byte allocated, for activations */                                    \
    ROW(unusable)          /* share of reserved memory that is free but too fragmented to use */                       \
    ROW(unusable_sharded)  /* the same at stage 3, which gathers and frees units between tensors that stay */          \
    ROW(gated_mlp_bytes)   /* kept per token and unit of a gated MLP's width */                                        \
    ROW(logit_bytes)       /* per token and vocabulary entry of the rank */                                            \
    ROW(hidden_bytes)      /* per token and hidden unit: temporary gathered inputs and gradients */                    \
    ROW(fused_logit_bytes) /* logit_bytes if one kernel computes loss and gradient */                                  \
    ROW(te_logit_bytes)    /* the same with TransformerEngine's kernel */                                              \
    ROW(part_logit_bytes)  /* the same if the loss is computed in parts; compiled, no more than 2.25 */                \
    ROW(gathered_logits)   /* not 0: tensor-parallel ranks gather all logits for the loss */                           \
    ROW(logit_slack)       /* of logit_bytes, reserved but not allocated: a free block that is too small */            \
    ROW(length_pieces)     /* of the logits' bytes, held besides if batches differ in length: stage_memory.h */        \
    ROW(frees_gradients)   /* not 0: gradients do not exist before the first backward pass of a step */                \
    ROW(expert_imbalance)  /* tokens of the busiest expert rank divided by the mean */                                 \
    ROW(reduce_elements)   /* bucket size, if no key says it */                                                        \
    ROW(prefetch_elements) /* stage 3: elements gathered ahead */                                                      \
    ROW(gathered_layers)   /* stage 3: layers gathered at once */                                                      \
    ROW(live_elements)     /* stage 3: most elements of layers that are gathered at once; 0: no limit */               \
    ROW(sharded_at_rest)   /* not 0: stage 2 also shards parameters, but gathers all of them for a pass */             \
    ROW(whole_gradients)   /* not 0: FSDP reduces none before the last micro-batch, unless a key says otherwise */     \
    ROW(holds_gradients)   /* not 0: FSDP1 frees some gradients only at the end of a pass: stage_memory.h */           \
    ROW(whole_stages)      /* not 0: with a pipeline all stay gathered, gradients whole, until the last micro-batch */ \
    ROW(context_bytes)     /* CUDA context, which torch does not count */                                              \
    ROW(communicator_bytes) /* per parallel dimension above 1, also not counted; another two for experts */            \
    ROW(communicators)      /* those besides, with tensor or pipeline parallelism */                                   \
    ROW(sigma)              /* standard deviation of ln(measured / predicted) */                                       \
    ROW(spread)             /* relative standard deviation of a weight before calibration */

/* Of time. may_mask: intervals span both, and, of memory, batches of one length and of several. */
#define TIME_COEFFICIENTS(ROW)                                                                                         \
    ROW(gradient_bytes)          /* per gradient sent */                                                               \
    ROW(reduce_each_micro_batch) /* not 0: stage 2 reduces after every micro-batch */                                  \
    ROW(all_reduces)             /* not 0: stages 1 and 2 all-reduce gradients, and do not scatter them */             \
    ROW(collective_launches)     /* launches per tensor-parallel collective, counted with the layer's */               \
    ROW(dispatch_launches)       /* more, where that is by DTensors, unless they are compiled */                       \
    ROW(module_launches)         /* more of a layer's, by modules around its products, where attention is fused */     \
    ROW(gradient_hooks)      /* where gradients are accumulated once more: launches per trained tensor of a layer */   \
    ROW(module_hooks)        /* stage 3: the same per module whose matrix hooks gather and release, in each pass */    \
    ROW(passing_hooks)       /* stage 3: the same per module without one */                                            \
    ROW(checkpoint_launches) /* launches per layer that is recomputed in full, beside its forward pass */              \
    ROW(host_accumulates)    /* not 0: gradients that go to the host are added up with what it has: step_time.h */     \
    ROW(gather_copies)       /* not 0: gathered parameters and gradients are copied between tensors and buffers */     \
    ROW(adapter_units)       /* not 0: an adapter that is not fused is gathered by itself, not with its layer */       \
    ROW(may_mask)            /* not 0: sdpa has a padding mask or none, and no key says which: see above */            \
    ROW(unit_hooks)          /* FSDP: launches per unit (a layer, or an adapter), in each pass that gathers it */      \
    ROW(parameter_hooks)     /* FSDP: the same per tensor of a unit */                                                 \
    ROW(unpacks)          /* not 0: GPTQ's weights are unpacked by torch's operations unless a key says otherwise */   \
    ROW(ring)             /* not 0: context parallelism passes keys and values around, and does not exchange heads */  \
    ROW(loops_experts)    /* not 0: loops over experts unless a key says otherwise */                                  \
    ROW(routing_launches) /* of experts that are not looped over: launches of routing, of a layer's */                 \
    ROW(grouped_launches) /* and per expert of the rank, where one kernel does not compute all */                      \
    ROW(fuses_scores)     /* tp from which one kernel scales, masks and softens scores; 0: torch's operations do */    \
    ROW(latest_attention) /* not 0: uses the attention kernels written for the device (plan.h) */                      \
    ROW(bucket_bytes)     /* stage 0: size of the buckets that are reduced while computing; 0: no overlap */           \
    ROW(gathered_tensors) /* stage 1: tensors per layer that are copied from each rank, a launch each */               \
    ROW(sigma)            /* standard deviation of ln(measured / predicted) */                                         \
    ROW(spread)           /* relative standard deviation of a weight before calibration */

#define MEMBER(name) double name;
struct memory_coefficients {
    MEMORY_COEFFICIENTS(MEMBER)
    double accumulation[4]; /* another gradient in fp32, by ZeRO stage */
    double weights[MEMORY_TERM_COUNT];
    double nominal[MEMORY_TERM_COUNT]; /* weights of the profile: for unusable pieces (stage_memory.h) */
    bool calibrated;
};

struct time_coefficients {
    TIME_COEFFICIENTS(MEMBER)
    double weights[TIME_TERM_COUNT]; /* LAUNCH and TENSOR_STEPS in seconds each, STEP in seconds */
    double nominal[TIME_TERM_COUNT]; /* weights of the profile: for what is waited for and hidden (step_time.h) */
    bool calibrated;
};
#undef MEMBER

struct framework {
    const char *name;
    char *compared_on; /* chips on which its time was compared, by [predict.time]; NULL: none */
    struct memory_coefficients memory;
    struct time_coefficients time;
};

/* Sets a coefficient of memory or time by the name of its member (parameter, base_bytes, accumulation_2, sigma, …), or
 * the weight of a term by the name of the term. Setting sigma marks the framework as calibrated. False: there is none
 * of that name. */
bool coefficient_set(struct framework *f, bool is_time, const char *name, double value);

/* Of the names that it accepts. */
struct suggestion coefficient_suggest(bool is_time, const char *name);

/* The frameworks of the embedded profiles, in byte order of their files: deepspeed, fsdp, fsdp2, gpt-neox, hf-trainer,
 * internevo, maxtext, megatron-distopt, megatron, nanotron, picotron, torch-ddp, torchtitan, torchtune, trainer. A
 * mistake in one is a mistake of the program, which ends there. */
struct framework_set {
    struct framework *items;
    size_t count;
    struct framework base; /* predict.toml only: for a framework about which nothing is known */
};
void framework_set_read(struct framework_set *out);
void framework_set_free(struct framework_set *s);
