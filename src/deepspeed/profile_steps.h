/* How many steps of a job DeepSpeed is to measure: more where they are short, since a median of few says little. The
 * number is not a part of what a job is: what has been measured stays so, however many steps it was. */
#ifndef MESHSWEEP_DEEPSPEED_PROFILE_STEPS_H
#define MESHSWEEP_DEEPSPEED_PROFILE_STEPS_H

#include <stdint.h>

#include "database/db.h"

enum { PROFILE_FIRST = 0, PROFILE_LEAST, PROFILE_MOST, PROFILE_STEP_COUNT };

/* The last step to measure, of `steps` as [deepspeed] profile_steps has them: as far as PROFILE_SECONDS go, from the
 * first to at least PROFILE_LEAST and at most PROFILE_MOST; PROFILE_LEAST where that is 0, or the time of a step is not
 * known (NAN). */
int64_t profile_steps_last(const int64_t steps[PROFILE_STEP_COUNT], double step_seconds);

/* Seconds that a step of `batch` samples (0: not known) may take, by the jobs of the current sweep that are ok: the
 * longest of those nearest to it in samples, in proportion where it has more. NAN: none was measured, or the database
 * cannot be read just now; or `objective` was not read step by step: what only metrics.json has is there after the last
 * step alone, to which a script may not come. */
double profile_step_seconds(const char *db_path, const char *objective, int64_t batch);

#endif
