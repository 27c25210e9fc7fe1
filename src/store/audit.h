/* What is wrong with a database. Reads only. */
#ifndef MESHSWEEP_STORE_AUDIT_H
#define MESHSWEEP_STORE_AUDIT_H

#include "store/db.h"

/* One kind of thing that is wrong. Borrowed for the length of the call. */
struct audit_finding {
    const char *what;     /* "ok jobs without an attempt that is ok" */
    const char *examples; /* the first few, with commas between them */
    int64_t count;
    const char *advice;   /* what to do */
};

/* Calls `found` for each finding; `*count` gets how many there were. Looks at SQLite's own integrity and foreign keys,
 * at jobs and attempts whose states contradict each other, at jobs that run without a runner, and at the directory of
 * job files at `path` (the database's). What cannot be read is a finding too. */
int audit_run(struct db *db, const char *path, void (*found)(void *context, const struct audit_finding *finding),
              void *context, size_t *count, struct error *e);

#endif
