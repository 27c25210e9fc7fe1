/* The runner before this one. */
#ifndef MESHSWEEP_RUN_PREDECESSOR_H
#define MESHSWEEP_RUN_PREDECESSOR_H

#include <stdbool.h>

#include "store/db.h"
#include "util/error.h"

/* Whether the last runner of the database died without a word, so that processes of its may be left. -1 when it is
 * still at work: somebody removed the lock's file, or this is a copy of a database in use. To end its jobs, which look
 * like those of a dead runner, would spoil both. */
int predecessor_check(struct db *db, bool *died, struct error *e);

#endif
