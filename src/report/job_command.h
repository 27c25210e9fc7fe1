/* How a job was started, as a command to type. */
#ifndef MESHSWEEP_REPORT_JOB_COMMAND_H
#define MESHSWEEP_REPORT_JOB_COMMAND_H

#include "results/job_keys.h"

/* Makes the command name the ds_config to train with if the attempt had a profiled one (deepspeed/training_command.h).
 * `job_files` is store_directory(). */
void job_command_train(struct job_launch *l, const char *job_files);

/* "cd DIRECTORY && NAME=value … PROGRAM …" for a POSIX shell, without redacted settings. The caller frees it. */
char *job_command_line(const struct job_launch *l);

/* The redacted values, by the names of their settings and options or by the beginning of a URL, separated by commas:
 * "HF_TOKEN, --api-key"; "" if there are none. The caller frees it. */
char *job_command_redacted(const struct job_launch *l);

#endif
