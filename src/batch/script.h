/* The texts that are handed to Slurm: a batch script for each array, and in each attempt's directory the job itself.
 * Pure.
 *
 * The batch script is a small supervisor in POSIX shell: nothing of this program has to be on the nodes. By the task's
 * index it goes into the attempt's directory, says there that it began (batch/result.h), touches "slurm.alive" at every
 * heartbeat, runs "job.sh" under timeout(1) with the output in "output.log", and says how that ended.
 *
 * An attempt begins once, whatever Slurm does: the script makes "slurm.begun", which only one can make. Whoever finds
 * that it has begun or ended, or that the runner closed it, leaves "slurm.again" and exits with 75; log and result stay
 * as they are. The runner closes what it gives up ("slurm.closed") before another attempt may be claimed: one that is
 * pending never begins then, one that was frozen ends its command at the next heartbeat (TERM, then KILL) and writes
 * no result. Until that heartbeat its command may write: into its own directory, which no other attempt has, and
 * wherever else the job writes. Where nodes learn late of new files (NFS: acdirmax, 60 s), it is as much later. */
#ifndef MESHSWEEP_BATCH_SCRIPT_H
#define MESHSWEEP_BATCH_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

#define BATCH_RESULT_FILE "slurm.result"
#define BATCH_ALIVE_FILE "slurm.alive"
#define BATCH_BEGUN_FILE "slurm.begun"
#define BATCH_AGAIN_FILE "slurm.again"
#define BATCH_CLOSED_FILE "slurm.closed"
#define BATCH_JOB_FILE "job.sh"
#define BATCH_UNSEEN_EXIT "72" /* of the batch script: there is no such directory */

/* What is asked of Slurm. Texts are borrowed; NULL or 0: not requested. Jobs of equal requests may share an array. */
struct batch_request {
    const char *partition, *account, *qos, *constraint, *reservation;
    const char *memory;  /* per node, as Slurm writes it: "80G" */
    const char *exclude; /* nodes: "n1,n2" */
    int64_t nodes, tasks_per_node, cpus_per_task, gpus_per_node;
    int64_t minutes;
    char *const *extra; /* verbatim options, NULL-terminated; may be NULL */
};

/* Appends the options as "#SBATCH" lines. */
void batch_request_add(const struct batch_request *r, struct buffer *b);

/* One task of an array. */
struct batch_task {
    const char *directory; /* of the attempt, relative to the root */
    int64_t attempt;
    int64_t limit_ms, grace_ms; /* limit 0: none but Slurm's */
};

struct batch_script {
    const char *options; /* of batch_request_add */
    const char *name, *comment;
    const char *root; /* absolute */
    int64_t heartbeat_s;
    const struct batch_task *tasks;
    size_t task_count;
};

/* Appends the whole batch script. Tasks have the indices 0 to task_count - 1. */
void batch_script_add(const struct batch_script *batch, struct buffer *b);

/* Appends job.sh: settings ("NAME=value", NULL-terminated), the working directory (NULL: none), then the launcher's
 * words (NULL: none) and the command. */
void batch_job_add(char *const *settings, const char *directory, char *const *launcher, char *const *command,
                   struct buffer *b);

#endif
