/* How a job was started, as a person types it. */
#ifndef MESHSWEEP_REPORT_JOB_COMMAND_H
#define MESHSWEEP_REPORT_JOB_COMMAND_H

#include "results/job_keys.h"

/* Has the command name the ds_config to train with, where the attempt had a profiled one
 * (deepspeed/training_command.h). `job_files` is store_directory(). */
void job_command_train(struct job_launch *l, const char *job_files);

/* "cd DIRECTORY && NAME=value … PROGRAM …" for a POSIX shell, without what is not recorded. The caller's. */
char *job_command_line(const struct job_launch *l);

/* What is not recorded, by the names of the settings and options whose values they are, or by the beginning of a URL,
 * with commas between them: "HF_TOKEN, --api-key"; "" when all is. The caller's. */
char *job_command_redacted(const struct job_launch *l);

#endif
