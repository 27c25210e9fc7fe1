/* Turns a job's cluster_spec into a Slurm request. Pure. */
#ifndef MESHSWEEP_SLURM_REQUEST_H
#define MESHSWEEP_SLURM_REQUEST_H

#include "config/executors.h"
#include "util/buffer.h"

struct slurm_wish {
    const struct slurm_config *config;
    const char *spec_json; /* {"cluster_spec":{…},…} */
    int64_t devices;       /* of the job, all nodes together */
    int64_t minutes;       /* 0: as the partition has it */
};

/* Appends "#SBATCH" lines for its shape; the cluster_spec's partition, account, qos, constraint, reservation, memory,
 * gpu_type, tasks_per_node and cpus_per_task stand before those of [slurm]. Devices are asked for as
 * --gpus-per-node. */
void slurm_wish_add(const struct slurm_wish *wish, struct buffer *out);

#endif
