/* Which values of the keys go with a cause of failure: where it is more frequent among the jobs that ended than chance
 * would have it. */
#ifndef MESHSWEEP_RESULTS_CAUSE_KEYS_H
#define MESHSWEEP_RESULTS_CAUSE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database/db.h"
#include "util/buffer.h"

#define CAUSE_TERMS_MOST 3    /* of one match */
#define CAUSE_MATCHES_MOST 3  /* of one cause */
#define CAUSE_JOBS_MOST 20000 /* the newest ones are compared: a fraction of a second */

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

/* A job that failed and its cause, a number. */
struct caused_job {
    int64_t job_id;
    size_t cause;
};

struct caused_jobs {
    struct caused_job *items; /* in the order of ids */
    size_t count;
    size_t cause_count; /* looked at are the causes from 0 on, so many */
    int64_t from_job;   /* jobs with smaller ids were not looked for; 0: all were */
};

/* `out` has room for each of the causes, and is the caller's: cause_matches_free each. Compared are the jobs of the
 * sweep that ended (ok or failed), of these the newest CAUSE_JOBS_MOST.
 *
 * A match is found value by value: the one that is least likely to be met by so many jobs of the cause by chance
 * (Fisher's exact test, one-sided), then, where others share it, another one among the jobs that have it; then again
 * for the jobs of the cause that are not matched yet. A value counts where that is less likely than 0.05 divided by the
 * number of values looked at (Bonferroni), or where two jobs or more of the cause have it and nobody else. */
int cause_matches_read(struct db *db, int64_t sweep_id, const struct caused_jobs *jobs, struct cause_matches *out,
                       struct error *e);
void cause_matches_free(struct cause_matches *m);

/* "all 12 with tp=8, micro_batch>=16; none of 36 without", "9 of 12 with tp=8; 3 of 36 without". */
void cause_match_describe(const struct cause_matches *all, const struct cause_match *m, struct buffer *out);

#endif
