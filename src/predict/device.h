/* Clusters of accelerators (config/sweep.h).
 *
 * A link domain is the devices that the fast links join: those of a host, unless the device says otherwise. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sweep_file/devices.h"
#include "util/error.h"

#define PRODUCT_SHARE_A100 0.869
#define CLUSTER_TRIPS 2.0 /* adapter latencies per step: the data, and the flush that makes it visible */
#define VECTOR_SHARE_A100 (19.18 / 19.5)

/* Zero means the device's own, or the value named. */
struct cluster {
    const struct device *device;
    int64_t devices_per_node; /* 0: 8 */
    int64_t link_domain;      /* devices that the fast links join; 0: the device's, at least those of a node */
    double intra_bytes_per_s; /* per device, one way, in the link domain */
    /* Per device, one way, between domains. 0: the device's adapter; for a node with fewer devices than is usual, which
     * has one adapter at least and one for each device at most, the geometric mean of both. */
    double inter_bytes_per_s;
    double inter_latency_s; /* of an adapter, as it reports it to NCCL; 0: InfiniBand's, which is in the steps */
    double usable_bytes;    /* per device */
    /* Per device, for offload; 0: what a slot of PCIe delivers, which is the link of cards without another, and as fast
     * as the adapter needs for others. */
    double pcie_bytes_per_s;
    /* Memory of a node, for an optimizer on the host; 0: 75e9, by the middle one of 0.26 (arXiv 2101.06840, table 4),
     * 0.55 and 0.71 s for 1e9 parameters (deepspeedai/DeepSpeed, issue 6834, 18e9 of a node; pull request 735). */
    double host_bytes_per_s;
};

/* Returns whether nodes have fewer devices than is usual; for a completed cluster. */
bool cluster_is_partial(const struct cluster *c);

/* Fills in the defaults of one that has a device; -1 (ERROR_USAGE), with `c` as it was, with a number that is not
 * finite, negative, or absurdly large. */
int cluster_complete(struct cluster *c, struct error *e);

/* Latency of a large gather or scatter in NCCL's model, which is a ring; for a completed cluster. */
double cluster_ring_latency(const struct cluster *c, double ranks, double nodes);

/* Latency of a large all-reduce in NCCL's model, the lower of ring and tree; 0 within a link domain. `apart`: distance
 * in ranks between neighbours. */
double cluster_all_reduce_latency(const struct cluster *c, double ranks, double apart);
