/* Results that today's surroundings might not give again. */
#ifndef MESHSWEEP_STORE_STALE_H
#define MESHSWEEP_STORE_STALE_H

#include <stdbool.h>

#include "store/db.h"

/* A job of the current sweep that ended, and how what it ran in differs from now. */
struct stale_job {
    int64_t job_id;
    char *what; /* "git commit", "driver", "/home/me/train.py" */
    char *was;  /* "" for a file, which was changed after the attempt began */
    char *is;
};

struct stale_list {
    struct stale_job *items; /* by job; one per difference */
    size_t count;
    size_t jobs;             /* distinct ones */
    int64_t ended;           /* jobs that were looked at */
};

/* Compares what is recorded of the runner of each job's attempt with `provenance` (JSON as run/provenance.h makes it): git
 * commit, processor, devices, driver. What either side does not know is no difference. Then every word of its command
 * that names a file (relative to where the runner ran; also after "="): `changed_ms` tells when that was last changed,
 * in milliseconds since 1970, or -1 where it is no regular file. The list is the caller's: stale_free. */
int stale_read(struct db *db, const char *provenance, int64_t (*changed_ms)(const char *path), struct stale_list *out,
               struct error *e);
void stale_free(struct stale_list *l);

/* Makes these jobs pending again, within a transaction of its own. */
int stale_reopen(struct db *db, const struct stale_list *l, struct error *e);

#endif
