/* The decision about a job at a batch system, from everything that is known of it: one pure table.
 *
 * Three witnesses may contradict each other. The result file, which the job itself writes (batch_report), says how
 * its command ended and is there within milliseconds, but only where the node and the file system lived. The queue says
 * what Slurm thinks, late, for some minutes after the end (MinJobAge, 300 s as delivered), and not at all while the
 * controller is down. Accounting remembers for ever, where there is any, and later still. Slurm's exit code is no
 * witness: it is 0:0 after a time-out, a failed node and a cancellation too (seen with 22.05). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum batch_state {
    BATCH_NONE = 0,
    BATCH_SILENT,  /* the controller does not answer */
    BATCH_ABSENT,  /* it answers, and knows no such job ("Invalid job id specified", or left out of a list) */
    BATCH_REMOVED, /* it knows others of the array, and no longer this one, which it last had pending */
    BATCH_AGAIN,   /* it started it a second time, without success (batch/script.h): what it says is of that one */
    BATCH_STRANGE, /* a state that this program does not know */
    BATCH_PENDING,
    BATCH_REQUEUED, /* will run again under the same id */
    BATCH_STARTING, /* handed to a node, where it begins within the grace period or not at all */
    BATCH_RUNNING,
    BATCH_SUSPENDED,
    BATCH_COMPLETING, /* neither running nor done */
    BATCH_COMPLETED,
    BATCH_FAILED,
    BATCH_TIMEOUT,
    BATCH_OUT_OF_MEMORY,
    BATCH_NODE_FAIL,
    BATCH_PREEMPTED,
    BATCH_CANCELLED,
    BATCH_BOOT_FAIL,
    BATCH_DEADLINE,
    BATCH_STATE_COUNT
};
extern const char *const batch_state_names[BATCH_STATE_COUNT]; /* "PENDING", "no answer", … */

/* The state with that name as squeue and sacct print it ("CANCELLED by 1000", "OUT_OF_ME+" too): BATCH_STRANGE for any
 * other. */
enum batch_state batch_state_by_name(const char *name);

/* Returns whether a job in that state will not run any more. */
bool batch_state_is_final(enum batch_state state);

/* The state of what the job wrote itself. */
enum batch_result {
    RESULT_NONE = 0,   /* nothing: it has not begun, as far as can be seen */
    RESULT_SILENT,     /* it began, and its heartbeat has stopped */
    RESULT_ALIVE,      /* it began, and its heartbeat continues */
    RESULT_SUCCEEDED,  /* its command exited with 0, of itself */
    RESULT_FAILED,     /* its command ended in any other way */
    RESULT_TERMINATED, /* its command ended after it had been asked to */
    RESULT_COUNT
};

/* BATCH_id; the ending that it comes to; what an attempt's message says of it after "Slurm job 9_4: STATE" (NULL: it
 * has none); what `check --executor` says. */
#define BATCH_DECISIONS(ROW)                                                                                           \
    /* Not known yet: look again. */                                                                                   \
    ROW(WAIT, ENDING_NONE, NULL, "it is waited for")                                                                   \
    ROW(BY_RESULT, ENDING_NONE, NULL, "it ended as its file says")                                                     \
    /* Before its command was started. */                                                                              \
    ROW(NEVER_RAN, ENDING_SPAWN_FAILED, "", "it never ran")                                                            \
    ROW(KILLED, ENDING_EXITED, "; its batch shell ended before it could report how", "it was killed")                  \
    ROW(LIMIT_PASSED, ENDING_TIMEOUT, "", "it reached its time limit")                                                 \
    /* Slurm removed it: it could not have ended in time. */                                                           \
    ROW(DEADLINE_PASSED, ENDING_TIMEOUT, "; it ran until its deadline", "it reached its deadline")                     \
    /* More of the host's than it may use. */                                                                          \
    ROW(MEMORY_EXCEEDED, ENDING_SIGNALED, NULL, "it used too much memory")                                             \
    ROW(NODE_FAILED, ENDING_LOST, "", "its node failed")                                                               \
    ROW(PREEMPTED_BY, ENDING_LOST, "", "it was preempted")                                                             \
    /* By a person, or by us. */                                                                                       \
    ROW(CANCELLED_BY_HAND, ENDING_ABORTED, "; it was cancelled by someone else", "it was cancelled")                   \
    /* To be started again, which an attempt never is. */                                                              \
    ROW(INTERRUPTED, ENDING_LOST, "; it was stopped to be requeued", "it was interrupted")                             \
    /* Nobody knows it any more, or nobody has heard of it for too long. */                                            \
    ROW(LOST, ENDING_LOST, "; it sent no sign of life for too long", "it is lost")

#define BATCH_DECISION(id, ...) BATCH_##id,
enum batch_decision { BATCH_UNDECIDED = 0, BATCH_DECISIONS(BATCH_DECISION) BATCH_DECISION_COUNT };
#undef BATCH_DECISION

/* `queue`: the queue's word. `accounting`: that of accounting, BATCH_NONE where it was not asked, is not there, or has
 * nothing; it counts where the queue knows nothing. `patience_over`: this same combination has stood for the whole
 * grace period without a break. */
enum batch_decision batch_decide(enum batch_state queue, enum batch_state accounting, enum batch_result result,
                                 bool patience_over);

/* --- the job's report --- */

/* A job's report about itself, in a file that it replaces atomically (batch/script.h writes it). */

struct batch_report {
    int64_t attempt;                     /* whose it is */
    int64_t started_ms, ended_ms;        /* by the node's clock; -1: not known */
    int64_t user_ms, system_ms;          /* of the command and what it waited for; -1: not known */
    int64_t output_bytes, metrics_bytes; /* of the frames that came before it; 0 where files are shared */
    int exit_code;                       /* as the shell has it: 128 + n for signal n */
    bool ended;
    bool terminated; /* it had been asked to end before it did */
    char nodes[256]; /* "" when not known */
    char array[256]; /* the job's id, as the system told it; "" when not known */
};

/* Reads the text of such a file. False when it is none; pure. */
bool batch_report_parse(const char *text, struct batch_report *out);
