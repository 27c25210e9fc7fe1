/* A search as the source of a run's claims. It records every decision in the transaction of its claim, and every
 * outcome in the transaction that records the end of the job. A search that was killed is repeated from these rows and
 * continues as if nothing had happened: same options, same decisions. With other options it is a new search that knows
 * every earlier outcome.
 *
 * Of jobs that differ only in replicate keys ([sweep] replicate), the first is the candidate. If it is ok and was to
 * run to its end, the others run too, and the strategy is told the mean. */
#pragma once

#include "measures/measures.h"
#include "run/claim_source.h"
#include "search/candidates.h"
#include "store/trials.h"

struct search_driver;

struct search_driver_options {
    struct candidate_request candidates;
    const struct search_options *search;
    const struct measures *measures; /* NULL: none. Borrowed; must outlive the driver */
};

/* Loads the candidates and creates the strategy. Refuses what search_create refuses. */
int search_driver_create(const struct search_driver_options *options, struct search_driver **out, struct error *e);
void search_driver_free(struct search_driver *d);

/* Borrowed from the driver. */
struct claim_source search_driver_source(struct search_driver *d);

/* Why the search ended or waits; "" before the first question. Borrowed. `counts` may be NULL. */
const char *search_driver_reason(const struct search_driver *d, struct search_counts *counts);

/* For the user: which jobs compete, if the sweep file does not say (see candidate_set_groups). NULL: nothing to say, or
 * the strategy does not compare groups. The caller frees it. */
char *search_driver_groups(const struct search_driver *d);

/* For the user: what limits this search, such as missing predictions for `model`. NULL: nothing. Borrowed. */
const char *search_driver_note(const struct search_driver *d);

/* Looks up how a search of that sweep with these options, which are complete, went so far: how many trials ended, and
 * why it has ended (the caller's; NULL: it goes on). */
int search_look_up(struct db *db, const struct hash128 *sweep, const struct search_options *o, int64_t *trials,
                   char **finished, struct error *e);

/* --- from rows: shared with those who replay a search without running it --- */

/* Repeats a recorded search from its rows, in the order in which it asked and was told. Same options, same decisions.
 */
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

/* A candidate, as the rows leave it. */
struct past_candidate {
    int64_t trial_id; /* of its open trial; 0: none */
    double resource;  /* of the open trial: measured steps; 0: the whole job */
    bool done;        /* an outcome was told */
};

/* Fills `out`, a zeroed array with one entry per candidate, and *last, the last sequence number. */
int past_repeat(const struct past_request *request, struct past_candidate *out, int64_t *last, struct error *e);

/* A job's outcome in the form that strategies take. */
struct search_outcome search_outcome_of(const struct job_outcome *o);

struct replicates_query {
    struct db *db;
    int64_t sweep_id;
    const char *objective; /* NULL: none */
    const struct candidate_set *set;
    void (*is_due)(void *context, struct candidate_job *r); /* called with each replicate whose job is pending */
    void *context;
};

/* The first replicate runs alone. If it is ok and ran to its end, the others run too, and the candidate's outcome is
 * the mean. `o` holds the first one's outcome and receives the mean. `*waits`: some of the others have not ended. */
int replicates_add(const struct replicates_query *q, size_t candidate, struct job_outcome *o, bool *waits,
                   struct error *e);
