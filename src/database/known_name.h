/* The name by which a database was last opened for writing. Its write-ahead log is next to that name only. */
#ifndef MESHSWEEP_DATABASE_KNOWN_NAME_H
#define MESHSWEEP_DATABASE_KNOWN_NAME_H

#include "database/db.h"

/* -1 when the file has another name in its directory beside which a log with content lies: before SQLite opens it,
 * which would find it incomplete. */
int known_name_check_links(const char *path, struct error *e);

/* -1 when the file has another name (a hard link, another mount) beside which a log with content lies: opened by this
 * one, what stands in it would be missing, and both would be spoilt. Before anything is written. */
int known_name_check(struct db *db, struct error *e);

/* Records the name that it has now, where that is another, in the file itself. */
int known_name_record(struct db *db, struct error *e);

#endif
