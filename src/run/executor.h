/* An executor runs attempts: a table of functions with a contract each. The local one (run/local_executor.h) is the
 * first.
 *
 * Order of calls: made by an `executor_create`; then `reattach` at most once; then any number of `start` (while
 * `running` is below the slots), `wait` and cancels; then `free`, legal at any time.
 *
 * Every attempt that was started, or taken over, comes back from `wait` exactly once as an outcome. */
#pragma once

#include "process/supervisor.h"
#include "run/running_attempt.h"
#include "store/attempts.h"

struct executor;
struct executor_methods {
    const char *name;  /* "local": as in attempt.executor */
    bool jobs_survive; /* the end of their runner: asked to end, it leaves them, and the next one takes them over */

    /* Returns whether all that was started has been handed over, so that it survives. NULL: always. */
    bool (*settled)(const struct executor *x);

    /* Takes over what it still knows of: sets `taken` of those whose outcomes `wait` will return, and their `reference`
     * and `directory` where it knows better; the rest is lost. Called before anything is started, outside of
     * transactions. -1: it cannot be known now, and the run does not start. NULL: jobs die with their runner. */
    int (*reattach)(struct executor *x, struct recovered_attempts *left, struct error *e);

    /* Starts one, now or with others in the next `wait`. Cannot fail: what could not be started is an outcome
     * (ENDING_SPAWN_FAILED). The claim is durable by now, so that a crash at any moment leaves an open attempt. Both
     * are borrowed for the length of the call. Returns where it runs, to be recorded as its start; LOCATION_NONE: not
     * on this machine. */
    struct location (*start)(struct executor *x, const struct launch *launch, const struct running_attempt *attempt);

    /* Blocks until an attempt ended, a signal for the runner arrived or `timeout_ms` passed (-1: no limit; 0: only
     * look). Moves at most `room` outcomes to `out`, each the caller's; returns their number. */
    size_t (*wait)(struct executor *x, int64_t timeout_ms, struct outcome *out, size_t room, struct wake *wake);

    /* How many are running: started or taken over, and not returned as an outcome. */
    size_t (*running)(const struct executor *x);

    /* Gives where a running attempt writes now; borrowed until the next call of any method. False when it cannot be
     * known. */
    bool (*files)(const struct executor *x, int64_t attempt, struct attempt_files *out);

    /* Asks one to end, as ENDING_STOPPED; its outcome follows from `wait`. Nothing when it has ended already. */
    void (*stop)(struct executor *x, int64_t attempt);

    /* Asks all to end, as ENDING_CANCELLED; called again, without more patience. */
    void (*cancel_all)(struct executor *x);

    /* Lets go of everything. Jobs that die with their runner are ended first, and waited for. NULL is none. */
    void (*free)(struct executor *x);
};

#define WAITS_UNSUBMITTED "not submitted yet"

/* The first member of every implementation. */
struct executor {
    const struct executor_methods *methods;
};

struct allocation;
struct batch_system;
struct executor_options {
    size_t slots;
    const char *directory;    /* of job files, absolute or relative to the working directory */
    const char *scratch_dir;  /* for what lives as long as an attempt; below `directory` */
    const char *token_prefix; /* runner_token() of run/previous_runner.h */
    const struct sweep *sweep;
    /* See supervisor_options. */
    bool (*first_metric)(void *context, int64_t attempt, const struct attempt_files *files);
    int64_t (*read_on)(void *context, int64_t attempt, const struct attempt_files *files);
    /* To be called, from `wait`, when an attempt has got its reference (NULL: none yet) only after its start, and when
     * it is another reason for which it has not begun (NULL: it has), borrowed for the length of the call. "; " and
     * what to change follow one that never passes by itself. */
    void (*referred)(void *context, int64_t attempt, const char *reference, const char *waits);
    /* To be called, from `wait` or at the creation, with what happened to one of several hosts (a sentence, NULL:
     * nothing that is to be told): whether jobs can be started on it. */
    void (*host_changed)(void *context, const char *host, bool is_up, const char *what);
    void *context;
    char *const *environment; /* the runner's own */
    /* For executors that run within a batch system's allocation. */
    const struct allocation *allocation;
    struct batch_system *system; /* of that which jobs are submitted to */
};
typedef int executor_create(const struct executor_options *options, struct executor **out, struct error *e);
