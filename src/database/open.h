/* results.db: opening, schema, one writer. */
#pragma once

#include "database/db.h"

/* Makes, on the floor above, the views whose columns follow from what is recorded (results/views.h). */
extern int (*const store_make_views)(struct db *db, struct error *e);

struct store_opening {
    struct string_list *restored; /* NULL: a schema that is not as meshsweep makes it is refused; else it is brought
                                   * back to that, and this says what was (schema_restore) */
    char **kept;                  /* NULL, or gets the name of that copy, which is the caller's */
    bool without_copy;            /* a file of an older version is upgraded without keeping a copy of it */
};

/* Opens for writing: takes the writer's lock (see database/lock.h), checks the schema (schema_check), makes or
 * migrates it, makes its views again if they are not as they were left, chooses the journal (WAL with
 * synchronous=FULL on a local file system; a rollback journal, EXTRA, on a network file system, said in `*notice`,
 * which is the caller's and NULL when there is nothing to say). Refuses a file that is not a database, one of
 * another program, or one of a newer meshsweep, and leaves it untouched. Beside a
 * file of an older version a copy of it as it was is kept, which `*notice` says, too. `o` may be NULL. */
int store_open(const char *path, const struct store_opening *o, struct db **out, char **notice, struct error *e);

/* Lets others read the file, which store_open makes for its owner alone, as far as the umask lets them. */
void store_share(struct db *db);

/* Opens read-only; never waits for a writer, leaves nothing behind, works where nobody may write. For a file of an
 * older version it opens and upgrades a private copy, unless that would be large: then the file is refused with what to
 * do, as is one whose schema is not as meshsweep makes it (schema_check). */
int store_open_read_only(const char *path, struct db **out, struct error *e);

enum store_reading {
    STORE_READ_ANSWERS = 0, /* as store_open_read_only */
    STORE_READ_TO_CHECK,    /* whatever is in its schema besides ours, to say what that is */
    STORE_READ_AS_IT_IS,    /* the file itself, of any version: to be copied */
    STORE_READ_NEWEST,      /* the file itself, which must be of this version */
};
int store_open_reading(const char *path, enum store_reading how, struct db **out, struct error *e);

/* Returns whether `db` is the private copy of a file, or one read as such, which does not follow what is written. */
bool store_is_copy(const struct db *db);

/* The schema's version in the file at `path`, whichever, and that of this program. */
int store_read_versions(const char *path, int64_t *version, int64_t *newest, struct error *e);

/* Returns what the migrations after `version` are for, one line each: "  13: ...\n". The caller's. */
char *store_describe_upgrade(int64_t version);

#define STORE_NEWEST INT64_MAX /* version of a schema: of a fresh file */

/* A private database with the schema of that version, its tables empty and without views. */
int store_open_blank(int64_t version, struct db **out, struct error *e);

/* The same as a fresh file is, views and all: to try what would come of a sweep. Closed with db_close. */
int store_open_scratch(struct db **out, struct error *e);

/* Brings a writer's file up to date from its log, waiting a few seconds for those who read. false: one of them reads an
 * older state, so that part of what is recorded stands in the log alone. */
bool store_settle(struct db *db);

/* Settles, too. Of any database, be it a private one. */
void store_close(struct db *db);
/* A local one, which is closed where its scope ends: `OWNED_DB *db = NULL;` */
#define OWNED_DB __attribute__((cleanup(store_release))) struct db
void store_release(struct db **at);

/* Closes a database whose use was refused: as store_close, but the file is taken away again when store_open made it and
 * no runner has been recorded in it. */
void store_discard(struct db *db);

/* Returns whether something stands at `path`. */
bool store_exists(const char *path);

/* Returns whether the file at `path` is an SQLite database, anybody's. */
bool store_is_database(const char *path);

/* The directory for logs and job files: "<path>.d", absolute. The caller's. */
char *store_directory(const char *path);
/* The same; where the file was renamed and its directory was not, that one. A writer that opens it renames it, too. */
char *store_directory_of(struct db *db);

/* A random name given to the database when it was made: 32 hexadecimal digits. The caller's. */
int store_identity(struct db *db, char **out, struct error *e);

/* --- older versions --- */

/* Copies all of `source` into `target`, in one step, which is one transaction of a reader: a writer goes on beside it,
 * and what it writes is not in it. */
int upgrade_copy(struct db *source, struct db *target, struct error *e);
