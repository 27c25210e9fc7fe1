/* Failed jobs grouped by cause: messages with equal cause texts (results/cause_text.h) have the same cause. */
#ifndef MESHSWEEP_RESULTS_FAILURE_CAUSES_H
#define MESHSWEEP_RESULTS_FAILURE_CAUSES_H

#include "database/db.h"
#include "results/cause_keys.h"

/* Causes told apart; the jobs of further ones are counted in `others`. */
#define FAILURE_CAUSES_MOST 400

/* Of the first so many it is found out which keys go with them. */
#define FAILURE_CAUSES_MATCHED 10

struct failure_cause {
    char *class, *cause;         /* cause_text() */
    char *message, *consequence; /* of the example: message "" and consequence NULL when none was recorded */
    int64_t jobs;
    int64_t example_job, example_attempt; /* the first one; attempt 0: none */
    struct cause_matches matches;
};

struct failure_causes {
    struct failure_cause *items; /* of most jobs first */
    size_t count;
    int64_t others; /* jobs */
};

/* Of the newest `jobs_most` failed jobs of a sweep (0: all). `*out` is the caller's: failure_causes_free. */
int failure_causes_read(struct db *db, int64_t sweep_id, int64_t jobs_most, struct failure_causes *out,
                        struct error *e);
void failure_causes_free(struct failure_causes *c);

#endif
