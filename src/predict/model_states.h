/* DeepSpeed's own estimates of what parameters, gradients and optimizer take, for comparison with its users'
 * numbers: they leave out activations, buffers and context, so nothing follows from them about what fits.
 *
 * Ψ parameters, Ψ_1 those of the largest layer, n devices in all, g per node; bytes:
 *
 *   stage 2   device  offload 2·Ψ; else 2·Ψ + 18·Ψ/n
 *             host    offload Ψ·max(4·n, 16)·1.5; else 4·Ψ·g·1.5 (while the model is built)
 *   stage 3   device  parameters on the host 4·Ψ_1; optimizer there 4·Ψ_1 + 2·Ψ/n; else 4·Ψ_1 + 18·Ψ/n
 *             host, built sharded   18·Ψ/nodes·1.5, 16·Ψ/nodes·1.5, 4·Ψ_1·g·1.5
 *             host, built whole     Ψ·max(4·g, 18/nodes or 16/nodes)·1.5, 4·Ψ·g·1.5
 *
 * Source: DeepSpeed runtime/zero/stage_1_and_2.py and stage3.py, estimate_zero*_model_states_mem_needs. Where
 * its pages disagree with the code (stage 2: 4·Ψ + 16·Ψ/n) the code is followed. Pure. */
#ifndef MESHSWEEP_PREDICT_MODEL_STATES_H
#define MESHSWEEP_PREDICT_MODEL_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "predict/plan.h"
#include "util/error.h"

struct model_states {
    double device_bytes;
    double host_bytes; /* of a node */
};

struct model_states_input {
    double parameters, largest_layer; /* the latter for stage 3 */
    int64_t nodes, devices_per_node;
    int64_t zero_stage; /* 2 or 3 */
    enum offload offload;
    bool built_sharded; /* zero.Init */
};

/* -1 (ERROR_USAGE), `out` untouched, for another stage, parameters on the host without stage 3, or a number
 * that is not finite, positive and below 10^15. */
int model_states_estimate(const struct model_states_input *input, struct model_states *out, struct error *e);

#endif
