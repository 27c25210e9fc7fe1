/* A database file that is deleted, moved or replaced while it is written: SQLite would go on writing it, for nobody. */
#ifndef MESHSWEEP_STORE_RESCUE_H
#define MESHSWEEP_STORE_RESCUE_H

#include "store/db.h"

/* From now on the file at the handle's path is the one that it writes. After each commit it is looked at: one that is not
 * there any more fails the commit, with all that the handle can read saved beside its place and the name in the error. */
void rescue_watch(struct db *db);

#endif
