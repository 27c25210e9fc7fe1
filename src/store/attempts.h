/* Attempts: claimed, running, ok or failed; store/states.h has the transitions. Inside the
 * caller's write transaction. */
#pragma once

#include <stddef.h>

#include "config/own_metrics.h"
#include "database/db.h"
#include "store/jobs.h"
#include "store/states.h"

/* A file that an attempt is given in its directory before it starts. */
struct given_file {
    char *path; /* within the directory */
    char *text;
};

struct given_files {
    struct given_file *items;
    size_t count;
};

/* Takes `text` over. */
void given_files_add(struct given_files *files, const char *path, char *text);
void given_files_free(struct given_files *files);

struct attempt_store;
struct attempt_store_options {
    int64_t sweep_id, runner_id;
    int64_t repeat;        /* successful attempts wanted per job */
    int64_t repeat_slowed; /* further ones, for as many whose devices were slower than others' */
    const char *objective; /* metric by which the attempt that represents a job is chosen; NULL: the last */
    bool maximise;         /* more of it is better */
    struct retry_policy policy;
    bool only_selected;   /* only jobs in the temporary table "selected" are pending (store/jobs.h) */
    const char *executor; /* what runs them, as recorded with each attempt */
    const char *places;   /* in place of their declared order: fixture_texts_order(); NULL: none */
};
int attempt_store_create(struct db *db, const struct attempt_store_options *options, struct attempt_store **out,
                         struct error *e);
void attempt_store_free(struct attempt_store *s);

struct claim {
    int64_t job_id, attempt_id, number;
    int64_t trials; /* of the job so far, this one included: attempts that are no full training */
    bool full;    /* the full training after a search (attempt.kind): whatever becomes of it, its job stays as it is */
    bool profile; /* the same, but the winner under a profiler */
};

/* The first pending jobs by priority, then rank; at most `room`. */
int attempts_pending(struct attempt_store *s, int64_t *job_ids, size_t room, size_t *count, struct error *e);

/* Claims a pending job: an attempt is made (claimed), the job becomes running. `kind` is that of the attempt; NULL: a
 * trial. With another one the job may be in any state. */
int attempt_claim(struct attempt_store *s, int64_t job_id, const char *kind, struct claim *out, struct error *e);

/* Finds whether a pending job may be tried now: one that failed waits for the end of its back-off (store/states.h). */
int attempts_is_due(struct attempt_store *s, int64_t job_id, bool *yes, struct error *e);

/* When the first of the pending jobs that were not due at `since_ms` is due, in milliseconds since 1970 both; 0: none.
 * A job that came due after a look at `since_ms` did not find it is among them. */
int attempts_next_due(struct attempt_store *s, int64_t since_ms, int64_t *due_ms, struct error *e);

/* Gives a claimed attempt back as if it had never been. */
int attempt_release(struct attempt_store *s, const struct claim *claim, struct error *e);

/* The same for one that its host could not start: its job is held, and `why` says for what. */
int attempt_hold(struct attempt_store *s, const struct claim *claim, const char *why, struct error *e);

struct attempt_start {
    int64_t attempt_id, slot, pid, start_ticks, started_ms;
    const char *command_json, *environment_json;
    const char *scripts_json; /* {path: hash of the content} of what the command names; NULL: no file */
    struct given_files files; /* without secrets */
    const char *given;        /* limits that depend on the attempt, as JSON; NULL: none does */
    const char *directory;    /* NULL: it has none so far */
    const char *reference;    /* the executor's own name for it; NULL: none */
    const char *waits;        /* why its batch system has not begun it; NULL: it runs. Lives as long as the runner */
    const char *host;         /* where it runs; NULL: where its runner does */
    const char *devices;      /* as struct place has them; NULL: none were given to it */
    const int64_t *fixtures;  /* ids of fixture_start that it uses, 0 at the end; NULL: none */
};
int attempt_record_start(struct attempt_store *s, const struct attempt_start *start, struct error *e);

/* The executor's own name for an open attempt and why it waits, which became known after the start. */
int attempt_record_reference(struct attempt_store *s, const struct attempt_start *start, struct error *e);

/* How many attempts of the job ran out of time. */
int attempts_count_timeouts(struct attempt_store *s, int64_t job_id, int64_t *out, struct error *e);

