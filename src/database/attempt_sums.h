/* Checksums of attempts that have ended: what tells a byte of a result that changed on disk, which SQLite's own checks
 * do not see. Kept where a sweep asks for it ([sweep] checksums), in their own table (sql/attempt_sums.sql). */
#pragma once

#include "database/db.h"

/* Makes the table where it is missing. */
int attempt_sums_make(struct db *db, struct error *e);

/* Keeps the sum of what stands of the attempt: its job's key, how and when it ended, its output's end, its samples and
 * summaries. In the caller's transaction. */
int attempt_sums_keep(struct db *db, int64_t attempt_id, struct error *e);

/* Sums of attempts of the jobs in temp.moved (job_id, was: the key it had) that were right under that key are right
 * under the one that their jobs have now. In the caller's transaction. */
int attempt_sums_follow(struct db *db, struct error *e);

typedef void row_found(void *context, int64_t id, const char *name);

/* Calls `found` with each attempt, "job 3 attempt 1", that is not as it was when its sum was kept. Those without one
 * are passed over, and so is a database without the table. */
int attempt_sums_check(struct db *db, row_found *found, void *context, struct error *e);
