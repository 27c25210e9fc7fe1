#include "store/states.h"

#include <assert.h>
#include <stddef.h>

#include <string.h>

const char *const job_state_names[JOB_STATE_COUNT] = {
    [JOB_PENDING] = "pending",
    [JOB_RUNNING] = "running",
    [JOB_OK] = "ok",
    [JOB_FAILED] = "failed",
};

const char *const attempt_state_names[ATTEMPT_STATE_COUNT] = {
    [ATTEMPT_CLAIMED] = "claimed",
    [ATTEMPT_RUNNING] = "running",
    [ATTEMPT_OK] = "ok",
    [ATTEMPT_FAILED] = "failed",
};

const char *const blame_names[BLAME_COUNT] = {
    [BLAME_JOB] = NULL,    [BLAME_RUNNER] = "runner", [BLAME_NODE] = "node", [BLAME_PREEMPTION] = "preemption",
    [BLAME_HOST] = "host",
};

static const struct job_transition job_transitions[JOB_STATE_COUNT][JOB_EVENT_COUNT] = {
    [JOB_PENDING] =
        {
            [JOB_CLAIM] = {JOB_RUNNING, JOB_KEEP},
            [JOB_PRUNE] = {JOB_PENDING, JOB_SET_WITNESS},
            [JOB_RESTORE] = {JOB_PENDING, JOB_CLEAR_WITNESS},
            [JOB_LET_GO] = {JOB_PENDING, JOB_CLEAR_HELD},
        },
    [JOB_RUNNING] =
        {
            [JOB_RELEASE] = {JOB_PENDING, JOB_KEEP},
            [JOB_SUCCEED] = {JOB_OK, JOB_SET_RESULT},
            [JOB_REPEAT] = {JOB_PENDING, JOB_SET_RESULT},
            [JOB_FAIL] = {JOB_FAILED, JOB_SET_FAILURE},
            [JOB_RETRY] = {JOB_PENDING, JOB_SET_RESULT},
            [JOB_HOLD] = {JOB_PENDING, JOB_SET_HELD},
        },
    [JOB_OK] =
        {
            [JOB_REOPEN] = {JOB_PENDING, JOB_CLEAR_FAILURE},
        },
    [JOB_FAILED] =
        {
            [JOB_REOPEN] = {JOB_PENDING, JOB_CLEAR_FAILURE},
        },
};

static const struct attempt_transition attempt_transitions[ATTEMPT_STATE_COUNT][ATTEMPT_EVENT_COUNT] = {
    [ATTEMPT_CLAIMED] =
        {
            [ATTEMPT_START] = {ATTEMPT_RUNNING, ATTEMPT_SET_START},
            [ATTEMPT_RELEASE] = {ATTEMPT_REMOVED, ATTEMPT_DELETE},
            [ATTEMPT_ORPHAN] = {ATTEMPT_REMOVED, ATTEMPT_DELETE},
        },
    [ATTEMPT_RUNNING] =
        {
            [ATTEMPT_SUCCEED] = {ATTEMPT_OK, ATTEMPT_SET_END},
            [ATTEMPT_FAIL] = {ATTEMPT_FAILED, ATTEMPT_SET_END},
            [ATTEMPT_ORPHAN] = {ATTEMPT_FAILED, ATTEMPT_SET_LOST},
        },
};

struct job_transition job_transition(enum job_state state, enum job_event event)
{
    assert(state > JOB_NONE && state < JOB_STATE_COUNT && event > 0 && event < JOB_EVENT_COUNT);
    return job_transitions[state][event];
}

struct attempt_transition attempt_transition(enum attempt_state state, enum attempt_event event)
{
    assert(state > ATTEMPT_NONE && state < ATTEMPT_STATE_COUNT && event > 0 && event < ATTEMPT_EVENT_COUNT);
    return attempt_transitions[state][event];
}

const char *job_state_after(enum job_state state, enum job_event event)
{
    struct job_transition t = job_transition(state, event);
    assert(t.next);
    return job_state_names[t.next];
}

/* --- retries --- */

int64_t retry_allowed(const struct retry_policy *p, const char *failure)
{
    const int64_t allowed = p->attempts[failure_by_name(failure)];
    return allowed ? allowed : 1;
}

int64_t retry_delay_ms(const struct retry_policy *p, int64_t tried)
{
    int64_t delay_ms = p->backoff_ms;
    for (int64_t i = 1; i < tried && delay_ms > 0 && delay_ms < p->backoff_max_ms; i++)
        delay_ms = delay_ms > p->backoff_max_ms / 2 ? p->backoff_max_ms : 2 * delay_ms;
    return delay_ms < p->backoff_max_ms ? delay_ms : p->backoff_max_ms;
}
