/* How large a job is, by its cluster_spec. Pure. */
#pragma once

#include "config/executors.h"

/* Nodes are num_hosts (or num_nodes) of the cluster_spec, devices per node num_devices_per_host (or gpus_per_node),
 * else `devices` (0: one) shared out; tasks and processors of [slurm] where it does not say, 0 where neither does. */
struct job_shape {
    int64_t nodes, devices_per_node, tasks_per_node, cpus_per_task;
    double share; /* gpus of the cluster_spec, below 1: of a device; 0: it has whole devices */
};
struct job_shape job_shape_of(const struct batch_config *config, const char *spec_json, int64_t devices);
