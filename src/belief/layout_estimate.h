/* What arithmetic says of a parallel layout before anything is known of framework, device and network: where a search
 * has no predictions, or such as outcomes contradict, this is what it expects of a layout against another. Only ratios
 * between layouts of one model count. Pure. */
#ifndef MESHSWEEP_BELIEF_LAYOUT_ESTIMATE_H
#define MESHSWEEP_BELIEF_LAYOUT_ESTIMATE_H

/* Numbers that are not known are NAN: then nothing is made of them. */
struct layout {
    double devices, devices_per_host;
    double dp, tp, cp, pp, virtual_stages;
    double micro_batch, micro_batches, global_batch;
    double seq, layers, hidden, vocab;
    double zero_stage;
    double recomputed; /* share of the forward pass */
};

/* Seconds of a step, in units of one operation of a device, and peak bytes.
 *
 * The time is that of the matrix products, kernels' launches and weights' reads, which a micro-batch has in common,
 * tensor-parallel and data-parallel collectives and gathered shards, one after the other, times 1 + (pp - 1) / (vpp ·
 * micro-batches), the idle share of 1F1B (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
 * Clusters", SC 2021). The memory is that of 16 bytes a parameter, less by the shards of ZeRO (Rajbhandari et al., SC
 * 2020), and of the activations of the micro-batches in flight (Korthikanti et al., "Reducing Activation Recomputation
 * in Large Transformer Models", MLSys 2023). Balances of devices and links are those of datasheets
 * (layout_estimate.c). */
double layout_seconds(const struct layout *l);
double layout_bytes(const struct layout *l);

/* Of a step, and tokens of each. */
double layout_samples(const struct layout *l);
double layout_sequence(const struct layout *l);

#endif
