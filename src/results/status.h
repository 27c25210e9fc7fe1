/* The progress of the current sweep. */
#ifndef MESHSWEEP_RESULTS_STATUS_H
#define MESHSWEEP_RESULTS_STATUS_H

#include "database/db.h"
#include "results/failure_causes.h"

/* Lists hold at most this many items; their totals count all. */
#define STATUS_LISTED 10

/* Failures are grouped of the newest failed jobs, so many at most. */
#define STATUS_FAILURES_MOST 10000

#define RATE_WINDOW 200

/* Attempts of which device-hours are added up: a tenth of a second. */
#define DEVICE_HOURS_MOST 100000

struct status_class {
    char *name; /* failure class of the attempt that represents the job */
    int64_t jobs;
};

struct status_attempt {
    int64_t job_id, number;
    int64_t started_ms;
    int64_t slot;        /* -1: none */
    int64_t expected_ms; /* from beginning to end (results/durations.h); -1: unknown */
    char *keys;          /* "zero_stage=3 micro_batch=4": those that are not the same in all specs */
    char *keys_json;     /* all of them (results/json.h) */
};

/* A job that failed and waits for its next attempt ([retry] backoff). */
struct status_retry {
    int64_t job_id, number; /* of the next attempt */
    int64_t due_ms;         /* since 1970; may have passed */
};

/* Jobs that need no less device memory than their witness, which ran out of it. */
struct status_witness {
    int64_t job_id, jobs;
};

/* Jobs that wait, and for what. */
struct status_hold {
    char *why;
    int64_t jobs, first_job;
};

/* The search that chose what ran last. */
struct status_search {
    char *strategy, *ended;                       /* why it ended; NULL: it continues. strategy NULL: none */
    char *lifting;                                /* options that lift its limits: " --max-trials 0"; "": it had none */
    int64_t trials, running, ok, stopped, failed; /* trials, all and by what they came to */
};

/* A device of a host, or (device NULL) a node that is set aside. */
struct status_place {
    char *host, *device, *message; /* of the first failure there; NULL: not known */
    int64_t jobs, until_ms;        /* that failed there and went well elsewhere; when it is tried again */
};

/* A node on which jobs take longer than attempts of the same jobs do on others. */
struct status_node {
    char *host;
    double ratio;     /* of its times to theirs, mean over pairs */
    int64_t compared; /* pairs */
};

struct status_rule {
    char *name, *reason; /* what it requires, where no reason is given */
    bool warning;        /* excludes nothing: `combinations` is how many matched ones it is false for */
    int64_t combinations;
};

struct sweep_status {
    int64_t sweep_id;
    char *name, *path;
    int64_t combinations, excluded, duplicates; /* -1: not recorded */
    int64_t pending, running, ok, failed;       /* jobs */
    int64_t pruned;                             /* by witnesses; not among the pending */
    int64_t held;                               /* wait for their host; not among the pending */
    int64_t aside;                              /* of the pending, that run last (store/attempts.h) */
    int64_t to_come;                            /* of the pending, those that will run at most; -1: not known */
    int64_t open;                               /* asked for (`ask`), neither told yet nor run */
    struct status_search search;
    struct status_class *classes;
    size_t class_count;
    struct failure_causes causes;
    struct status_witness *witnesses; /* of most jobs first */
    size_t witness_count, witness_total;
    struct status_hold *holds; /* of most jobs first */
    size_t hold_count, hold_total;
    struct status_place *places;
    size_t place_count;
    struct status_attempt *attempts; /* those that run, oldest first */
    size_t attempt_count, attempt_total;
    struct status_retry *retries; /* the first ones due first */
    size_t retry_count, retry_total;
    struct status_rule *rules; /* those that are false for any combination, in the order in which they are tried */
    size_t rule_count;
    double rate; /* attempts of the newest runner that ended, per second, over the last RATE_WINDOW; NaN: unknown */
    double device_hours; /* of all attempts in the database that ended; NaN: too many to add up at each look */
    /* For jobs that run or are to come, each like the mean of the last 1,000; NaN: unknown, or none is left. */
    double device_hours_left;
    /* By a fifth or more slower than matched jobs elsewhere, of the last 10,000 attempts. */
    struct status_node *slow_nodes;
    size_t slow_node_count;
    int64_t mean_ms;        /* of the last 1,000 attempts that ended with their jobs ok or failed; -1: none */
    int64_t waiting_ms;     /* how long a job that waits will take, on average (results/durations.h); -1: unknown */
    char *model_info;       /* JSON (store/model_facts.h); NULL: none was requested */
    char *objective, *unit; /* NULL: none */
    bool has_best, maximise;
    double best;
    int64_t best_job;
};

/* Reads it as of one moment. ERROR_NOTHING when no sweep has been recorded. `*out` is the caller's: status_free. */
int status_read(struct db *db, struct sweep_status *out, struct error *e);
void status_free(struct sweep_status *s);

/* The best of a sweep so far: has_best, best and best_job, and nothing else of `*out`, which owns nothing. */
int status_best_read(struct db *db, int64_t sweep_id, struct sweep_status *out, struct error *e);

/* What search chose what ran last, and how many jobs are to come of it: `search` and `to_come`, and nothing else of
 * `*out`, which is the caller's: status_free. */
int status_search_read(struct db *db, int64_t sweep_id, struct sweep_status *out, struct error *e);

/* Time until all that will run is done, with as many jobs at a time as run now, each as long as jobs like it took
 * (results/durations.h), or as the mean where that is not known; -1: unknown. */
int64_t status_eta_ms(const struct sweep_status *s, int64_t now_ms);

#endif
