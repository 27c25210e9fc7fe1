/* Samples of attempts that have ended, which the table archived_metric keeps compressed. The view `sample` has all,
 * also in the sqlite3 shell; the table `metric` alone is asked for attempts that run and for points of curves. */
#pragma once

#include "database/db.h"

/* Adds sqlar_uncompress(BYTES, LENGTH), as the shell has it, but NULL of what is damaged or has more than 16 MiB. For
 * every connection: the view needs it. */
void samples_add_function(struct db *db);

/* Compresses those of the attempt that are worth it and are no points of a curve, which are results. What is compressed
 * is read back and compared. Adds their number to `*count`, or with `dry` how many may be. In a transaction. */
int samples_archive(struct db *db, int64_t attempt_id, bool dry, int64_t *count, struct error *e);

/* Brings them back. */
int samples_bring_back(struct db *db, int64_t attempt_id, bool dry, int64_t *count, struct error *e);

/* Removes all samples of that name. */
int samples_forget(struct db *db, int64_t attempt_id, const char *name, struct error *e);
