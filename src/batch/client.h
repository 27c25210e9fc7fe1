/* Slurm's commands. Each is one process that is waited for, with a limit: a controller that is down lets
 * them hang. */
#ifndef MESHSWEEP_BATCH_CLIENT_H
#define MESHSWEEP_BATCH_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "batch/text.h"
#include "process/environment.h"

/* The environment for sbatch and the others, from the runner's: what jobs get besides their own settings. Of SLURM_…
 * and the like only SLURM_CONF is left: a runner may itself be a job, and its limits are none of theirs. Neither are
 * the devices that it sees. NULL-terminated; the caller's (strings_free). */
char **batch_environment(char *const *runner, struct environment_passing pass);

/* sbatch. Returns the job's id; -1 with `*refusal` and a sentence in `*why` (the caller's). */
int64_t batch_submit(char *const *environment, const char *script, enum batch_refusal *refusal, char **why);

/* squeue: all jobs of the user. -1 when there is no answer. */
int batch_ask_queue(char *const *environment, batch_entry_function *each, void *context);

/* The completion log, where there is one that may be read: of its newest part every job of the user. 1: there is none,
 * now and later. */
int batch_ask_completions(char *const *environment, batch_entry_function *each, void *context);

/* sacct for the jobs "9_4,14,…". 1: it has no accounting, now and later; -1: no answer. */
int batch_ask_accounting(char *const *environment, const char *jobs, batch_entry_function *each, void *context);

/* scontrol show job for "9_4": how its batch shell ended, where Slurm knows it; else they stay as they are. */
void batch_ask_exit(char *const *environment, const char *job, int *exit_code, int *signal_number);

/* scancel for the jobs "9_4,14,…". -1: no answer. That a job has ended already is none. */
int batch_cancel(char *const *environment, const char *jobs);

#endif
