/* [model_info]: what is known of a model besides its keys, from a short profiling attempt or by hand, and the sweep of
 * one job that such an attempt is. */
#pragma once

#include "config/sweep.h"

/* Facts stand in for keys that no spec has: for expressions, and for predictions (predict/inputs.h). */
enum model_fact {
    FACT_PARAMS = 0,        /* parameters */
    FACT_ACTIVATION_MEMORY, /* bytes that the forward pass of one sample leaves allocated on a device */
    FACT_DEVICE_MEMORY,     /* bytes of a device */
    FACT_FWD_FLOPS,         /* of one sample's forward pass */
    FACT_COUNT
};
extern const char *const model_fact_names[FACT_COUNT]; /* "params", "activation_memory", … */

/* Returns whether a job is to find the facts out: [model_info] is there and does not give `params` by hand. */
bool model_info_wants_job(const struct sweep *s);

/* The sweep of that job: the first value of each axis, or what `with` says, without the keys of `without`; the command,
 * or [job]'s; the readers of the profile "model-info"; MESHSWEEP_ROLE=model-info in its environment. Its hash is that
 * of the combination and the command: whatever else changes in the file, it stays the same sweep. The caller's. */
int model_info_sweep(const struct sweep *s, struct sweep **out, struct error *e);
