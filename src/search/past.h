/* Repeats a search from its rows, in the order of asking and telling. Same options, same decisions. */
#ifndef MESHSWEEP_SEARCH_PAST_H
#define MESHSWEEP_SEARCH_PAST_H

#include "search/candidates.h"
#include "store/trials.h"

struct past_request {
    struct db *db;
    int64_t search_id;
    const struct candidate_set *set;
    struct search *search; /* new */
    /* Called with each row before it counts: what a candidate came to with its replicates, where the rows are of single
     * jobs. NULL: they are of candidates. */
    int (*complete)(void *context, struct trial_row *row, struct error *e);
    void *context;
};

/* What the rows say of a candidate. */
struct past_candidate {
    int64_t trial_id; /* of its open trial; 0: none */
    double resource;  /* of that: measured steps; 0: the whole job */
    bool done;        /* an outcome was told */
};

/* Fills `out`, one per candidate, of zeros, and *last: the last sequence number. */
int past_repeat(const struct past_request *request, struct past_candidate *out, int64_t *last, struct error *e);

/* What a job came to, as a strategy is told it. `failure` is borrowed. */
struct search_outcome search_outcome_of(const struct job_outcome *o);

struct replicates_query {
    struct db *db;
    int64_t sweep_id;
    const char *objective; /* NULL: none */
    const struct candidate_set *set;
    void (*is_due)(void *context, struct candidate_replicate *r); /* called with those whose jobs are pending */
    void *context;
};

/* The first replicate runs alone; where it is ok and ran to its end, so do the others, and the candidate has their
 * mean. `o` is what the first came to, and gets that mean. `*waits`: some of the others have not ended. */
int replicates_add(const struct replicates_query *q, size_t candidate, struct job_outcome *o, bool *waits,
                   struct error *e);

#endif
