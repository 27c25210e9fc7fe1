/* The states of jobs and attempts, the events that change them, and what each event does, as two pure tables. Live
 * recording, recovery and the triggers of the database (sql/migrations) follow them; a test walks every cell.
 *
 *   job       pending --claim--> running              attempt   claimed --start--> running
 *             running --release--> pending                      claimed --release--> (removed)
 *             running --succeed--> ok                           claimed --orphan--> (removed)
 *             running --repeat--> pending                       running --succeed--> ok
 *             running --fail--> failed                          running --fail--> failed
 *             running --retry--> pending                        running --orphan--> failed (lost)
 *             failed, ok --reopen--> pending
 *             pending --prune--> pending (its witness is set: it is not claimed)
 *             pending --restore--> pending (its witness is cleared)
 *             running --hold--> pending (why is set: it is not claimed)
 *             pending --let go--> pending (why is cleared)
 *
 * Everything else is illegal, and the database refuses it whoever asks. */
#pragma once

#include "config/sweep.h"

enum job_state { JOB_NONE = 0, JOB_PENDING, JOB_RUNNING, JOB_OK, JOB_FAILED, JOB_STATE_COUNT };

enum job_event {
    JOB_CLAIM = 1, /* an attempt of it was decided */
    JOB_RELEASE,   /* … and was not started */
    JOB_SUCCEED,   /* an attempt was ok, and enough were */
    JOB_REPEAT,    /* an attempt was ok, and more are wanted */
    JOB_FAIL,      /* an attempt failed, and its class allows no more */
    JOB_RETRY,     /* an attempt failed, and its class allows another */
    JOB_REOPEN,    /* asked for again: by the policy, by --retry-failed, by more repeats, or by hand */
    JOB_PRUNE,     /* needs no less device memory than a job that ran out of it */
    JOB_RESTORE,   /* … which is not known any more, or is not to count */
    JOB_HOLD,      /* its host could not run it, or lost it too often: it is not to be started now */
    JOB_LET_GO,    /* … and may be again */
    JOB_EVENT_COUNT
};

/* An action on the columns `failure`, `attempt_id`, `witness_id` and `held`. */
enum job_action {
    JOB_KEEP = 0,
    JOB_SET_RESULT,  /* the attempt represents the job */
    JOB_SET_FAILURE, /* the attempt represents the job, with its failure class */
    JOB_CLEAR_FAILURE,
    JOB_SET_WITNESS,
    JOB_CLEAR_WITNESS,
    JOB_SET_HELD,
    JOB_CLEAR_HELD
};

enum attempt_state {
    ATTEMPT_NONE = 0,
    ATTEMPT_CLAIMED,
    ATTEMPT_RUNNING,
    ATTEMPT_OK,
    ATTEMPT_FAILED,
    ATTEMPT_STATE_COUNT,
    ATTEMPT_REMOVED /* the row is gone */
};

enum attempt_event {
    ATTEMPT_START = 1,
    ATTEMPT_RELEASE, /* given back unstarted */
    ATTEMPT_SUCCEED,
    ATTEMPT_FAIL,
    ATTEMPT_ORPHAN, /* its runner died */
    ATTEMPT_EVENT_COUNT
};

enum attempt_action {
    ATTEMPT_KEEP = 0,
    ATTEMPT_SET_START,
    ATTEMPT_SET_END,
    ATTEMPT_SET_LOST, /* failure class `lost`, ended now */
    ATTEMPT_DELETE,
    ATTEMPT_ACTION_COUNT
};

/* `next` 0: the event is illegal in that state. */
struct job_transition {
    enum job_state next;
    enum job_action action;
};
struct attempt_transition {
    enum attempt_state next;
    enum attempt_action action;
};

struct job_transition job_transition(enum job_state state, enum job_event event);
struct attempt_transition attempt_transition(enum attempt_state state, enum attempt_event event);

/* The name of the state that an event leads to that is legal. */
const char *job_state_after(enum job_state state, enum job_event event);

/* As in the column `state`; [0] is NULL. */
extern const char *const job_state_names[JOB_STATE_COUNT];
extern const char *const attempt_state_names[ATTEMPT_STATE_COUNT];

/* The cause to which a failed attempt is attributed. Only failures that the job may have caused use up its attempts. */
enum blame {
    BLAME_JOB = 0,
    BLAME_RUNNER,     /* its runner died, or the machine that it was on */
    BLAME_NODE,       /* its node failed, or nobody knows of it any more */
    BLAME_PREEMPTION, /* the batch system took its place for another */
    BLAME_HOST,       /* its host could not start it, or keep what it wrote */
    BLAME_COUNT
};

/* As in the column attempt.blame; [BLAME_JOB] is NULL. */
extern const char *const blame_names[BLAME_COUNT];

/* --- retries --- */

/* A class that does not exist is allowed one. */
int64_t retry_allowed(const struct retry_policy *p, const char *failure);

/* SQL: whether a job waits to run, of its columns; `job`: "", or its alias and a dot. */
#define JOB_MAY_RUN(job) job "state = 'pending' AND " job "witness_id IS NULL AND " job "held IS NULL"

/* SQL: whether a pending job may be tried at `now`. `most` is the longest back-off: a clock that was set back makes
 * none wait longer. */
#define RETRY_IS_DUE(now, most) "(due IS NULL OR due <= " now " OR due > " now " + " most ")"

/* How long to wait before the next attempt when `tried` (from 1) have failed so: the first back-off, doubled with each,
 * up to the longest. */
int64_t retry_delay_ms(const struct retry_policy *p, int64_t tried);
