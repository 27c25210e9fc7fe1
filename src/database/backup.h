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
