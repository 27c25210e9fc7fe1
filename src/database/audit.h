/* The audit finds what is wrong with a database, and what can be repaired without losing anything. */
#pragma once

#include "database/db.h"

/* One kind of thing that is wrong. Borrowed for the length of the call. */
struct audit_finding {
    const char *what;     /* "ok jobs without an ok attempt" */
    const char *examples; /* the first few, with commas between them */
    int64_t count;
    const char *advice; /* what to do; of a repair: what was done */
};

typedef void audit_found(void *context, const struct audit_finding *finding);

/* Calls `found` for each finding; `*count` gets how many there were. Looks at SQLite's own integrity and foreign keys,
 * at the schema, at jobs and attempts whose states contradict each other, at jobs that run without a runner, and at the
 * directory of job files at `path` (the database's). Reads only. What cannot be read is a finding too. */
int audit_run(struct db *db, const char *path, audit_found *found, void *context, size_t *count, struct error *e);

/* Puts right what loses nothing, in one transaction, and calls `done` for each kind of it once that is durable. `db`
 * is open for writing (store_open, which filled `restored`: that is told first). A file that SQLite finds
 * damaged is left alone: -1 with what to do. Directories that no attempt has are moved below "orphans" in the
 * directory of job files, empty ones removed. What a dead runner left is not touched: the next run saves its output,
 * which is more than can be done here. */
int audit_repair(struct db *db, const struct string_list *restored, audit_found *done, void *context, struct error *e);

/* Adds each "KEY/NUMBER" below `directory` (store_directory()) that no attempt has. A runner makes directories before
 * it records them: only while none is at work. */
int audit_unowned_directories(struct db *db, const char *directory, struct string_list *out, struct error *e);
