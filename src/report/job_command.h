/* How a job was started, as a person types it. */
#ifndef MESHSWEEP_REPORT_JOB_COMMAND_H
#define MESHSWEEP_REPORT_JOB_COMMAND_H

#include "store/job_keys.h"

/* "cd DIRECTORY && NAME=value … PROGRAM …" for a POSIX shell, without what is not recorded. The caller's. */
char *job_command_line(const struct job_launch *l);

/* Names of the settings whose values are not recorded, with commas between them; "" when all are. The caller's. */
char *job_command_redacted(const struct job_launch *l);

#endif
