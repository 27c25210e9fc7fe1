/* What differs between frameworks in the models of memory and time: bytes per parameter, activation
 * constants, bucket sizes, and the weights of the terms. Data, one row per framework, with where each row
 * comes from and whether measurements of that framework were compared with it. A row without such a
 * comparison has a wider interval. Calibration makes a row of its own from a row and measurements
 * (calibration.h).
 *
 * A weight multiplies a term of the model: 1 where the term is in bytes, or in seconds at the peak rate.
 * Static, never changed; copy a row to change it. */
#ifndef MESHSWEEP_PREDICT_COEFFICIENTS_H
#define MESHSWEEP_PREDICT_COEFFICIENTS_H

#include <stdbool.h>
#include <stddef.h>

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
    TIME_LAUNCH,       /* a layer of a micro-batch each */
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

    double base_bytes;
    double fragmentation;      /* bytes reserved over bytes allocated, of activations */
    double gated_mlp_bytes;    /* kept per token and unit of a gated MLP's width */
    double logit_bytes;        /* per token and vocabulary entry of a rank */
    double hidden_bytes;       /* per token and hidden unit: gathered inputs and gradients in passing */
    double expert_imbalance;   /* tokens of the busiest expert rank over the mean */
    double reduce_elements;    /* bucket of stage 1 and 2 */
    double prefetch_elements;  /* stage 3: gathered ahead */
    double gathered_layers;    /* stage 3: layers gathered at once */
    double context_bytes;      /* CUDA context: outside what torch counts */
    double communicator_bytes; /* per parallel dimension above 1, also outside; twice more for experts */

    double weights[MEMORY_TERM_COUNT];
    double sigma;  /* standard deviation of ln(measured / predicted) */
    double spread; /* relative standard deviation of a weight before calibration */
    bool calibrated;
};

struct time_coefficients {
    double weights[TIME_TERM_COUNT]; /* LAUNCH and TENSOR_STEPS in seconds each, STEP in seconds */
    double gradient_bytes;           /* per gradient sent */
    bool reduce_each_micro_batch;    /* stage 2 reduces after every micro-batch */
    double sigma, spread;            /* as above */
    bool calibrated;
};

struct framework {
    const char *name;
    const char *memory_source, *time_source;
    struct memory_coefficients memory;
    struct time_coefficients time;
};

/* "deepspeed", "megatron", "megatron-distopt", "nanotron", "fsdp", "torch-ddp", "trainer"; NULL for another.
 */
const struct framework *framework_find(const char *name);

/* All of them, `*count` in number. */
const struct framework *framework_table(size_t *count);

#endif
