/* Searches and their trials (sql/migrations/0005_search.sql), and what jobs have come to, in a search's words. Inside
 * the caller's write transaction; numbers that are not known are NAN, ids and sequence numbers 0. */
#pragma once

#include "database/db.h"

/* The last search of the sweep with that strategy and those options, a new one if there is none. */
int search_open(struct db *db, int64_t sweep_id, const char *strategy, const char *options_json, int64_t *id,
                struct error *e);

/* The result of an ok job that does not meet a condition of [sweep] subject_to; the second: a bound on memory, which
 * what needs more does not meet either. */
#define FAILURE_INFEASIBLE "infeasible"
#define FAILURE_INFEASIBLE_MEMORY "infeasible-memory"

/* The outcome of a job: its attempt, where it is ok or failed. Texts are borrowed. */
struct job_outcome {
    int64_t job_id, attempt_id;
    const char *state;   /* "pending", "running", "ok", "failed" */
    const char *failure; /* NULL: none */
    bool stopped;        /* ended early, with a partial measurement */
    double objective, steps, seconds, bytes, device_seconds;
};

struct trial_row {
    int64_t id, asked, told;
    double resource;     /* NAN: all */
    const char *lineage; /* decimal, unsigned */
    int64_t draw;
    const char *reason;
    struct job_outcome outcome; /* state: "ok", "stopped", "failed"; NULL: not told */
};

/* The first or next of a search, as db_next. */
int trial_next(struct db *db, int64_t search_id, struct stmt **s, struct trial_row *out, struct error *e);

int trial_record(struct db *db, int64_t search_id, const struct trial_row *row, int64_t *id, struct error *e);
int trial_record_outcome(struct db *db, int64_t id, int64_t told, const struct job_outcome *outcome, struct error *e);

/* Makes an ok job pending if it was ended early, so that it runs for longer; counts it in `*reopened`. */
int trial_reopen_job(struct db *db, int64_t job_id, int64_t *reopened, struct error *e);

/* One job, or with job_id 0 the first or next (db_next) of those of the sweep that are ok or failed, in the order of
 * ids; what has a witness (store/jobs.h) counts as failed for want of memory, what cannot win as failed and
 * infeasible, what is excluded as failed. `objective` NULL: none. */
struct job_outcome_query {
    int64_t sweep_id, job_id;
    const char *objective;
};
int job_outcome_next(struct db *db, const struct job_outcome_query *query, struct stmt **s, struct job_outcome *out,
                     struct error *e);
