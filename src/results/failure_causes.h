/* Failed jobs grouped by cause: messages with equal cause texts (results/cause_text.h) have the same cause. */
#ifndef MESHSWEEP_RESULTS_FAILURE_CAUSES_H
#define MESHSWEEP_RESULTS_FAILURE_CAUSES_H

#include "database/db.h"
#include "util/buffer.h"

/* Causes told apart; the jobs of further ones are counted in `others`. */
#define FAILURE_CAUSES_MOST 400

/* Of the first so many it is found out which keys go with them. */
#define FAILURE_CAUSES_MATCHED 10

/* --- values of keys that go with a cause: with them it is more frequent than chance would have it --- */

#define CAUSE_TERMS_MOST 3   /* of one match */
#define CAUSE_MATCHES_MOST 3 /* of one cause */

enum cause_relation { CAUSE_IS = 1, CAUSE_AT_LEAST, CAUSE_AT_MOST };
extern const char *const cause_relation_signs[]; /* "=", ">=", "<=" */

struct cause_term {
    char *key, *value;
    double number; /* the value; NaN: it is none */
    enum cause_relation relation;
};

/* Jobs whose values are those of all terms. */
struct cause_match {
    struct cause_term terms[CAUSE_TERMS_MOST];
    size_t term_count;
    int64_t jobs, ended; /* with the cause, of those that ended */
};

struct cause_matches {
    struct cause_match items[CAUSE_MATCHES_MOST]; /* what explains most first */
    size_t count;
    int64_t jobs, ended; /* with the cause, of all that were compared */
};

/* --- the causes --- */

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

/* "all 12 with tp=8, micro_batch>=16; none of 36 without", "9 of 12 with tp=8; 3 of 36 without". */
void cause_match_describe(const struct cause_matches *all, const struct cause_match *m, struct buffer *out);

#endif
