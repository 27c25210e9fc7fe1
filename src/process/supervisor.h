/* The local executor: starts processes, watches their deadlines, ends whole trees, and says what became of each.
 *
 * Order of calls: supervisor_create; then any number of supervisor_start (at most `slots` running) and
 * supervisor_wait; then supervisor_free, legal at any time: it ends everything still running first.
 *
 * Every child gets its own session, standard input from /dev/null, standard output and error in one log file (and
 * where it is asked for each in one of its own, too),
 * an environment made afresh, default signal handling, PR_SET_PDEATHSIG and only descriptors 0 to 2. The runner is a
 * subreaper, so descendants that detach come back to it; the environment token (`MESHSWEEP_ATTEMPT`) says whose they
 * are. A signal is sent only to a process whose pid and start time have been checked (pidfd, where it is to be had).
 *
 * Trivial jobs must stay cheap (over 2,000 a second at two running): vfork, one log file per slot that is reused
 * while nothing was written to it, no directory unless asked for, no scan of /proc for a job whose process group is
 * empty at its end, save one every 200 ms for what escaped from its session. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "process/deadline.h"
#include "util/error.h"

struct supervisor;

/* A job to start. All borrowed for the length of supervisor_start. */
struct launch {
    int64_t attempt;          /* attempt id: comes back in the outcome, and is the environment token's value */
    char *const *argv;        /* NULL-terminated; argv[0] is looked up in the PATH of `environment` */
    char *const *environment; /* NULL-terminated NAME=value: complete but for what the supervisor adds:
                                 MESHSWEEP_METRICS (where metrics may be written), MESHSWEEP_ATTEMPT */
    char *const *declared;    /* of these, what the user's [job] env says: NULL-terminated, NULL: nothing */
    const char *directory;    /* working directory; NULL: the runner's */
    const char *job_dir;      /* directory that will hold the attempt's files: <job_dir>/output.log, metrics.jsonl.
                                 Made (0700) before the start when make_job_dir, else only when there is something
                                 to keep */
    bool make_job_dir;
    const char *not_prepared;   /* why its files could not be made, a sentence: it is not started; NULL: all is there */
    int64_t timeout_ms;         /* from start to end; 0: none. These three and grace count on the monotonic clock */
    int64_t idle_timeout_ms;    /* without output and without a write to the metrics file (noticed at most an eighth of
                                   it, or 50 ms, late); 0: none */
    int64_t startup_timeout_ms; /* from start to the first metric (see first_metric); 0: none */
    int64_t grace_ms;           /* from TERM to KILL */
};

/* Identity of a process that survives pid reuse, for the database. */
struct process_identity {
    int64_t pid;
    int64_t start_ticks; /* field 22 of /proc/PID/stat */
};

/* The place on this machine where an attempt runs. */
struct location {
    int64_t slot;                    /* -1: none */
    struct process_identity process; /* pid 0: none */
};

#define LOCATION_NONE ((struct location){-1, {0, 0}})

struct outcome {
    int64_t attempt;
    enum ending ending;
    int exit_code;     /* -1 when a signal ended it or it never ran */
    int signal_number; /* of the leader, whoever sent it; 0 when none */
    bool core_dumped;
    int error_number;        /* ENDING_SPAWN_FAILED */
    const char *spawn_stage; /* ENDING_SPAWN_FAILED: "exec", "chdir", "fork", "log", "job files"; static */
    char *spawn_subject;     /* the program of an "exec", the directory of a "chdir"; else NULL; the caller's */
    int64_t limit_ms;        /* the limit that fired; 0 when none */
    int64_t started_wall_ms, ended_wall_ms, duration_ms;
    bool has_usage;      /* whether anybody told: */
    struct rusage usage; /* of the leader and what it waited for; a host that counts in ticks may tell no time at all */
    int64_t unwatched_ms; /* of duration_ms, at which this process stood still (clock_still_us) and the leader may have
                             ended already, or stood still as well */
    int leftover_count;   /* descendants still alive 100 ms after the leader's end (or the grace period), and ended */
    bool preempted;       /* ENDING_LOST: the batch system gave its place to another */
    bool refused;         /* ENDING_SPAWN_FAILED: the batch system takes none such, or its node sees no files of ours */
    bool host_oom; /* the kernel's OOM killer ended something meanwhile (its own count says so) and this one was killed,
                            or failed with nothing else running */
    char *log_path;        /* the caller's; NULL when nothing was written */
    int64_t log_bytes;     /* as written by the job */
    int64_t log_cap_bytes; /* to which log_cap_compact is to cut it, once it has been read; 0: it is not that long */
    char *metrics_path;    /* the caller's; NULL when the job wrote none */
    int log_error;         /* errno where the log could not be kept; 0: it was */
    bool directory_moved; /* its own directory was removed, moved or replaced: what it wrote there is not to be found */
    bool disk_full;       /* of log and metrics, which may have been cut off there */
    int64_t device_bytes; /* the most that was seen in use on one of its devices; below 1: not seen */
    /* Executors that know better than the runner fill these; the caller's, NULL when there is none. */
    char *note;      /* what became of it, for people */
    char *reference; /* their name for it */
    char *host;      /* where it ran */
};

#define OUTCOME_INIT ((struct outcome){0})
void outcome_free(struct outcome *o);

/* The files to which a running attempt writes; borrowed. */
struct attempt_files {
    int log_fd; /* the log, open, whatever has become of its name; -1: only its name is known */
    const char *log_path, *metrics_path;
};