struct attempt_end {
    int64_t attempt_id, job_id;
    bool full;                                   /* as in struct claim */
    const char *failure;                         /* NULL: ok */
    enum blame blame;                            /* of a failure: only the job's own count against its attempts */
    const char *message, *log_tail;              /* NULL: none */
    const char *consequence;                     /* what other ranks or the launcher said of it; NULL: nothing */
    const char *left_out;                        /* what no summary is of; NULL: nothing */
    const char *directory, *host, *reference;    /* NULL: as at the start */
    const char *device_model, *device_condition; /* NULL: not known */
    const char *files;                           /* what it left (process/left_files.h); NULL: nothing */
    const char *device_note;  /* how its devices were slower than others' of the model; NULL: they were not */
    bool elsewhere;           /* the job is pending at once, to run on another place before it is said to have failed */
    bool cancelled_elsewhere; /* by a person, past this program: not tried again by itself */
    int64_t ended_ms, duration_ms;
    int64_t exit_code;          /* -1: none */
    int64_t signal, limit_ms;   /* 0: none */
    int64_t stopped_steps;      /* measured steps after which its search ended it; 0: it did not */
    int64_t unwatched_ms;       /* as in struct outcome; 0: none */
    int64_t user_ms, system_ms; /* -1: not known */
    int64_t max_rss_bytes;      /* 0: not known */
    int64_t leftovers, log_bytes;
};

enum job_end {
    JOB_END_OK = 1,
    JOB_END_FAILED,
    JOB_END_AGAIN, /* pending again */
    JOB_END_HELD,  /* pending, and not to be started now */
    JOB_END_GONE,  /* deleted while it ran: nothing is recorded */
    JOB_END_FULL,  /* it was a full training, and the job is what it was before */
};

/* Records how it ended and what that makes of the job. */
int attempt_record_end(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end, struct error *e);

struct sample_row {
    const char *name;
    int64_t sequence; /* distinguishes the samples of one name */
    int64_t step;
    double value; /* that is not finite: NULL in the database */
};
int attempt_record_sample(struct attempt_store *s, int64_t attempt_id, const struct sample_row *row, struct error *e);

/* What the samples of a name come to. Numbers that are not finite are NULL in the database. */
struct summary {
    double value; /* after `take`: NaN when there is no finite sample, or the last was asked for and is none */
    double mean, median, minimum, maximum, stddev, p90; /* of the finite samples that count; NaN: there are none */
    int64_t count;                                      /* of these */
    int64_t not_finite;                                 /* that count and are NaN or infinite */
    int64_t reported;                                   /* all, with those that do not count; 0: no summary */
    int64_t kept;                                       /* of these */
    bool ended_finite;                                  /* the last one that counts is a number */
};
int attempt_record_summary(struct attempt_store *s, int64_t attempt_id, const char *name, const struct summary *row,
                           struct error *e);

/* --- recovered attempts --- */

/* Attempts that an earlier runner left open, and how another runner takes over those whose executor still knows
 * them. */

struct recovered_attempt {
    struct claim claim;
    bool started;    /* its start is in the database; else it was only claimed, and may have been started or not */
    char *reference; /* the executor's own name for it; NULL: none was recorded */
    char *directory; /* relative; NULL: none was recorded */
    bool taken;      /* set by the executor: it runs, or its end will be reported */
};

struct recovered_attempts {
    struct recovered_attempt *items;
    size_t count;
};

#define RECOVERED_ATTEMPTS_INIT ((struct recovered_attempts){NULL, 0})
void recovered_attempts_free(struct recovered_attempts *l);

/* Every open attempt of `executor` in the order of their ids. */
int recovered_attempts_read(struct db *db, const char *executor, struct recovered_attempts *out, struct error *e);

/* Fails when attempts are open that another executor's jobs may still be at work on: those only it can collect. */
int recovered_attempts_none_elsewhere(struct db *db, const char *executor, struct error *e);

/* Makes an attempt that of `runner_id`: attempts_recover leaves it alone. Inside the caller's write transaction. */
int recovered_attempt_adopt(struct db *db, int64_t attempt_id, int64_t runner_id, struct error *e);

/* --- where a job failed --- */

struct place {
    char *host;
    char *devices; /* "0,2", as CUDA_VISIBLE_DEVICES has them; NULL: none were given */
    bool is_named; /* the host is the attempt's own, not its runner's */
    bool lost;     /* some attempt was lost there */
};

struct places {
    struct place *items;
    size_t count;
};

#define PLACES_INIT ((struct places){NULL, 0})
void places_free(struct places *p);

/* Finds where attempts of the job failed otherwise than by a person's will, or had slow devices, each place once, the
 * last first: places that another attempt is to avoid where there is a choice. `out` is appended to. */
int places_of_failures(struct db *db, int64_t job_id, struct places *out, struct error *e);
