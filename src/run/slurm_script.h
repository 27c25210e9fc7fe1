/* The texts that are handed to Slurm: a batch script for each array, and in each attempt's directory the job itself.
 * Pure.
 *
 * The batch script is a small supervisor in POSIX shell: nothing of this program has to be on the nodes. By the task's
 * index it goes into the attempt's directory, says there that it began (run/slurm_result.h), touches "alive" at every
 * heartbeat, runs "job.sh" under timeout(1) with the output in "output.log", and says how that ended. */
#ifndef MESHSWEEP_RUN_SLURM_SCRIPT_H
#define MESHSWEEP_RUN_SLURM_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

#define SLURM_RESULT_FILE "slurm.result"
#define SLURM_ALIVE_FILE "slurm.alive"
#define SLURM_JOB_FILE "job.sh"

/* What is asked of Slurm. Texts are borrowed; NULL or 0: not asked for. Jobs of equal requests may share an array. */
struct slurm_request {
    const char *partition, *account, *qos, *constraint, *reservation;
    const char *memory; /* per node, as Slurm writes it: "80G" */
    const char *exclude; /* nodes: "n1,n2" */
    int64_t nodes, tasks_per_node, cpus_per_task, gpus_per_node;
    int64_t minutes;
    char *const *extra; /* verbatim options, NULL-terminated; may be NULL */
};

/* Appends the options as "#SBATCH" lines. */
void slurm_request_add(const struct slurm_request *r, struct buffer *b);

/* One task of an array. */
struct slurm_task {
    const char *directory; /* of the attempt, relative to the root */
    int64_t attempt;
    int64_t limit_ms, grace_ms; /* limit 0: none but Slurm's */
};

struct slurm_batch {
    const char *options; /* of slurm_request_add */
    const char *name, *comment;
    const char *root; /* absolute */
    int64_t heartbeat_s;
    const struct slurm_task *tasks;
    size_t task_count;
};

/* Appends the whole batch script. Tasks have the indices 0 to task_count - 1. */
void slurm_batch_add(const struct slurm_batch *batch, struct buffer *b);

/* Appends job.sh: settings ("NAME=value", NULL-terminated), the working directory (NULL: none), then the launcher's
 * words (NULL: none) and the command. */
void slurm_job_add(char *const *settings, const char *directory, char *const *launcher, char *const *command,
                   struct buffer *b);

#endif
