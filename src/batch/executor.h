/* Jobs at a batch system, in arrays. They survive their runner: the next one takes them over by what stands in the
 * directories of their batches (batch/batches.h). Nodes and runner share the file system that holds the job files. */
#pragma once

#include "batch/system.h"
#include "config/sweep.h"
#include "run/executor.h"

/* The needs of a job, from its cluster_spec. */
struct batch_wish {
    const struct batch_system *system;
    const struct batch_config *config;
    const char *spec_json; /* {"cluster_spec":{…},…} */
    int64_t devices;       /* of the job, all nodes together */
    int64_t minutes;       /* 0: as the system has it */
    int64_t memory_mib;    /* 0: as the configuration has it */
};

/* Appends the lines that ask for it; the cluster_spec's partition, account, qos, constraint, reservation, memory,
 * gpu_type, tasks_per_node and cpus_per_task stand before those of the configuration. Pure. */
void batch_wish_add(const struct batch_wish *w, struct buffer *out);

/* An executor_create; the options' `system` must be there. Signals that ask the runner to stop are blocked
 * until it is freed. */
int batch_executor_create(const struct executor_options *options, struct executor **out, struct error *e);
