/* Jobs: finding them, and deciding which are due. Inside the caller's write transaction. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/sweep.h"
#include "database/db.h"
#include "store/states.h"
#include "util/hash.h"

/* Jobs that are held, and were not lost more often than that in a row, may be started again; `*count` gets how many. */
int jobs_let_go(struct db *db, int64_t sweep_id, int64_t losses_most, int64_t *count, struct error *e);

/* Jobs that run last, or would soon, for deaths at which they ran, are as all others. */
int jobs_forget_losses(struct db *db, int64_t sweep_id, int64_t *count, struct error *e);

/* SQL: the attempt that stands for a job, of its counted ones that with the middle value of the objective, with an even
 * number the lower: one that really ran, with all its files. NULL: none counts. */
#define REPRESENTATIVE_SQL(job, objective)                                                                             \
    "(SELECT id FROM (SELECT c.id, max(1, count(s.value) OVER ()) AS n,"                                               \
    " row_number() OVER (ORDER BY s.value IS NULL, s.value, c.id) AS place FROM counted_attempt AS c"                  \
    " LEFT JOIN summary AS s ON s.attempt_id = c.id AND s.name = " objective " WHERE c.job_id = " job                  \
    ") WHERE place = (n + 1) / 2)"

/* Jobs whose ids are in the table (column `id`), and whose attempts' summaries have changed: the attempt that stands
 * for each is chosen again, by the objective of its sweep, and their values follow (table job_metric). */
int jobs_choose_representatives(struct db *db, const char *table, struct error *e);

struct requeue_request {
    int64_t sweep_id;
    const struct retry_policy *policy;
    char *const
        *forced;    /* classes to retry whatever the policy says, NULL-terminated, "all" for every one; NULL: none */
    int64_t repeat; /* successful attempts wanted per job */
    bool only_selected; /* only jobs in the table "selected" (store/jobs.h) */
    int64_t most;       /* how many jobs will be started: no more are forced; 0: any number */
    bool in_order; /* they are started by priority, then rank: what is pending before a forced one takes its place */
};

/* Makes jobs of the sweep pending again: failed ones that are forced or whose class has attempts left under the
 * policy; ok ones that have fewer successful attempts than wanted, since that was raised or attempts were deleted.
 * What is forced and would not be started stays failed: a later run was not asked to run it. `*count` gets how many. */
int jobs_requeue(struct db *db, const struct requeue_request *request, int64_t *count, struct error *e);

/* The same for jobs that have ended, in the table with the column `job_id`, whatever the policy and the wanted
 * repeats. */
int jobs_requeue_listed(struct db *db, const struct requeue_request *request, const char *table, int64_t *count,
                        struct error *e);

struct job_state_counts {
    int64_t pending, running, ok, failed;
    int64_t pruned; /* pending, and not to be tried; not counted as pending */
    int64_t held;   /* pending, and not to be started now; not counted as pending */
};

/* Jobs of the sweep by state; with `only_selected`, of those in the table "selected" (store/jobs.h). */
int jobs_count(struct db *db, int64_t sweep_id, bool only_selected, struct job_state_counts *out, struct error *e);

/* --- a job with its specs --- */

#define JOB_SPECS 4

/* All borrowed from the row. */
struct job_specs {
    int64_t job_id;
    const void *key;             /* 16 bytes */
    const char *json[JOB_SPECS]; /* in the order of enum section_kind; NULL: none */
    const void *hash[JOB_SPECS]; /* without labels */
};

/* Columns and joins of a query over job AS j, of which they are the first. */
#define JOB_SPECS_COLUMNS                                                                                              \
    "j.id, j.key, c.json, m.json, t.json, p.json,"                                                                     \
    " coalesce(c.identity, c.hash), coalesce(m.identity, m.hash), coalesce(t.identity, t.hash),"                       \
    " coalesce(p.identity, p.hash)"
#define JOB_SPECS_JOINS                                                                                                \
    " LEFT JOIN spec AS c ON c.id = j.cluster_id LEFT JOIN spec AS m ON m.id = j.model_id"                             \
    " LEFT JOIN spec AS t ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id"
#define JOB_SPECS_END (2 + 2 * JOB_SPECS) /* the first column after them */

void job_specs_read(const struct stmt *s, struct job_specs *out);

/* The specs' JSON under those joins: "c.json", … */
extern const char *const job_spec_columns[JOB_SPECS];

/* A job's specs, and all keys of its combination as the job is given them in MESHSWEEP_SPEC. */
#define JOB_SPECS_FROM_SQL " FROM job AS j" JOB_SPECS_JOINS
#define JOB_SPEC_SQL                                                                                                   \
    "json_object('cluster_spec', json(c.json), 'model', json(m.json), 'training_spec', json(t.json), 'parallel_spec'," \
    " json(p.json), 'derived', json(j.derived))"

/* --- selection --- */

/* The jobs that a run is narrowed to: the temporary table "selected", which lasts as long as the connection. */

/* Makes the table anew; outside a transaction. */
int selection_begin(struct db *db, struct error *e);

/* --- shards --- */

/* One of the parts that several machines run each one of. Which one a job belongs to follows from its key alone, by
 * rendezvous hashing: with one part more, only what it gets changes its place. */
struct shard {
    int64_t number, of; /* 1 to `of`; of 0: there are no parts */
};

#define SHARDS_MOST 10000

bool shard_has(const struct shard *s, const struct hash128 *key);

/* Narrows the run to the jobs of the shard among those that are selected, or the sweep's. Sets how many belong to
 * others, and records that for `status`. Outside a transaction. */
int selection_take_shard(struct db *db, int64_t sweep_id, bool of_selected, const struct shard *s, int64_t *others,
                         struct error *e);
