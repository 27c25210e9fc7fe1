/* A large transaction on its way to the disk.
 *
 * What is written stays in the system's memory until the sync of the commit, and again until that of the copy from the
 * log to the file. A hundred megabytes take half a second each time, and nothing may interrupt them: a copy that is
 * broken off leaves a file that is none without its log. Written meanwhile, each sync finds little left. It promises
 * nothing of what is on the disk: that is the sync's alone. */
#ifndef MESHSWEEP_DATABASE_WRITEBACK_H
#define MESHSWEEP_DATABASE_WRITEBACK_H

#include "database/db.h"

struct writeback;

/* From now on, at short intervals, what was written to the log and the file of `db`, a writer's, is sent to the disk.
 * NULL where there is no thread for it; the caller's. */
struct writeback *writeback_begin(const struct db *db);

/* `w` may be NULL. */
void writeback_end(struct writeback *w);

#endif
