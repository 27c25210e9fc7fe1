/* Prepares the start of a job with [deepspeed]: its ds_config.json. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "database/db.h"
#include "deepspeed/ds_config.h"
#include "run/preparation.h"

struct ds_preparation {
    const struct sweep *sweep;      /* borrowed */
    const struct ds_config *config; /* borrowed */
    const char *db_path;            /* borrowed; with the jobs that decide whether profile_steps may be more */
};

/* Gives the job its ds_config.json, for {ds_config} and {ds_config_base64}, and maps arguments. With
 * profile_steps it also has the one to train with (see below). The result borrows `p`. */
struct preparation ds_preparation_of(struct ds_preparation *p);

enum { PROFILE_FIRST = 0, PROFILE_LEAST, PROFILE_MOST, PROFILE_STEP_COUNT };

/* The last step to measure, with `steps` as in [deepspeed] profile_steps: as many as take PROFILE_SECONDS, from the
 * first to at least PROFILE_LEAST and at most PROFILE_MOST. PROFILE_LEAST if that is 0 or the time of a step is not
 * known (NAN). */
int64_t profile_steps_last(const int64_t steps[PROFILE_STEP_COUNT], double step_seconds);

/* Estimated seconds for a step of `batch` samples (0: not known), from the successful jobs of the current sweep: the
 * longest step of those nearest in samples, scaled up if `batch` is larger. NAN if none was measured, the database
 * cannot be read at the moment, or `objective` was not reported for each step: a value that only metrics.json has is
 * written after the last step, which a script may not reach. */
double profile_step_seconds(const char *db_path, const char *objective, int64_t batch);

/* How the winner is launched. With profile_steps, an attempt's own ds_config makes DeepSpeed measure a few steps, write
 * into the attempt's directory and exit; a second ds_config next to it is the one to train with. */

/* In the directory of an attempt; the second exists only if the first is profiled. */
#define DS_CONFIG_FILE "ds_config.json"
#define DS_TRAINING_FILE "ds_config_train.json"

/* The text of the ds_config to train with, of the attempt in `job_dir`; NULL if it is the attempt's own. The caller
 * frees it. */
char *training_config(const char *job_dir);

/* Changes the words (NULL-terminated, each owned by the caller) of the attempt's command so that they name `file`
 * instead of its profiled ds_config, as a path or in base 64. No change if training_config returns NULL. */
void training_command(char **words, const char *job_dir, const char *file);
