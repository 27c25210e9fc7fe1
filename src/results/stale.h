/* Results that might differ if they were measured again today (sql/answers/stale.sql). */
#ifndef MESHSWEEP_RESULTS_STALE_H
#define MESHSWEEP_RESULTS_STALE_H

#include "results/json.h"
#include "store/jobs.h"

/* What there is now. */
struct stale_today {
    const char *provenance; /* JSON as device/provenance.h makes it */
    /* The content of a file as an attempt's record would have it (run/scripts.h); "": there is none. */
    const char *(*content)(void *context, const char *path);
    void *context;
};

/* The document of `stale --json`, and what its text has beside it: "alike", the differences of like jobs with how many,
 * and "causes", what differs in words (NULL: nothing). Both are the caller's. */
int stale_read(struct db *db, const struct stale_today *today, cJSON **out, cJSON **beside, struct error *e);

/* How the environment that jobs are given, a JSON object of texts (process/environment.h), differs from that of the run
 * before, in words; NULL: not. The caller's. */
int stale_environment(struct db *db, const char *environment, char **words, struct error *e);

/* Makes the jobs of the document pending again, as far as the request lets them be started, in its own transaction.
 * `*count` gets how many. */
int stale_reopen(struct db *db, const cJSON *stale, const struct requeue_request *request, int64_t *count,
                 struct error *e);

#endif
