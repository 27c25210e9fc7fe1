/* Whether a database has the tables, indexes and triggers that its schema version says. */
#ifndef MESHSWEEP_DATABASE_SCHEMA_H
#define MESHSWEEP_DATABASE_SCHEMA_H

#include "database/db.h"

/* Borrowed for the length of the call. */
struct schema_difference {
    const char *type; /* table, index, trigger */
    const char *name;
    const char *sql; /* as it should be */
    bool is_missing; /* else it is there and says something else */
};

/* Calls `found` for each part of a fresh file's schema that `db` has not, or has otherwise. What `db` has besides is a
 * person's own. */
int schema_compare(struct db *db, void (*found)(void *context, const struct schema_difference *d), void *context,
                   struct error *e);

/* Whether a missing part of that type can be made without losing anything: a table's rows would be gone. */
bool schema_can_be_made(const char *type);

/* Drops an index of the schema, so that rows can be put in faster; `*sql` gets what makes it again, the caller's. */
int schema_take_index(struct db *db, const char *name, char **sql, struct error *e);

#endif
