/* What a database knows about a job, as `why` prints it. */
#ifndef MESHSWEEP_ANSWERS_JOB_HISTORY_H
#define MESHSWEEP_ANSWERS_JOB_HISTORY_H

#include "database/db.h"
#include "util/buffer.h"
#include "util/hash.h"

/* Appends to a line that names the job how it stands, then a line each for its attempts, for what would have another
 * outcome, for the witness that it was pruned by, and for the searches that chose it. `db` may be NULL: none yet. */
int job_history_add(struct db *db, const struct hash128 *key, struct buffer *out, struct error *e);

#endif
