/* Slurm's commands. Each is one process that is waited for, with a limit: a controller that is down lets
 * them hang. */
#ifndef MESHSWEEP_SLURM_CLIENT_H
#define MESHSWEEP_SLURM_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "process/environment.h"
#include "slurm/text.h"

/* The environment for sbatch and the others, from the runner's: what jobs get besides their own settings. Of SLURM_…
 * and the like only SLURM_CONF is left: a runner may itself be a job, and its limits are none of theirs. Neither are
 * the devices that it sees. NULL-terminated; the caller's (strings_free). */
char **slurm_environment(char *const *runner, struct environment_passing pass);

/* sbatch. Returns the job's id; -1 with `*refusal` and a sentence in `*why` (the caller's). */
int64_t slurm_submit(char *const *environment, const char *script, enum slurm_refusal *refusal, char **why);

/* squeue: all jobs of the user. -1 when there is no answer. */
int slurm_ask_queue(char *const *environment, slurm_entry_function *each, void *context);

/* The completion log, where there is one that may be read: of its newest part every job of the user. 1: there is none,
 * now and later. */
int slurm_ask_completions(char *const *environment, slurm_entry_function *each, void *context);

/* sacct for the jobs "9_4,14,…". 1: it has no accounting, now and later; -1: no answer. */
int slurm_ask_accounting(char *const *environment, const char *jobs, slurm_entry_function *each, void *context);

/* scontrol show job for "9_4": how its batch shell ended, where Slurm knows it; else they stay as they are. */
void slurm_ask_exit(char *const *environment, const char *job, int *exit_code, int *signal_number);

/* squeue --steps: all steps of the user ("1.0") with their names. -1: no answer. */
typedef void slurm_step_function(void *context, const char *id, const char *name);
int slurm_ask_steps(char *const *environment, slurm_step_function *each, void *context);

/* scancel --signal for "1.0,1.3". -1: no answer. */
int slurm_signal(char *const *environment, const char *steps, const char *signal_name);

/* scancel for the same. -1: no answer. That a job has ended already is none. */
int slurm_cancel(char *const *environment, const char *jobs);

#endif
