/* Internals of the runner, only for its own files. */
#pragma once

#include "config/failure.h"
#include "measures/place_watch.h"
#include "run/claims.h"
#include "run/commit_batch.h"
#include "run/device_keeper.h"
#include "run/host_watch.h"
#include "run/readings.h"
#include "run/runner.h"
#include "run/starter.h"
#include "util/string_list.h"

/* A job that could not be started, until it is known whose fault that is. */
struct suspect {
    bool is_there;
    struct running_attempt attempt;
    struct outcome outcome;
    int64_t since_ms;
};

/* Failures that are alike, before anything has gone well: a typing mistake in the command fails all jobs, and the first
 * tell it as well as a thousand. All zero: none so far. */
struct like_failures {
    enum failure failure;
    char *cause; /* its message without the digits */
    int64_t count;
    bool went_well; /* something is ok: then they are of the configurations */
};

struct runner {
    const struct runner_options *options;
    struct db *db;
    struct executor *executor;
    struct attempt_store *store;
    struct store_order order;
    struct claim_source in_order;
    const struct claim_source *source;
    struct starter starter;
    struct reader_set *readers;
    struct classifier *classifier;
    struct secrets secrets;
    struct readings *readings;
    char *scratch;
    char *token; /* of this runner's processes: see executor_options */
    int64_t runner_id;
    struct recovered_attempts left; /* by earlier runners, to an executor whose jobs survive them */
    struct pruning *pruning;
    struct claims claims;
    struct running_attempt *running;
    size_t running_count;
    struct place_watch *places;
    struct place_naming naming;
    int64_t release_looked_ms;
    int64_t slowed_count;         /* attempts on slow devices */
    struct device_keeper *keeper; /* NULL: there are no devices to give */
    struct ended_attempts ended;
    struct commit_batch batch;
    struct host_watch host;
    struct like_failures like;
    bool *reported;   /* per metric of the sweep: a job of this run that is ok has reported it, or it was said */
    int64_t ok_count; /* attempts of this run that were ok */
    struct suspect suspect;
    bool start_failed;             /* its outcome is to come */
    bool was_taken;                /* the batch system has taken one that this run started */
    struct string_list wait_texts; /* why jobs wait at a batch system, each once */
    const char *told_wait;         /* the last reason that was told for which jobs wait at a batch system; NULL: none */
    char *refusal;                 /* why it took none such, as it was told last; NULL: it never did */
    bool let_go_due;               /* jobs that are held may be started again */
    bool unrecorded_starts;
    bool draining, cancelling;
    bool leaving;     /* what runs continues without this runner */
    bool measured;    /* some attempt brought a metric */
    bool after_death; /* the runner before this one did not come to its end */
    int interrupts;
    int64_t started_count;
    int64_t began_ms, counts_reported_ms;
    int64_t due_told_ms; /* the last wait for a job that failed of which a notice was given */
    int64_t locked_ms;   /* since when another program keeps us from writing; 0: it does not */
    bool lock_told;
    struct run_result result;
};

/* Takes over what an earlier runner left, and opens all that the loop needs. */
int runner_set_up(struct runner *r, struct error *e);

/* NULL: it is not running. */
struct running_attempt *runner_find_running(const struct runner *r, int64_t attempt);

/* `f` becomes the runner's. */
void runner_add_running(struct runner *r, struct running_attempt f);

/* --- ends.c: what becomes of attempts that have ended, until they are committed --- */

/* Its slot and its devices may be given to another; its output is still to be read. */
struct running_attempt runner_let_go(struct runner *r, struct outcome *outcome);

/* Has the output of `f`, which runner_let_go gave, read: at once where it is little. Takes both over. */
void runner_receive(struct runner *r, struct running_attempt f, struct outcome *outcome);

/* Takes up those whose output has been read meanwhile. */
void runner_receive_read(struct runner *r);

/* A job was started, or has ended: host_watch_started, or host_watch_ended, says whether that ends a pause. */
void runner_note_works(struct runner *r, int64_t job_id, bool (*note)(struct host_watch *w, int64_t job_id));

/* It is the job's own fault that it could not be started. */
void runner_blame_suspect(struct runner *r);

/* The same where no other start will tell whose fault it was. */
void runner_settle_suspect(struct runner *r, bool nothing_to_start);

/* Moves what open attempts had written in `scratch_dir` below `directory`, into "<key>/<number>" as their own ends
 * would have, and records directory, size and tail, without secrets, with them. Claims that turn out to have run,
 * though the runner died before it could record their start, are marked as running. For after escaped processes have
 * been ended and before the attempts are marked as lost; within a transaction. */
int recover_outputs(struct db *db, const char *scratch_dir, const char *directory, const struct secrets *secrets,
                    struct error *e);
