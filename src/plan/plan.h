/* A plan is what a run would do, compared with the database. Changes nothing. */
#pragma once

#include "space/match.h"
#include "store/jobs.h"

enum plan_mark {
    PLAN_NEW = 1, /* has never been run to an end */
    PLAN_DONE,    /* ok */
    PLAN_RETRY,   /* failed, lost or not run often enough, and due again under the retry policy or by demand */
    PLAN_FAILED,  /* failed or lost, and not due again */
    PLAN_RUNNING, /* runs at this moment */
    PLAN_PRUNED,  /* needs no less device memory than one that ran out of it (measures/knowledge.h) */
    PLAN_MARK_COUNT
};

/* "new", "done", …; that of 0 is "gone": no longer in the file. */
extern const char *const plan_mark_names[PLAN_MARK_COUNT];

/* Reasons beyond these, in the order of jobs, are counted together. */
#define PLAN_REASONS_MOST 100

struct plan {
    struct match_counts match;
    int64_t jobs, duplicates;
    int64_t marks[PLAN_MARK_COUNT];
    int64_t others; /* matched combinations of other shards */
    int64_t gone;   /* jobs in the database that the sweep no longer asks for */
    /* Predictions for new and retry, where they are asked for. */
    int64_t predicted_memory, predicted_time, predicted_length; /* jobs of which each is known */
    double step_device_seconds;                                 /* one step of each */
    double device_hours;                                        /* of those whose number of steps is known too */
    int64_t risks[OOM_CERTAIN + 1];                             /* by verdict; [0]: none */
    int64_t audits;
    struct cJSON
        *reasons; /* [{"mark": "new", "why": "layers=8 not seen before", "jobs": 2}, …], by mark, most jobs first;
                               * none without a database */
    char *hint;   /* where all are new by one change: which, and what to do; NULL: none */
    double device_hours_max;  /* of new and retry, from their time limits; NaN when one has none */
    double device_hours_each; /* of the largest of them */
};

void plan_free(struct plan *p);

struct plan_request {
    struct space *space;
    struct db *db;                 /* results.db, read only; NULL: there is none yet */
    const struct expression *only; /* NULL: all */
    struct shard shard;            /* of 0: all */
    const struct retry_policy *policy;
    char *const *forced; /* as in jobs_requeue */
    bool runner_alive;   /* what the database says runs does run */
    /* Called for the first `each_most` distinct jobs, in the order of rank; may be NULL. `m` is borrowed for the call,
     * and so is `witness`: the key of the job that ran out of memory where the mark is PLAN_PRUNED, else NULL. -1
     * stops. */
    int (*each)(void *context, const struct match *m, enum plan_mark mark, const struct hash128 *witness,
                struct error *e);
    int64_t each_most;
    /* Called before the first job is looked at, with what is known by then: the counts of the match, and where
     * `is_counted` the jobs and duplicates. May be NULL. -1 stops. */
    int (*counted)(void *context, const struct plan *known, bool is_counted, struct error *e);
    /* Called for every match that is looked at, with how many those are, of how many; may be NULL. */
    void (*looked_at)(void *context, int64_t matches, int64_t of);
    void *context;
};

int plan_make(const struct plan_request *request, struct plan *out, struct error *e);
