/* Estimates of a parallel layout by arithmetic, without knowledge of framework, device or network. A search uses them
 * if it has no predictions, or if outcomes contradict them. Only ratios between layouts of one model are meaningful.
 * Pure. */
#ifndef MESHSWEEP_BELIEF_LAYOUT_ESTIMATE_H
#define MESHSWEEP_BELIEF_LAYOUT_ESTIMATE_H

/* NAN: not known; the number then has no effect. */
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
 * Time is the sum of matrix products, kernel launches, reads of weights (once per micro-batch), tensor-parallel and
 * data-parallel collectives and the gathering of shards, times 1 + (pp - 1) / (vpp · micro-batches), the bubble of 1F1B
 * (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC 2021). Memory is 16 bytes per
 * parameter, less what ZeRO shards (Rajbhandari et al., SC 2020), plus the activations of the micro-batches in flight
 * (Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023). Ratios of compute
 * to memory and link bandwidth come from datasheets (layout_estimate.c). */
double layout_seconds(const struct layout *l);
double layout_bytes(const struct layout *l);

/* Samples per step, and tokens per sample. */
double layout_samples(const struct layout *l);
double layout_sequence(const struct layout *l);

#endif
