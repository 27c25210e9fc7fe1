/* A database file that is deleted, moved or replaced while it is written: SQLite would continue writing it, for nobody.
 * */
#ifndef MESHSWEEP_DATABASE_RECOVER_REPLACED_H
#define MESHSWEEP_DATABASE_RECOVER_REPLACED_H

#include "database/db.h"

/* From now on the file at the handle's path is the one that it writes. After each commit it is looked at: one that is
 * not there any more fails the commit, with all that the handle can read saved beside its place and the name in the
 * error. */
void recover_replaced_watch(struct db *db);

/* Adds to `*notice` (NULL, or a text; the caller's) where the last content that was saved so lies: for a database
 * that was just made. Nothing where none was. */
void recover_replaced_tell(const struct db *db, char **notice);

#endif
