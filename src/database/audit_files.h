/* Directories of job files that belong to no attempt. */
#pragma once

#include "database/db.h"

/* Calls `found` with each "KEY/NUMBER" below `directory` (store_directory()) that no attempt has. A runner makes
 * directories before it records them: only while none is at work. */
int audit_unowned_directories(struct db *db, const char *directory, void (*found)(void *context, const char *name),
                              void *context, struct error *e);
