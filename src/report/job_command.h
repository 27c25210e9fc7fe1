/* How a job was started, as a command to type. */
#pragma once

#include "results/job_record.h"

/* Makes the command name the ds_config to train with if the attempt had a profiled one
 * (deepspeed/ds_preparation.h). */
void job_command_train(struct job_launch *l);

/* "dir=$(mktemp -d) && cd DIRECTORY && NAME=value … PROGRAM …" for a POSIX shell, without redacted settings: as the
 * job was started, with a directory of its own in place of the attempt's, so that no evidence is overwritten. With
 * `has_directory` the shell has that in $dir already. A program that only the runner's PATH finds is named by its path.
 * The caller frees it. */
char *job_command_line(const struct job_launch *l, bool has_directory);

/* The redacted values, by the names of their settings and options or by the beginning of a URL, separated by commas:
 * "HF_TOKEN, --api-key"; "" if there are none. The caller frees it. */
char *job_command_redacted(const struct job_launch *l);
