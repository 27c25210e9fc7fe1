/* results.db: opening, schema, one writer. */
#ifndef MESHSWEEP_DATABASE_OPEN_H
#define MESHSWEEP_DATABASE_OPEN_H

#include "database/db.h"

/* One schema step: `user_version` becomes `version` in the transaction that runs `sql`. */
struct migration {
    int version;
    const char *name; /* "migrations/0001_initial.sql" */
};

/* Opens for writing: takes the writer's lock (see database/lock.h), makes or migrates the schema, chooses the journal
 * (WAL with synchronous=FULL on a local file system; a rollback journal, EXTRA, on a network file system, said in
 * `*notice`, which is the caller's and NULL when there is nothing to say). Refuses a file that is not a database, one
 * of another program, or one of a newer meshsweep, and leaves it untouched. */
int store_open(const char *path, struct db **out, char **notice, struct error *e);

/* Lets others read the file, which store_open makes for its owner alone, as far as the umask lets them. */
void store_share(struct db *db);

/* Opens read-only; never waits for a writer, leaves nothing behind, works where nobody may write. A file of an older
 * schema is refused with what to do. */
int store_open_read_only(const char *path, struct db **out, struct error *e);

/* A private database with the schema of a fresh file, its tables empty and without views. */
int store_open_blank(struct db **out, struct error *e);

/* The same as a fresh file is, views and all: to try what would come of a sweep. Closed with db_close. */
int store_open_scratch(struct db **out, struct error *e);

/* Brings a writer's file up to date from its log, waiting a few seconds for those who read. false: one of them reads an
 * older state, so that part of what is recorded stands in the log alone. */
bool store_settle(struct db *db);

/* Settles, too. */
void store_close(struct db *db);

/* Closes a database whose use was refused: as store_close, but the file is taken away again when store_open made it and
 * no runner has been recorded in it. */
void store_discard(struct db *db);

/* Whether something stands at `path`. */
bool store_exists(const char *path);

/* Whether the file at `path` is an SQLite database, whoever's. */
bool store_is_database(const char *path);

/* The directory for logs and job files: "<path>.d", absolute. The caller's. */
char *store_directory(const char *path);
char *store_directory_of(const struct db *db);

/* A random name given to the database when it was made: 32 hexadecimal digits. The caller's. */
int store_identity(struct db *db, char **out, struct error *e);

#endif
