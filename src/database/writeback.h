/* A large transaction on its way to the disk.
 *
 * What is written stays in the system's memory until the sync of the commit, and again until that of the copy from the
 * log to the file: a hundred megabytes take half a second each time, which nothing can interrupt. Written meanwhile,
 * each sync finds little left. It promises nothing of what is on the disk: that is the sync's alone. */
#ifndef MESHSWEEP_DATABASE_WRITEBACK_H
#define MESHSWEEP_DATABASE_WRITEBACK_H

#include <stdatomic.h>

#include "database/db.h"

struct writeback;

/* From now on, at short intervals, what was written to the log and the file of `db`, a writer's, is sent to the disk;
 * and once `*stop` is true whatever SQLite does there is interrupted, copying to the file as well, which db_heed_stop
 * does not reach. NULL where there is no thread for it; the caller's. */
struct writeback *writeback_begin(struct db *db, const atomic_bool *stop);

/* `w` may be NULL. */
void writeback_end(struct writeback *w);

#endif
