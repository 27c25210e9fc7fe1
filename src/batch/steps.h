/* Attempts as steps of the allocation that the runner is in: each is an srun, which the supervisor watches like any
 * process, and the step on the nodes behind it, which may outlive it. Steps are named after their attempts' tokens. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "device/devices.h"
#include "run/executor.h"

/* An executor_create; the options' `allocation` must be there. -1 also where Slurm does not answer. */
int slurm_step_executor_create(const struct executor_options *options, struct executor **out, struct error *e);

/* --- pure --- */

/* A request to srun beside the command. */
struct step_request {
    int64_t job;
    const char *nodes, *name; /* "n1,n2" */
    const char *memory;       /* per node; NULL: not requested */
    int64_t node_count, tasks_per_node, cpus_per_task;
    int64_t gpus_per_node; /* 0: not requested */
    bool no_gpus;          /* there are some, and it is to have none */
};

/* "srun", its options, and the command; a command that begins with srun has them put behind that. Words and array are
 * the caller's (strings_free). */
char **step_command(const struct step_request *request, char *const *launcher, char *const *command);

/* The share of the job with that shape of what its nodes hold; `devices`: "n1:0,n1:1,n2:0,n2:1". `out->nodes` and
 * `out->memory` are the caller's. */
void step_share(const struct allocation *a, const struct batch_config *config, const char *devices,
                const char *spec_json, struct step_request *out);

/* Finds what srun and slurmstepd said at the end of the output. `*node` gets the one that failed, the caller's; else
 * NULL. `*exit_code` gets that of the task for whose end srun ended the others (--kill-on-bad-exit), which slurmstepd
 * calls cancelled as well; else -1. */
enum step_word { STEP_SAID_NOTHING = 0, STEP_NOT_CREATED, STEP_NODE_FAILED, STEP_ALLOCATION_ENDED, STEP_CANCELLED };
enum step_word step_word_of(const char *log_end, char **node, int *exit_code);

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
struct batch_system;
int allocation_read(const struct batch_system *slurm, char *const *environment, struct allocation *out,
                    struct error *e);

/* Lists what jobs are given of it, as "NODE:0": GPUs; with `by_cpus`, or where there are none, so many processors
 * each. */
void allocation_devices(const struct allocation *a, bool by_cpus, int64_t cpus_each, struct device_list *out);

/* The node of that name; NULL: none. */
const struct allocation_node *allocation_node(const struct allocation *a, const char *name, size_t length);
