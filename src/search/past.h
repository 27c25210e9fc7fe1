/* A search that is repeated from its rows: what was asked and told, in that order. Same options, same decisions. */
#ifndef MESHSWEEP_SEARCH_PAST_H
#define MESHSWEEP_SEARCH_PAST_H

#include "search/candidates.h"
#include "store/trials.h"

struct past_request {
    struct db *db;
    int64_t search_id;
    const struct candidate_set *set;
    struct search *search; /* new */
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

#endif
