/* The texts that are handed to a batch system: a batch script for each array, and in each attempt's directory the job
 * itself. Pure.
 *
 * The batch script is a small supervisor in POSIX shell (batch/supervise.sh): nothing of this program has to be on the
 * nodes. By the task's index it goes into the attempt's directory, says there that it began (batch/state.h), touches
 * "slurm.alive" at every heartbeat, runs "job.sh" under timeout(1) with the output in "output.log", and says how that
 * ended.
 *
 * An attempt begins once, whatever Slurm does: the script makes "slurm.begun", which only one can make. Whoever finds
 * that it has begun or ended, or that the runner closed it, leaves "slurm.again" and exits with 75; log and result stay
 * as they are. The runner closes what it gives up ("slurm.closed") before another attempt may be claimed: one that is
 * pending never begins then, one that was frozen ends its command at the next heartbeat (TERM, then KILL) and writes
 * no result. Until that heartbeat its command may write: into its own directory, which no other attempt has, and
 * wherever else the job writes. Where nodes learn late of new files (NFS: acdirmax, 60 s), it is as much later.
 *
 * Where jobs see no files of this machine, the script makes the directory with what is in it, and prints what the job
 * writes in frames (batch/frame.h), at every heartbeat and at the end: "meshsweep:SECRET.ATTEMPT NAME FROM" is their
 * mark, the result file the last of them (batch/fetch.c). Nothing closes such an attempt but the system's cancel. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "batch/system.h"
#include "util/buffer.h"

#define BATCH_RESULT_FILE "slurm.result"
#define BATCH_ALIVE_FILE "slurm.alive"
#define BATCH_BEGUN_FILE "slurm.begun"
#define BATCH_AGAIN_FILE "slurm.again"
#define BATCH_CLOSED_FILE "slurm.closed"
#define BATCH_JOB_FILE "job.sh"
#define BATCH_KEPT_LOG "fetched.log" /* what of a log could not be taken */
#define BATCH_UNSEEN_EXIT "72"       /* of the batch script: there is no such directory */

/* One task of an array. */
struct batch_task {
    const char *directory; /* of the attempt, relative to the root */
    int64_t attempt;
    int64_t limit_ms, grace_ms; /* limit 0: none but Slurm's */
};

struct batch_script {
    const struct batch_system *system;
    const char *head; /* its first lines, by which the system knows what is asked for */
    const char *root; /* absolute */
    int64_t heartbeat_s;
    const struct batch_task *tasks;
    size_t task_count;
    const char *secret; /* of its frames; NULL: jobs see the files of this machine */
};

/* Appends the whole batch script. Tasks have indices from the system's first one. */
void batch_script_add(const struct batch_script *batch, struct buffer *b);

/* Appends job.sh: settings ("NAME=value", NULL-terminated), the working directory (NULL: none), then the launcher's
 * words (NULL: none) and the command. */
void batch_job_add(char *const *settings, const char *directory, char *const *launcher, char *const *command,
                   struct buffer *b);
