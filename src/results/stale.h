/* Results that might differ if they were measured again today. */
#ifndef MESHSWEEP_RESULTS_STALE_H
#define MESHSWEEP_RESULTS_STALE_H

#include <stdbool.h>

#include "database/db.h"
#include "store/jobs.h"

/* A job of the current sweep that ended, and how what it ran in differs from now. */
struct stale_job {
    int64_t job_id;
    char *what; /* "git commit", "driver", "/home/me/train.py" */
    char *was;  /* "" for a declared version that could not be had */
    char *is;   /* "" for that too, and for a file that no longer exists */
};

struct stale_list {
    struct stale_job *items; /* by job; one per difference */
    size_t count;
    size_t jobs;   /* distinct ones */
    int64_t ended; /* jobs that were looked at */
};

/* What there is now. */
struct stale_today {
    const char *provenance; /* JSON as provenance/provenance.h makes it */
    /* The content of a file as an attempt's record would have it (run/scripts.h); "": there is none. */
    const char *(*content)(void *context, const char *path);
    void *context;
};

/* Compares what is recorded of the runner of each job's attempt with today's: git commit, processor, devices, driver,
 * declared versions. What either side does not know is not a difference, unless it is a
 * declared version whose line failed there alone. Then the content of every file that its
 * command named when it started. The list is the caller's: stale_free. */
int stale_read(struct db *db, const struct stale_today *today, struct stale_list *out, struct error *e);
void stale_free(struct stale_list *l);

/* How the environment that jobs are given, a JSON object of texts (process/environment.h), differs from that of the run
 * before, the last one that any result of the current sweep is of: an item per variable, of no job. Where there was no
 * such run, or it recorded none of what is asked about now, nothing differs. The list is the caller's: stale_free. */
int stale_environment(struct db *db, const char *environment, struct stale_list *out, struct error *e);

/* Makes these jobs pending again, as far as the request lets them be started, in its own transaction. `*count`
 * gets how many. */
int stale_reopen(struct db *db, const struct stale_list *l, const struct requeue_request *request, int64_t *count,
                 struct error *e);

#endif
