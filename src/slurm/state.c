#include "slurm/state.h"

#include <stddef.h>
#include <string.h>

const char *const slurm_state_names[SLURM_STATE_COUNT] = {
    [SLURM_NONE] = "",
    [SLURM_SILENT] = "no answer",
    [SLURM_ABSENT] = "unknown to Slurm",
    [SLURM_REMOVED] = "no longer in its array",
    [SLURM_AGAIN] = "started a second time",
    [SLURM_STRANGE] = "an unknown state",
    [SLURM_PENDING] = "PENDING",
    [SLURM_REQUEUED] = "REQUEUED",
    [SLURM_RUNNING] = "RUNNING",
    [SLURM_SUSPENDED] = "SUSPENDED",
    [SLURM_COMPLETING] = "COMPLETING",
    [SLURM_COMPLETED] = "COMPLETED",
    [SLURM_FAILED] = "FAILED",
    [SLURM_TIMEOUT] = "TIMEOUT",
    [SLURM_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
    [SLURM_NODE_FAIL] = "NODE_FAIL",
    [SLURM_PREEMPTED] = "PREEMPTED",
    [SLURM_CANCELLED] = "CANCELLED",
    [SLURM_BOOT_FAIL] = "BOOT_FAIL",
    [SLURM_DEADLINE] = "DEADLINE",
};

/* Further names, of squeue(1), JOB STATE CODES. */
static const struct {
    const char *name;
    enum slurm_state state;
} synonyms[] = {
    {"CONFIGURING", SLURM_PENDING},  {"POWER_UP_NODE", SLURM_PENDING}, {"RESV_DEL_HOLD", SLURM_PENDING},
    {"REQUEUE_FED", SLURM_REQUEUED}, {"REQUEUE_HOLD", SLURM_REQUEUED}, {"SPECIAL_EXIT", SLURM_REQUEUED},
    {"RESIZING", SLURM_RUNNING},     {"SIGNALING", SLURM_RUNNING},     {"STOPPED", SLURM_SUSPENDED},
    {"STAGE_OUT", SLURM_COMPLETING}, {"LAUNCH_FAILED", SLURM_FAILED},  {"RECONFIG_FAIL", SLURM_NODE_FAIL},
};

/* sacct cuts a name to the width of its column and marks that with "+". */
static bool is_name(const char *word, size_t length, const char *name)
{
    if (length > 1 && word[length - 1] == '+')
        return length - 1 <= strlen(name) && strncmp(word, name, length - 1) == 0;
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

enum slurm_state slurm_state_by_name(const char *name)
{
    size_t length = strcspn(name, " ,");
    for (int s = SLURM_PENDING; s < SLURM_STATE_COUNT; s++)
        if (is_name(name, length, slurm_state_names[s]))
            return (enum slurm_state)s;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (is_name(name, length, synonyms[i].name))
            return synonyms[i].state;
    return SLURM_STRANGE;
}

bool slurm_state_is_final(enum slurm_state state)
{
    return state >= SLURM_COMPLETED;
}

/* The decision at once, and once the same has been seen for the whole grace period. */
struct timed_decision {
    enum slurm_decision now, later;
};

#define WAIT                                                                                                           \
    {                                                                                                                  \
        SLURM_WAIT, SLURM_WAIT                                                                                         \
    }
#define AT_ONCE(decision)                                                                                              \
    {                                                                                                                  \
        (decision), (decision)                                                                                         \
    }
#define THEN(decision)                                                                                                 \
    {                                                                                                                  \
        SLURM_WAIT, (decision)                                                                                         \
    }

/* A command that ended badly waits for Slurm's word, which may say why (the node, the memory, the limit); one that
 * succeeded has nothing to wait for. What Slurm says ended without a result file may have one that is not visible
 * here yet. */
#define STILL_THERE                                                                                                    \
    {                                                                                                                  \
        [RESULT_NONE] = WAIT, [RESULT_SILENT] = WAIT, [RESULT_ALIVE] = WAIT,                                           \
        [RESULT_SUCCEEDED] = AT_ONCE(SLURM_BY_RESULT), [RESULT_FAILED] = THEN(SLURM_BY_RESULT),                        \
        [RESULT_TERMINATED] = THEN(SLURM_BY_RESULT)                                                                    \
    }
/* What wrote something has had its only life: it was requeued, or the controller forgot that it ran. */
#define TO_COME(nothing)                                                                                               \
    {                                                                                                                  \
        [RESULT_NONE] = nothing, [RESULT_SILENT] = THEN(SLURM_INTERRUPTED), [RESULT_ALIVE] = WAIT,                     \
        [RESULT_SUCCEEDED] = AT_ONCE(SLURM_BY_RESULT), [RESULT_FAILED] = THEN(SLURM_BY_RESULT),                        \
        [RESULT_TERMINATED] = THEN(SLURM_INTERRUPTED)                                                                  \
    }
#define FORGOTTEN(nothing)                                                                                             \
    {                                                                                                                  \
        [RESULT_NONE] = THEN(nothing), [RESULT_SILENT] = THEN(SLURM_LOST), [RESULT_ALIVE] = WAIT,                      \
        [RESULT_SUCCEEDED] = AT_ONCE(SLURM_BY_RESULT), [RESULT_FAILED] = THEN(SLURM_BY_RESULT),                        \
        [RESULT_TERMINATED] = THEN(SLURM_BY_RESULT)                                                                    \
    }
#define ENDED(nothing, silent, alive)                                                                                  \
    {                                                                                                                  \
        [RESULT_NONE] = THEN(nothing), [RESULT_SILENT] = THEN(silent), [RESULT_ALIVE] = THEN(alive),                   \
        [RESULT_SUCCEEDED] = AT_ONCE(SLURM_BY_RESULT), [RESULT_FAILED] = AT_ONCE(SLURM_BY_RESULT),                     \
        [RESULT_TERMINATED] = AT_ONCE(SLURM_BY_RESULT)                                                                 \
    }
#define ENDED_BY(decision)                                                                                             \
    {                                                                                                                  \
        [RESULT_NONE] = AT_ONCE(decision), [RESULT_SILENT] = AT_ONCE(decision), [RESULT_ALIVE] = AT_ONCE(decision),    \
        [RESULT_SUCCEEDED] = AT_ONCE(SLURM_BY_RESULT), [RESULT_FAILED] = AT_ONCE(decision),                            \
        [RESULT_TERMINATED] = AT_ONCE(decision)                                                                        \
    }

static const struct timed_decision table[SLURM_STATE_COUNT][RESULT_COUNT] = {
    [SLURM_SILENT] = STILL_THERE,
    [SLURM_STRANGE] = STILL_THERE,
    [SLURM_SUSPENDED] = STILL_THERE,
    [SLURM_COMPLETING] = STILL_THERE,
    [SLURM_PENDING] = TO_COME(WAIT),
    [SLURM_REQUEUED] = TO_COME(WAIT),
    [SLURM_AGAIN] = TO_COME(THEN(SLURM_INTERRUPTED)),
    /* Killed together with Slurm's own daemon on the node a job stays RUNNING for ever; its heartbeat tells. */
    [SLURM_RUNNING] = {[RESULT_NONE] = WAIT,
                       [RESULT_SILENT] = THEN(SLURM_LOST),
                       [RESULT_ALIVE] = WAIT,
                       [RESULT_SUCCEEDED] = AT_ONCE(SLURM_BY_RESULT),
                       [RESULT_FAILED] = THEN(SLURM_BY_RESULT),
                       [RESULT_TERMINATED] = THEN(SLURM_BY_RESULT)},
    [SLURM_ABSENT] = FORGOTTEN(SLURM_LOST),
    /* Slurm keeps no record of a pending task that is cancelled by itself (22.05). */
    [SLURM_REMOVED] = FORGOTTEN(SLURM_CANCELLED_BY_HAND),
    [SLURM_COMPLETED] = ENDED(SLURM_LOST, SLURM_LOST, SLURM_LOST),
    [SLURM_FAILED] = ENDED(SLURM_NEVER_RAN, SLURM_KILLED, SLURM_KILLED),
    [SLURM_TIMEOUT] = ENDED_BY(SLURM_LIMIT_PASSED),
    [SLURM_OUT_OF_MEMORY] = ENDED_BY(SLURM_MEMORY_EXCEEDED),
    [SLURM_NODE_FAIL] = ENDED_BY(SLURM_NODE_FAILED),
    [SLURM_PREEMPTED] = ENDED_BY(SLURM_PREEMPTED_BY),
    [SLURM_CANCELLED] = ENDED_BY(SLURM_CANCELLED_BY_HAND),
    [SLURM_BOOT_FAIL] = ENDED_BY(SLURM_NODE_FAILED),
    [SLURM_DEADLINE] = ENDED_BY(SLURM_DEADLINE_PASSED),
};

enum slurm_decision slurm_decide(enum slurm_state queue, enum slurm_state accounting, enum slurm_result result,
                                 bool patience_over)
{
    bool knows_nothing = queue == SLURM_ABSENT || queue == SLURM_REMOVED || queue == SLURM_SILENT;
    bool ask_accounting = knows_nothing && slurm_state_is_final(accounting);
    const struct timed_decision *cell = &table[ask_accounting ? accounting : queue][result];
    return patience_over ? cell->later : cell->now;
}
