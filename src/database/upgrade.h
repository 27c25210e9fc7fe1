/* Databases of older schema versions: the copy that a writer keeps, the copy that a reader reads, and what to do where
 * neither will do. */
#pragma once

#include "database/db.h"

/* Copies all of `source` into `target`, in one step, which is one transaction of a reader: a writer goes on beside it,
 * and what it writes is not in it. */
int upgrade_copy(struct db *source, struct db *target, struct error *e);

/* Keeps a copy of a database as it is beside it: "<path>.schema-12", of mode 0600, or "-2" and so on after that.
 * `*name` is the caller's. */
int upgrade_keep_copy(struct db *db, int64_t version, char **name, struct error *e);

/* A private copy of a database that is opened for reading, to be upgraded; 0 with `*out` NULL: it is too large for
 * that. Errors name the database that it is of. */
int upgrade_read_copy(struct db *source, struct db **out, struct error *e);

/* Says that a database is of an older version, and what can be done where it stands: whether a runner is upgrading it,
 * and whether it may be written. Returns -1. */
int upgrade_refuse(struct db *db, int64_t version, int64_t newest, struct error *e);

/* Notes in the database that its upgrade has begun; its end takes that away. */
int upgrade_begin(struct db *db, int64_t newest, struct error *e);

/* Returns what a migration is for: how its file begins. The caller's. */
char *upgrade_sentence(const char *migration);