struct supervisor_options {
    size_t slots;
    const char *scratch_dir;  /* slot files live here (made, 0700); same file system as the job directories */
    const char *token_prefix; /* runner_token() of run/previous_runner.h: MESHSWEEP_ATTEMPT is "<prefix>:<attempt>" */
    /* Tells whether the log text so far, as far as it was read, holds a first metric; NULL: the metrics file alone
     * counts. Called only for attempts with a startup timeout. Neither this nor the next may block. */
    bool (*first_metric)(void *context, int64_t attempt, const struct attempt_files *files);
    /* Has a log read on that outgrows a quarter of its bound, and tells how many bytes of it have been read and may be
     * given back to the file system. NULL: all that there are. */
    int64_t (*read_on)(void *context, int64_t attempt, const struct attempt_files *files);
    void *context;
    /* Asks an attempt to end in place of TERM to its tree; false: it did not. NULL: none. What is left after the grace
     * period is killed all the same. */
    bool (*terminate)(void *context, int64_t attempt);
    void *terminate_context;
    int64_t log_cap_bytes; /* a larger log keeps its head and tail, around a line that states the cut; 0: 64 MiB */
    bool separate_streams; /* attempts with make_job_dir get stdout.log and stderr.log, too (process/capture.h) */
};

/* Blocks SIGCHLD, SIGINT, SIGTERM and SIGHUP (of the last three those that were not ignored: nohup is heeded), ignores
 * SIGPIPE and becomes a subreaper; supervisor_free undoes all three. Call it before any thread is made (they inherit
 * the mask). While one exists, nobody else in the program may wait for children of its own in another thread, or change
 * what a signal does. All calls come from one thread, at whose death the jobs are killed (PR_SET_PDEATHSIG). Fails when
 * the scratch directory cannot be made or the slots need more open files than are allowed. */
int supervisor_create(const struct supervisor_options *options, struct supervisor **out, struct error *e);
void supervisor_free(struct supervisor *s);

/* Starts one. A process that cannot be started is not an error: it comes back as an outcome (ENDING_SPAWN_FAILED).
 * Asserts that a slot is free. */
struct location supervisor_start(struct supervisor *s, const struct launch *launch);

size_t supervisor_running(const struct supervisor *s);

/* The slot (from 0) on which a running attempt runs, -1 when it is not running. */
int supervisor_slot(const struct supervisor *s, int64_t attempt);

/* The reasons other than outcomes for which a wait ended. */
enum {
    WAKE_INTERRUPT = 1, /* SIGINT arrived (once per signal) */
    WAKE_TERMINATE = 2, /* SIGTERM or SIGHUP arrived */
    WAKE_OUTPUT = 4,    /* there is output that read_on has not read */
};
struct wake {
    int bits;   /* WAKE_ */
    int signal; /* the last one that asked the runner to stop; 0: none */
};

/* Blocks until an attempt ended, a signal for the runner arrived or `timeout_ms` passed (-1: no limit; 0: only look).
 * Moves at most `room` outcomes to `out`, each the caller's; returns their number; `*wake` says what woke it. */
size_t supervisor_wait(struct supervisor *s, int64_t timeout_ms, struct outcome *out, size_t room, struct wake *wake);

/* TERM (then KILL after each one's grace) to everything running; outcomes follow from supervisor_wait. Called
 * again, what is still there is killed at once. */
void supervisor_cancel_all(struct supervisor *s);

/* The same to one attempt; nothing when it is not running or has ended. */
void supervisor_stop(struct supervisor *s, int64_t attempt);

/* Gives where a running attempt writes; borrowed until the next call. False when it is not running. */
bool supervisor_files(const struct supervisor *s, int64_t attempt, struct attempt_files *out);

/* --- for recovery: processes that a dead runner left --- */

/* Ends (TERM, `grace_ms`, KILL, verified) every process whose environment holds MESHSWEEP_ATTEMPT=<token_prefix>:… or
 * that bears that token's mark (process/process.h) or is in a group of it (process/cgroup.h), and what descends
 * from one: all of a database, or of one of its runners. Never touches the caller or its ancestors.
 * Returns how many were found, -1 when some would not go. */
int supervisor_end_escaped(const char *token_prefix, int64_t grace_ms, struct error *e);

/* How many supervisor_end_escaped would end now. */
size_t supervisor_count_escaped(const char *token_prefix);

/* While a supervisor exists: what of this machine keeps it from finding all that a job starts, a sentence; NULL:
 * nothing does. Static. */
const char *supervisor_lacks(void);

/* The machine's boot id ("" where there is none), for the database. */
char *boot_id_read(char out[64]);

/* --- The owners of the slots' logs, on disk, for the next runner if this one dies --- */

/* A file in the scratch directory says whose the slots' logs are: the attempt ids of the slots in order, 64 bits each.
 * Returns a descriptor to write it with, the caller's; -1 when it cannot be made (then nothing can be saved later). */
int slot_owners_open(const char *scratch_dir);

/* Notes that the slot's log is this attempt's. Survives a kill; costs a microsecond. `fd` may be -1. */
void slot_owner_set(int fd, size_t slot, int64_t attempt);

/* The slot whose log is the attempt's, -1 when none is. For after a death, before the file is begun anew. */
int slot_of_attempt(const char *scratch_dir, int64_t attempt);
