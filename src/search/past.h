/* Repeats a recorded search from its rows, in the order in which it asked and was told. Same options, same decisions.
 */
#ifndef MESHSWEEP_SEARCH_PAST_H
#define MESHSWEEP_SEARCH_PAST_H

#include "search/candidates.h"
#include "store/trials.h"

struct past_request {
    struct db *db;
    int64_t search_id;
    const struct candidate_set *set;
    struct search *search; /* new */
    /* Called with each row before it is used. It replaces the outcome of a single job by that of the candidate with its
     * replicates. NULL: rows already are outcomes of candidates. */
    int (*complete)(void *context, struct trial_row *row, struct error *e);
    void *context;
};

/* What the rows say about a candidate. */
struct past_candidate {
    int64_t trial_id; /* of its open trial; 0: none */
    double resource;  /* of the open trial: measured steps; 0: the whole job */
    bool done;        /* an outcome was told */
};

/* Fills `out`, a zeroed array with one entry per candidate, and *last, the last sequence number. */
int past_repeat(const struct past_request *request, struct past_candidate *out, int64_t *last, struct error *e);

/* A job's outcome in the form that strategies take. `failure` is borrowed. */
struct search_outcome search_outcome_of(const struct job_outcome *o);

struct replicates_query {
    struct db *db;
    int64_t sweep_id;
    const char *objective; /* NULL: none */
    const struct candidate_set *set;
    void (*is_due)(void *context, struct candidate_replicate *r); /* called with each replicate whose job is pending */
    void *context;
};

/* The first replicate runs alone. If it is ok and ran to its end, the others run too, and the candidate's outcome is
 * the mean. `o` holds the first one's outcome and receives the mean. `*waits`: some of the others have not ended. */
int replicates_add(const struct replicates_query *q, size_t candidate, struct job_outcome *o, bool *waits,
                   struct error *e);

#endif
