/* Turns the decision about a job into an outcome like that of a local process. */
#pragma once

#include "batch/batches.h"

/* Returns the outcome of a member: `reference` names it ("9_4"), `job_dir` holds its files, `now_ms` is the wall
 * clock's. */
struct outcome batch_outcome(const struct batch_system *s, const struct batch_member *m, enum batch_decision decision,
                             const char *reference, const char *job_dir, int64_t now_ms);
