/* The number of steps of a job that DeepSpeed measures: more if steps are short, because a median of few says little.
 * The number is not part of a job's identity, so results stay valid whatever it was. */
#ifndef MESHSWEEP_DEEPSPEED_PROFILE_STEPS_H
#define MESHSWEEP_DEEPSPEED_PROFILE_STEPS_H

#include <stdint.h>

#include "database/db.h"

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

#endif
