/* Parses the output of squeue and sacct and the completion log. Pure; safe for any text (see
 * tests/fuzz). */
#ifndef MESHSWEEP_BATCH_TEXT_H
#define MESHSWEEP_BATCH_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "batch/state.h"

/* squeue -h -r -o BATCH_QUEUE_FORMAT; the comment, which may hold anything, comes last. */
#define BATCH_QUEUE_FORMAT "%F|%K|%T|%r|%N|%k"
/* sacct -n -P -X -o BATCH_ACCOUNT_FORMAT */
#define BATCH_ACCOUNT_FORMAT "JobID,State,ExitCode,NodeList"

/* One job, or the tasks first … last of an array. Borrowed for the length of the call. */
struct batch_entry {
    int64_t job;         /* of an array: the array's */
    int64_t first, last; /* -1: no array */
    enum batch_state state;
    int exit_code, signal_number;         /* -1: not known */
    const char *reason, *nodes, *comment; /* "" where there is none */
};
typedef void batch_entry_function(void *context, const struct batch_entry *entry);

/* Calls `each` for every job of a listing in BATCH_QUEUE_FORMAT or of `squeue --json` (as of Slurm 22.05, and with the
 * wrapped numbers and lists of states of later ones). Returns the number of lines or objects that were none: they are
 * left out; -1 when the whole is not a listing. */
int batch_queue_parse(const char *text, batch_entry_function *each, void *context);

/* The same for sacct. */
int batch_account_parse(const char *text, batch_entry_function *each, void *context);

/* The same for lines of jobcomp/filetxt (slurm.conf(5)), those of one user: names of jobs may hold anything, other
 * users' too. Only tasks of arrays are listed. */
int batch_completion_parse(const char *text, int64_t user, batch_entry_function *each, void *context);

/* Where that is, from `scontrol show config`: the caller's; NULL where it is not kept. */
char *batch_completion_path(const char *text);

/* "ExitCode=7:0" of `scontrol show job`: exit code and signal. False, and nothing set, when it is missing. */
bool batch_exit_parse(const char *text, int *exit_code, int *signal_number);

/* What `sbatch --parsable` printed: "123" or "123;cluster". -1 when it is none. */
int64_t batch_submitted_id(const char *text);

/* What a refusal by sbatch, or a question that failed, means. */
enum batch_refusal {
    REFUSAL_FINAL = 0, /* it will not do: wrong partition, more than any node has, … */
    REFUSAL_LIMIT,     /* too many jobs just now: again later, with fewer */
    REFUSAL_POLICY,    /* a limit that it names and that is none on their number: what is asked for may never be met */
    REFUSAL_UNKNOWN,   /* no answer: it may have been taken or not */
};
enum batch_refusal batch_refusal_of(const char *errors);

/* What to change where a pending job's reason (squeue's %r) does not pass by itself; NULL: it may. */
const char *batch_reason_change(const char *reason);

/* The sentences that name the cause, of all that sbatch says: "sbatch: a; b". The caller's. */
char *batch_refusal_text(const char *errors);

/* Minutes for --time: what the job may take, the grace that it gets and a margin for the nodes' preparation; Slurm
 * counts whole minutes. 0 when `limit_ms` is 0: none is asked for. */
int64_t batch_time_minutes(int64_t limit_ms, int64_t grace_ms, int64_t margin_ms);

#endif
