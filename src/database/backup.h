/* Copies the state of a database at one instant, even while it is written. */
#pragma once

#include "database/db.h"

struct backup_counts {
    int64_t jobs, attempts; /* in the copy */
};

/* Copies `source` (store_open_read_only's) to `path`: one file of mode 0600 that needs nothing beside it. It is there
 * only once it is whole and on the disk; a database of ours that stood there until then, and that nobody uses, gives
 * way to it. That `path` is neither the source nor one of its files is the caller's to see to. */
int database_backup(struct db *source, const char *path, struct backup_counts *out, struct error *e);

/* --- a whole file --- */

/* A database that appears at its path only when it is complete. */

/* Writes what goes into `target`, which is empty. */
typedef int database_fill(struct db *target, void *context, struct error *e);

/* Makes a database of mode 0600 beside `path`, has it filled, and puts it there once it is on the disk, instead of what
 * stood there: that this may go is the caller's to see to. On -1 nothing has changed. */
int database_write_whole(const char *path, database_fill *fill, void *context, struct error *e);
