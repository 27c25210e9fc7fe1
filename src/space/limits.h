/* Time limits of jobs: durations and expressions of the sweep file, as SQL. */
#ifndef MESHSWEEP_SPACE_LIMITS_H
#define MESHSWEEP_SPACE_LIMITS_H

#include "space/space.h"

/* Fills space->limits. An expression's number is seconds, its text a duration ("10m"), its NULL no limit. What does not
 * resolve is added to `problems`; -1 only when SQLite itself fails. */
int limits_compile(struct space *space, int64_t manual_timeout_ms, struct problems *problems, struct error *e);

#endif
