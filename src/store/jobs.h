/* Specs and jobs: putting them in, and deciding which are due. Inside the caller's write transaction. */
#ifndef MESHSWEEP_STORE_JOBS_H
#define MESHSWEEP_STORE_JOBS_H

#include "config/sweep.h"
#include "store/db.h"
#include "store/retry.h"
#include "util/hash.h"

/* The statements that a bulk load needs. */
struct job_writer;
int job_writer_create(struct db *db, int64_t sweep_id, struct job_writer **out, struct error *e);
void job_writer_free(struct job_writer *w);

struct spec_row {
    struct hash128 hash;     /* equal hash, equal spec: of the content, and of labels where a job's texts read one */
    struct hash128 identity; /* of the content alone: what job keys are made from */
    const char *json;        /* labels included */
};

/* The id of that spec; made when it is new, its name and labels brought up to date when not. */
int job_writer_put_spec(struct job_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                        struct error *e);

struct job_row {
    struct hash128 key;
    int64_t rank;
    int64_t spec_ids[SECTION_COUNT]; /* 0: none */
    const char *derived_json;        /* NULL: none */
    int64_t devices;
    int64_t timeout_ms, idle_timeout_ms, startup_timeout_ms; /* 0: none */
    double predicted_memory, predicted_time;                 /* bytes, seconds; NaN: not predicted */
    int64_t risk;                                            /* enum oom_verdict; 0: not predicted */
    int64_t priority;                                        /* lower ones run first */
    bool is_audit;
};

/* Makes the job, or takes the one with that key over into the sweep: its state stays. `*is_new` says which. */
int job_writer_put(struct job_writer *w, const struct job_row *row, bool *is_new, struct error *e);

/* Before a sweep is enumerated again: what has never been tried is set aside, job_writer_put takes back what is still
 * asked for, and what is left after that is dropped. */
int jobs_set_aside(struct db *db, int64_t sweep_id, struct error *e);
int jobs_drop_aside(struct db *db, int64_t sweep_id, struct error *e);

/* The id of the job with that key; 0 when there is none. */
int job_find(struct db *db, const struct hash128 *key, int64_t *id, struct error *e);

struct requeue_request {
    int64_t sweep_id;
    const struct retry_policy *policy;
    char *const *forced; /* classes to retry whatever the policy says, NULL-terminated, "all" for every one; NULL: none */
    int64_t repeat;      /* successful attempts wanted per job */
    bool only_selected;  /* only jobs in the table "selected" (see store/attempts.h) */
    int64_t most;        /* how many jobs will be started: no more are forced; 0: any number */
    bool in_order;       /* they are started by priority, then rank: what is pending before a forced one takes its place */
};

/* Makes jobs of the sweep pending again: failed ones that are forced or whose class has attempts left under the
 * policy; ok ones that have fewer successful attempts than wanted, since that was raised or attempts were deleted.
 * What is forced and would not be started stays failed: a later run was not asked for it. `*count` gets how many. */
int jobs_requeue(struct db *db, const struct requeue_request *request, int64_t *count, struct error *e);

/* The same for jobs that have ended, in the table with the column `job_id`, whatever the policy and the wanted repeats. */
int jobs_requeue_listed(struct db *db, const struct requeue_request *request, const char *table, int64_t *count,
                        struct error *e);

struct job_state_counts {
    int64_t pending, running, ok, failed;
    int64_t pruned; /* pending, and not to be tried (store/witnesses.h); not counted as pending */
};

/* Jobs of the sweep by state; with `only_selected`, of those in the table "selected" (see store/attempts.h). */
int jobs_count(struct db *db, int64_t sweep_id, bool only_selected, struct job_state_counts *out, struct error *e);

#endif
