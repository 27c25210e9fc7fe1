/* The record of where a runner ran. */
#pragma once

#include "config/sweep.h"

/* The NVIDIA devices of the machine, from what the driver shows as files, so that nothing is loaded or started:
 * {"driver":"550.54.15","models":["NVIDIA H200",…]}, or "null" where `directory` (/proc/driver/nvidia) is missing.
 * Models in the order of their bus addresses. The caller's. */
char *gpu_models_json(const char *directory);

/* A JSON object: host, kernel, machine, cpu (model), cpus (online), cpus_usable (those the runner may use),
 * memory_bytes, gpus (gpu_models_json), tool, directory (absolute), git (commit and dirty of `directory`'s repository,
 * files that git does not know left out; null where there is no git, no repository or no answer within seconds),
 * environment (see environment_context_json), versions (of versions_json; NULL: null). Unknown
 * things are null. `directory` NULL: the current one. `runner` is the environment to look at, of which jobs are
 * given what `pass` names (NULL: nothing but the usual). The caller's. */
char *provenance_json(const char *directory, char *const *runner, char *const *pass, char *const *secrets,
                      const char *versions);

/* The versions that a sweep declares,
 *   [job]
 *   versions = { torch = "python3 -c 'import torch; print(torch.__version__)'" },
 * as {"torch":"2.1.0"}: the first line that each command prints under /bin/sh, in the environment of a job; null where
 * it fails, prints nothing or takes longer than a minute. Without secrets (secrets/secrets.h). NULL where none is
 * declared. The caller's. */
char *versions_json(const struct job_config *job, char *const *runner_environment);
