/* Accelerators and clusters of them: published peaks, and what of them attention kernels were measured to
 * reach.
 *
 * Peaks are dense (never with sparsity), bandwidths of links are per device and one way; each device has the datasheet
 * that they are from. `attention` is what FlashAttention-2 reaches forward and backward: 225 TFLOP/s on A100, 335 on
 * H100 (arXiv 2307.08691 and its repository); it is a third of Hopper's peak but three quarters of Ampere's, so
 * attention must not be scaled between devices by their peaks. cuDNN's reach 526 on H100: 609 forward and 499 backward
 * of 4,096 tokens and heads of 128, where FlashAttention-2 has 368 and 310 (arXiv 2407.08608, figures 5 and 6), with
 * 2.5 times the FLOPs backward. Where it was not measured it is taken as 0.35 of the
 * peak. `usable` is what torch reports as the total of a device (79.1 GiB of "80 GB"); where nobody has said what it
 * reports, the total of nvidia-smi less 0.7 GiB, or the datasheet's.
 *
 * `product_share` is the best of many shapes of matrix products under the power limit (MAMF: stas00/ml-engineering,
 * compute/accelerator): products of a model reach a part of it that is taken to be the same for all devices.
 *
 * XLA's products of large matrices take 94.1 ms on a TPU v5e where its peak would take 89.3 (32,768 rows of 8,192 by
 * 32,768: yashjayswal24.github.io/portfolio/blog/2026/tpu-profiling), and on a v2 96 of 95.6 (How to Scale Your Model,
 * profiling.md): all of that array of multipliers are taken as v5e's.
 *
 * Over PCIe a link is what a slot delivers: 12.5e9 of the third generation, 25e9 and 50e9 of the next two. Of AMD's
 * meshes and Google's tori it is the sum of all that lead to other cards. A TPU's adapter is its part of what a pod
 * (v5e: 6.4 Tb/s, v6e: 25.6, of 256 chips; cloud.google.com/tpu/docs) or a host of four chips (v4, v5p: 200 Gb/s; How
 * to Scale Your Model, tpus.md) has into the data centre.
 *
 * A link domain is the devices that the fast links join: those of a host, unless the device says otherwise. Pure. */
#ifndef MESHSWEEP_PREDICT_DEVICE_H
#define MESHSWEEP_PREDICT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define PRODUCT_SHARE_A100 0.869

struct device {
    const char *name;
    const char *others;            /* further names, separated by bars; NULL: none */
    const char *source;            /* of its figures */
    bool measured;                 /* runs on it were compared with predictions (docs/predictions.md) */
    double peak_flops;             /* bf16 or fp16, dense, FLOP/s */
    double fp8_factor;             /* peak in fp8 over peak_flops; 1 where it is computed in 16 bits */
    double fp4_factor;             /* the same for fp4; as fp8 where there is none */
    double fp32_factor;            /* of products in tf32, or in fp32 where there is none */
    double product_share;          /* of the peak that the best product was measured to reach; 0: as an A100's */
    double fp8_share;              /* the same in fp8; 0: as product_share */
    double vector_flops;           /* FLOP/s in fp32 without the tensor cores; 0: as fp32_factor */
    double attention_flops;        /* FLOP/s */
    double latest_attention_flops; /* of cuDNN's kernels; 0: as attention_flops */
    double memory_bytes_per_s;     /* HBM */
    double usable_bytes;
    double link_bytes_per_s;    /* one way, all links together that lead out of its card into the domain */
    int64_t link_domain;        /* devices; 0: those of a host */
    bool collective_engines;    /* that do not take from what computes, as kernels of collectives on a GPU do */
    double adapter_bytes_per_s; /* of a device, one way, in its maker's own system; 0: 25e9, 200 Gb/s */
};

/* Zero means the device's own, or the value named. */
struct cluster {
    const struct device *device;
    int64_t devices_per_node; /* 0: 8 */
    int64_t link_domain;      /* devices that the fast links join; 0: the device's, at least those of a node */
    double intra_bytes_per_s; /* per device, one way, in the link domain */
    double inter_bytes_per_s; /* per device, one way, between domains; 0: the device's adapter */
    double inter_latency_s;   /* of an adapter, as it reports it to NCCL; 0: InfiniBand's, which is in the steps */
    double usable_bytes;      /* per device */
    double pcie_bytes_per_s;  /* per device, for offload; 0: 20e9 */
    double host_bytes_per_s;  /* memory of a node, for an optimizer on the host; 0: 150e9 */
};

/* By one of its names without regard to case: "A100-80GB", "H100", …; NULL when there is none. Static. */
const struct device *device_find(const char *name);

/* Whether a text says what kind of thing computes and not which, as frameworks have it: "cuda", "cuda:0", "gpu". */
bool device_is_kind(const char *name);

/* The table, for listing; `*count` entries. */
const struct device *device_table(int64_t *count);

/* Fills in the defaults; -1 (ERROR_USAGE), with `c` as it was, without a device or with a number that is not
 * finite, negative, or absurdly large. */
int cluster_complete(struct cluster *c, struct error *e);

#endif
