/* Versions that a sweep declares:
 *   [job]
 *   versions = { torch = "python3 -c 'import torch; print(torch.__version__)'" } */
#pragma once

#include "config/sweep.h"

/* {"torch":"2.1.0"}: the first line that each command prints under /bin/sh, in the environment of a job; null where
 * it fails, prints nothing or takes longer than a minute. Without secrets (secrets/secrets.h). NULL where none is
 * declared. The caller's. */
char *versions_json(const struct job_config *job, char *const *runner_environment);
