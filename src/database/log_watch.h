/* The write-ahead log and its index as files that another program may cut while they are used.
 *
 * SQLite trusts them: what it reads from a log that was cut ends up in the database, and the index is mapped memory, so
 * that a page beyond its end is a bus error. The index says how long the log must be (sqlite.org/walformat.html, "The
 * WAL-Index File Format"). */
#pragma once

#include "database/db.h"

/* From now on no transaction of `db`, a writer's, begins where either file was cut: db_begin says so then, and what is
 * in order is left so that the next to open the file finds it. Where one is cut in the middle of a transaction,
 * SQLite's error is explained by it, and nothing of it is copied to the database. */
void log_watch_begin(struct db *db);

/* After SQLite has closed the file: closing the index sooner would take SQLite's locks on it away. */
void log_watch_end(struct db *db);

/* 0 when neither is shorter than it must be, or `db` is not watched; -1 with `e` filled. Cheap but `closely`, after
 * SQLite has met what cannot be: every frame is looked at, and a log that was written to after it was cut is found. */
int log_watch_check(struct db *db, bool closely, struct error *e);

/* Looks at what an earlier writer left beside the database at `path`, which nobody has opened yet. `*notice`: NULL, or
 * that the log was cut; the caller's. -1: and that has damaged the database. */
int log_watch_left(const char *path, char **notice, struct error *e);
