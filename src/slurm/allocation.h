/* The Slurm allocation in which the runner is: its nodes, and their resources. */
#ifndef MESHSWEEP_SLURM_ALLOCATION_H
#define MESHSWEEP_SLURM_ALLOCATION_H

#include <stddef.h>
#include <stdint.h>

#include "device/devices.h"

struct allocation_node {
    char *name;
    int64_t cpus, gpus, memory_mb; /* memory 0: not shared out */
};
struct allocation {
    int64_t job; /* 0: none */
    struct allocation_node *nodes;
    size_t count;
};
void allocation_free(struct allocation *a);

/* Reads "Nodes=n[1-2] CPU_IDs=0-6,8 Mem=500 GRES=gpu:a100:2(IDX:0-1)" of `scontrol show job -d -o`: one entry for each
 * group of equal nodes, whose `name` is still a list. -1: there is none. Pure. */
int allocation_parse(const char *text, struct allocation *out);

/* Asks Slurm about the job of SLURM_JOB_ID. ERROR_USAGE where there is none. */
int allocation_read(char *const *environment, struct allocation *out, struct error *e);

/* What jobs are given of it, as "NODE:0": GPUs; with `by_cpus`, or where there are none, so many processors each. */
void allocation_devices(const struct allocation *a, bool by_cpus, int64_t cpus_each, struct device_list *out);

/* The node of that name; NULL: none. */
const struct allocation_node *allocation_node(const struct allocation *a, const char *name, size_t length);

#endif
