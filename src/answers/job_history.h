/* What a database knows about a job, as `why` prints it. */
#ifndef MESHSWEEP_ANSWERS_JOB_HISTORY_H
#define MESHSWEEP_ANSWERS_JOB_HISTORY_H

#include "database/db.h"
#include "util/buffer.h"
#include "util/hash.h"

/* Completes a line that names the job with its state, then adds a line for each attempt, for what would change its
 * outcome, for the witness by which it was pruned, and for the searches that chose it. `db` may be NULL if there is
 * none yet. */
int job_history_add(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e);

#endif
