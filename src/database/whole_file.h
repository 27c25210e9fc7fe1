/* A database that appears at its path only when it is complete. */
#pragma once

#include "database/db.h"

/* Writes what goes into `target`, which is empty. */
typedef int database_fill(struct db *target, void *context, struct error *e);

/* Makes a database of mode 0600 beside `path`, has it filled, and puts it there once it is on the disk, instead of what
 * stood there: that this may go is the caller's to see to. On -1 nothing has changed. */
int database_write_whole(const char *path, database_fill *fill, void *context, struct error *e);
