/* What becomes of a job at Slurm, from everything that is known of it: one pure table.
 *
 * Three witnesses may contradict each other. The result file, which the job itself writes (slurm/result.h), says how
 * its command ended and is there within milliseconds, but only where the node and the file system lived. The queue says
 * what Slurm thinks, late, for some minutes after the end (MinJobAge, 300 s as delivered), and not at all while the
 * controller is down. Accounting remembers for ever, where there is any, and later still. Slurm's exit code is no
 * witness: it is 0:0 after a time-out, a failed node and a cancellation too (seen with 22.05). */
#ifndef MESHSWEEP_SLURM_STATE_H
#define MESHSWEEP_SLURM_STATE_H

#include <stdbool.h>

enum slurm_state {
    SLURM_NONE = 0,
    SLURM_SILENT,  /* the controller does not answer */
    SLURM_ABSENT,  /* it answers, and knows no such job ("Invalid job id specified", or left out of a list) */
    SLURM_REMOVED, /* it knows others of the array, and no longer this one, which it last had pending */
    SLURM_AGAIN,   /* it started it a second time, without success (slurm/script.h): what it says is of that one */
    SLURM_STRANGE, /* a state that this program does not know */
    SLURM_PENDING,
    SLURM_REQUEUED, /* will run again under the same id */
    SLURM_RUNNING,
    SLURM_SUSPENDED,
    SLURM_COMPLETING, /* neither running nor done */
    SLURM_COMPLETED,
    SLURM_FAILED,
    SLURM_TIMEOUT,
    SLURM_OUT_OF_MEMORY,
    SLURM_NODE_FAIL,
    SLURM_PREEMPTED,
    SLURM_CANCELLED,
    SLURM_BOOT_FAIL,
    SLURM_DEADLINE,
    SLURM_STATE_COUNT
};
extern const char *const slurm_state_names[SLURM_STATE_COUNT]; /* "PENDING", "no answer", … */

/* The state with that name as squeue and sacct print it ("CANCELLED by 1000", "OUT_OF_ME+" too): SLURM_STRANGE for any
 * other. */
enum slurm_state slurm_state_by_name(const char *name);

/* Whether a job in that state will not run any more. */
bool slurm_state_is_final(enum slurm_state state);

/* What the job wrote itself. */
enum slurm_result {
    RESULT_NONE = 0,   /* nothing: it has not begun, as far as can be seen */
    RESULT_SILENT,     /* it began, and its heartbeat has stopped */
    RESULT_ALIVE,      /* it began, and its heartbeat continues */
    RESULT_SUCCEEDED,  /* its command exited with 0, of itself */
    RESULT_FAILED,     /* its command ended in any other way */
    RESULT_TERMINATED, /* its command ended after it had been asked to */
    RESULT_COUNT
};

enum slurm_decision {
    SLURM_WAIT = 1,          /* not known yet: look again */
    SLURM_BY_RESULT,         /* it ended as its result file says */
    SLURM_NEVER_RAN,         /* it failed before its command was started */
    SLURM_KILLED,            /* it failed and reported nothing itself */
    SLURM_LIMIT_PASSED,      /* Slurm ended it at its time limit */
    SLURM_DEADLINE_PASSED,   /* Slurm removed it: it could not have ended in time */
    SLURM_MEMORY_EXCEEDED,   /* it used more of the host's memory than it may */
    SLURM_NODE_FAILED,       /* again, elsewhere */
    SLURM_PREEMPTED_BY,      /* again */
    SLURM_CANCELLED_BY_HAND, /* by a person, or by us */
    SLURM_INTERRUPTED,       /* it was ended to be started again, which an attempt never is */
    SLURM_LOST,              /* nobody knows it any more, or nobody has heard of it for too long */
    SLURM_DECISION_COUNT
};

/* `queue`: the queue's word. `accounting`: that of accounting, SLURM_NONE where it was not asked, is not there, or has
 * nothing; it counts where the queue knows nothing. `patience_over`: this same combination has stood for the whole
 * grace period without a break. */
enum slurm_decision slurm_decide(enum slurm_state queue, enum slurm_state accounting, enum slurm_result result,
                                 bool patience_over);

#endif
