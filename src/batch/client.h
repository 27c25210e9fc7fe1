/* A batch system's commands. Each is one process that is waited for, with a limit: a controller that is down lets
 * them hang. */
#pragma once

#include "batch/system.h"
#include "process/environment.h"
#include "process/external_command.h"

/* The environment for its commands, from the runner's: what jobs get besides their own settings. What the system itself
 * sets for jobs is left out: a runner may itself be a job, and its limits are none of theirs. Neither are the devices
 * that it sees. NULL-terminated; the caller's (strings_free). */
char **batch_environment(const struct batch_system *s, char *const *runner, struct environment_passing pass);

/* Runs one of its commands to the end; `input` NULL: it reads nothing. As external_command_run. */
int batch_command(char *const *environment, char *const *argv, const char *input,
                  struct external_command_result *answer, struct error *e);

/* Submits the script, or the description, at `path`. Returns the job's id, the caller's; NULL with `*refusal` and a
 * sentence in `*why` (the caller's). */
char *batch_submit(const struct batch_system *s, char *const *environment, const struct batch_values *values,
                   const char *path, enum batch_refusal *refusal, char **why);

/* Asks a question about what `values` name (NULL: about everything). -1: there is no answer; 1: there is no such
 * service, now and later. */
int batch_ask(const struct batch_system *s, struct batch_question *q, char *const *environment,
              const struct batch_values *values, batch_entry_function *each, void *context);

/* Returns what the job that `values` name has printed; the caller's, with its length. NULL with why not in `e`. */
char *batch_fetch(const struct batch_system *s, char *const *environment, const struct batch_values *values,
                  size_t *length, struct error *e);

/* Ends the job called so, one or whole. -1: no answer. That it has ended already is none. */
int batch_cancel(const struct batch_system *s, char *const *environment, const char *job);
