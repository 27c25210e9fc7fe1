/* Changes that people make afterwards to what was recorded: who made one, when, and what stood there before (tables
 * change and replaced). */
#ifndef MESHSWEEP_STORE_CHANGE_RECORD_H
#define MESHSWEEP_STORE_CHANGE_RECORD_H

#include "database/db.h"

/* "user@host"; the caller's. */
char *change_author(void);

/* Records a change of this moment by "user@host"; `*id` is what its rows of `replaced` refer to. `why` and `detail`
 * (JSON) may be NULL. Inside the caller's transaction. */
int change_record(struct db *db, const char *kind, const char *why, const char *detail, int64_t *id, struct error *e);

#endif
