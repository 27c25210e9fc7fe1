/* The loop: claims jobs, starts them, waits, reads what they measured, records it.
 *
 * A thread of its own writes what has started and ended and claims what comes next (run/commit_batch.h), while others
 * of what is claimed already are started, run and end. Nothing is reported before it is durable; no job starts before
 * its claim is. */
#pragma once

#include "measures/measures.h"
#include "metrics/classify.h"
#include "run/claim_source.h"
#include "run/device_keeper.h"
#include "run/executor.h"
#include "run/preparation.h"
#include "space/space.h"
#include "store/jobs.h"
#include "util/error.h"

/* An attempt whose end has been committed. Borrowed for the length of the call. */
struct run_event {
    int64_t job_id, attempt_number;
    const char *key_hex;
    const char *spec_json; /* as in struct job_details */
    bool is_full;          /* a full training, after the search */
    bool is_profile;       /* the winner once more, under [job.profile] */
    const char *failure;   /* NULL: ok */
    const char *message;
    int64_t duration_ms;
    bool has_objective;
    double objective;
    bool will_retry;
};

struct run_counts {
    int64_t total;                        /* jobs of the sweep */
    int64_t ok, failed, running, pending; /* now */
    int64_t waiting;                      /* of the running, those that their batch system has not begun */
    char waits[64];                       /* why the first of them waits, in brief */
    bool waits_differ;
    int64_t ended;                   /* have ended and are being recorded: the next one may run in their place */
    int64_t pruned;                  /* need no less device memory than a job that ran out of it */
    int64_t held;                    /* wait for their host; not among the pending */
    int64_t to_come;                 /* of the pending, how many will run at most; -1: not known */
    int64_t starts_left;             /* that a limit leaves; -1: none is set */
    int64_t left_ms;                 /* after which nothing more is started; -1: no deadline */
    int64_t finished_now;            /* attempts that ended in this run */
    int64_t ok_now, failed_now;      /* of these, after which the job was done; the others are tried again */
    int64_t reopened;                /* were ok, and go on */
    int64_t gone;                    /* of these, whose rows had been deleted: not recorded */
    int64_t failures[FAILURE_COUNT]; /* of failed_now by class */
    bool has_best;                   /* of all that is recorded */
    double best;
    int64_t best_job_id;
    int64_t elapsed_ms;
    bool draining; /* starts nothing new */
};

struct runner_options {
    struct space *space;
    struct db *db; /* results.db, open for writing */
    int64_t sweep_id;
    struct measures *measures; /* of the space; NULL: none */
    size_t slots;
    struct device_options devices;         /* of this machine, or of the allocation */
    const struct allocation *allocation;   /* for the executor to run in; NULL: none */
    struct batch_system *system;           /* to which it submits; NULL: none */
    const char *directory;                 /* for job files: store_directory() */
    const char *identity;                  /* store_identity() */
    char *const *environment;              /* the runner's own */
    const struct preparation *preparation; /* NULL: jobs need nothing but their command */
    executor_create *executor;
    const struct claim_source *source;  /* NULL: claim_source_in_order */
    const struct job_listing *unlisted; /* for that; NULL: all jobs are there */
    int64_t job_limit;                  /* attempts to start at most; 0: no limit */
    int64_t max_fail;                   /* stop starting after this many failed jobs; 0: never */
    int64_t pause_after;                /* the same after so many that failed alike before any was ok; 0: never */
    bool only_selected;                 /* see store/attempts.h */
    bool release;                       /* jobs that would run last, for deaths at which they ran, are as all others */
    bool detach;                        /* leave once all is handed over, where jobs survive their runner */
    char *const *forced_classes;        /* --retry-failed; see jobs_requeue */
    void (*on_event)(void *context, const struct run_event *event);
    void (*on_counts)(void *context, const struct run_counts *counts); /* a few times a second */
    void (*on_notice)(void *context, const char *text);
    void *context;
};

/* Hands a notice to on_notice, where there is one. */
void runner_tell(const struct runner_options *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct run_result {
    struct run_counts counts;
    int signal;        /* the signal that ended the run early; 0: none */
    int64_t recovered; /* attempts that a dead runner had left */
    int64_t requeued;
    int64_t aside;       /* jobs that run last, for deaths at which they ran */
    bool gave_up;        /* jobs were left because the devices that they need did not become free */
    bool paused;         /* jobs were left because the first failed alike */
    bool refused;        /* jobs were left because the batch system takes none such */
    int64_t same;        /* jobs that this run started with the same inputs as another of them */
    int64_t different;   /* how many inputs those are */
    bool fixture_failed; /* jobs were left because what they share did not start, or did not stay up */
    bool held;           /* jobs were left because their host could not run them, or lost them too often */
};

/* Runs until nothing is due. A failed job is not an error; -1 means that the run could not go on (then what was
 * recorded stands, and what ran has been ended). */
int runner_run(const struct runner_options *options, struct run_result *out, struct error *e);

/* Asks the run at work on the database with this directory to try at once what it pauses for. */
int runner_ask_release(const char *directory, struct error *e);
