/* One writer process per database: an open-file-description lock on "<path>.lock", which names its holder. */
#pragma once

#include <stdbool.h>

#include "util/error.h"

/* Takes the lock, waiting a second at most; on failure says who holds it ("process 1234 on host since …"). Returns the
 * descriptor, to be released with writer_lock_release, or -1. The kernel releases it when the process dies, however it
 * dies. A lock file that is a link, or no lock, is refused and left as it is. A database reached through a symbolic
 * link has the lock of the file itself. `*is_new` says whether the lock's file was made. */
int writer_lock_take(const char *db_path, bool *is_new, struct error *e);
void writer_lock_release(int descriptor);

/* Releases it and removes its file: for a database that turned out not to be ours. */
void writer_lock_remove(int descriptor, const char *db_path);

/* Locks the file of the database itself, so that it has one writer whatever it is called: the lock above has one name.
 * Before SQLite opens the file; `*descriptor` (-1: there is no such file, or its file system has no such locks) is
 * released
 * with writer_lock_release after the last connection to it has been closed, since that would drop SQLite's own locks.
 * -1 when another writer holds it. */
int file_lock_take(const char *db_path, int *descriptor, struct error *e);

/* Returns whether somebody holds it now. Takes and makes nothing. */
bool writer_lock_is_held(const char *db_path);
