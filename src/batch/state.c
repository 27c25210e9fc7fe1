#include "batch/state.h"
#include "util/memory.h"
#include "util/parse.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const batch_state_names[BATCH_STATE_COUNT] = {
    [BATCH_NONE] = "",
    [BATCH_SILENT] = "no answer",
    [BATCH_ABSENT] = "no longer known",
    [BATCH_REMOVED] = "no longer in its array",
    [BATCH_AGAIN] = "started a second time",
    [BATCH_STRANGE] = "an unknown state",
    [BATCH_PENDING] = "PENDING",
    [BATCH_REQUEUED] = "REQUEUED",
    [BATCH_STARTING] = "STARTING",
    [BATCH_RUNNING] = "RUNNING",
    [BATCH_SUSPENDED] = "SUSPENDED",
    [BATCH_COMPLETING] = "COMPLETING",
    [BATCH_COMPLETED] = "COMPLETED",
    [BATCH_FAILED] = "FAILED",
    [BATCH_TIMEOUT] = "TIMEOUT",
    [BATCH_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
    [BATCH_NODE_FAIL] = "NODE_FAIL",
    [BATCH_PREEMPTED] = "PREEMPTED",
    [BATCH_CANCELLED] = "CANCELLED",
    [BATCH_BOOT_FAIL] = "BOOT_FAIL",
    [BATCH_DEADLINE] = "DEADLINE",
};

/* sacct cuts a name to the width of its column and marks that with "+". */
static bool is_name(const char *word, size_t length, const char *name)
{
    if (length > 1 && word[length - 1] == '+')
        return length - 1 <= strlen(name) && strncmp(word, name, length - 1) == 0;
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

enum batch_state batch_state_by_name(const char *name)
{
    size_t length = strcspn(name, " ,");
    for (int s = BATCH_PENDING; s < BATCH_STATE_COUNT; s++)
        if (is_name(name, length, batch_state_names[s]))
            return (enum batch_state)s;
    return BATCH_STRANGE;
}

bool batch_state_is_final(enum batch_state state)
{
    return state >= BATCH_COMPLETED;
}

/* The decision at once, and once the same has been seen for the whole grace period. */
struct timed_decision {
    enum batch_decision now, later;
};

#define WAIT                                                                                                           \
    {                                                                                                                  \
        BATCH_WAIT, BATCH_WAIT                                                                                         \
    }
#define AT_ONCE(decision)                                                                                              \
    {                                                                                                                  \
        (decision), (decision)                                                                                         \
    }
#define THEN(decision)                                                                                                 \
    {                                                                                                                  \
        BATCH_WAIT, (decision)                                                                                         \
    }

/* A command that ended badly waits for Slurm's word, which may say why (the node, the memory, the limit); one that
 * succeeded has nothing to wait for. What Slurm says ended without a result file may have one that is not visible
 * here yet. */
#define STILL_THERE                                                                                                    \
    {                                                                                                                  \
        [RESULT_NONE] = WAIT, [RESULT_SILENT] = WAIT, [RESULT_ALIVE] = WAIT,                                           \
        [RESULT_SUCCEEDED] = AT_ONCE(BATCH_BY_RESULT), [RESULT_FAILED] = THEN(BATCH_BY_RESULT),                        \
        [RESULT_TERMINATED] = THEN(BATCH_BY_RESULT)                                                                    \
    }
/* A job that wrote something has had its only life: it was requeued, or the controller forgot that it ran. */
#define TO_COME(nothing)                                                                                               \
    {                                                                                                                  \
        [RESULT_NONE] = nothing, [RESULT_SILENT] = THEN(BATCH_INTERRUPTED), [RESULT_ALIVE] = WAIT,                     \
        [RESULT_SUCCEEDED] = AT_ONCE(BATCH_BY_RESULT), [RESULT_FAILED] = THEN(BATCH_BY_RESULT),                        \
        [RESULT_TERMINATED] = THEN(BATCH_INTERRUPTED)                                                                  \
    }
#define FORGOTTEN(nothing)                                                                                             \
    {                                                                                                                  \
        [RESULT_NONE] = THEN(nothing), [RESULT_SILENT] = THEN(BATCH_LOST), [RESULT_ALIVE] = WAIT,                      \
        [RESULT_SUCCEEDED] = AT_ONCE(BATCH_BY_RESULT), [RESULT_FAILED] = THEN(BATCH_BY_RESULT),                        \
        [RESULT_TERMINATED] = THEN(BATCH_BY_RESULT)                                                                    \
    }
#define ENDED(nothing, silent, alive)                                                                                  \
    {                                                                                                                  \
        [RESULT_NONE] = THEN(nothing), [RESULT_SILENT] = THEN(silent), [RESULT_ALIVE] = THEN(alive),                   \
        [RESULT_SUCCEEDED] = AT_ONCE(BATCH_BY_RESULT), [RESULT_FAILED] = AT_ONCE(BATCH_BY_RESULT),                     \
        [RESULT_TERMINATED] = AT_ONCE(BATCH_BY_RESULT)                                                                 \
    }
#define ENDED_BY(decision)                                                                                             \
    {                                                                                                                  \
        [RESULT_NONE] = AT_ONCE(decision), [RESULT_SILENT] = AT_ONCE(decision), [RESULT_ALIVE] = AT_ONCE(decision),    \
        [RESULT_SUCCEEDED] = AT_ONCE(BATCH_BY_RESULT), [RESULT_FAILED] = AT_ONCE(decision),                            \
        [RESULT_TERMINATED] = AT_ONCE(decision)                                                                        \
    }

static const struct timed_decision table[BATCH_STATE_COUNT][RESULT_COUNT] = {
    [BATCH_SILENT] = STILL_THERE,
    [BATCH_STRANGE] = STILL_THERE,
    [BATCH_SUSPENDED] = STILL_THERE,
    [BATCH_COMPLETING] = STILL_THERE,
    [BATCH_PENDING] = TO_COME(WAIT),
    [BATCH_REQUEUED] = TO_COME(WAIT),
    [BATCH_AGAIN] = TO_COME(THEN(BATCH_INTERRUPTED)),
    /* Killed together with Slurm's own daemon on the node a job stays RUNNING for ever; its heartbeat tells. */
    [BATCH_RUNNING] = {[RESULT_NONE] = WAIT,
                       [RESULT_SILENT] = THEN(BATCH_LOST),
                       [RESULT_ALIVE] = WAIT,
                       [RESULT_SUCCEEDED] = AT_ONCE(BATCH_BY_RESULT),
                       [RESULT_FAILED] = THEN(BATCH_BY_RESULT),
                       [RESULT_TERMINATED] = THEN(BATCH_BY_RESULT)},
    [BATCH_ABSENT] = FORGOTTEN(BATCH_LOST),
    [BATCH_STARTING] = FORGOTTEN(BATCH_LOST),
    /* Slurm keeps no record of a pending task that is cancelled by itself (22.05). */
    [BATCH_REMOVED] = FORGOTTEN(BATCH_CANCELLED_BY_HAND),
    [BATCH_COMPLETED] = ENDED(BATCH_LOST, BATCH_LOST, BATCH_LOST),
    [BATCH_FAILED] = ENDED(BATCH_NEVER_RAN, BATCH_KILLED, BATCH_KILLED),
    [BATCH_TIMEOUT] = ENDED_BY(BATCH_LIMIT_PASSED),
    [BATCH_OUT_OF_MEMORY] = ENDED_BY(BATCH_MEMORY_EXCEEDED),
    [BATCH_NODE_FAIL] = ENDED_BY(BATCH_NODE_FAILED),
    [BATCH_PREEMPTED] = ENDED_BY(BATCH_PREEMPTED_BY),
    [BATCH_CANCELLED] = ENDED_BY(BATCH_CANCELLED_BY_HAND),
    [BATCH_BOOT_FAIL] = ENDED_BY(BATCH_NODE_FAILED),
    [BATCH_DEADLINE] = ENDED_BY(BATCH_DEADLINE_PASSED),
};

enum batch_decision batch_decide(enum batch_state queue, enum batch_state accounting, enum batch_result result,
                                 bool patience_over)
{
    bool knows_nothing = queue == BATCH_ABSENT || queue == BATCH_REMOVED || queue == BATCH_SILENT;
    bool ask_accounting = knows_nothing && batch_state_is_final(accounting);
    const struct timed_decision *cell = &table[ask_accounting ? accounting : queue][result];
    return patience_over ? cell->later : cell->now;
}

/* --- the job's report --- */

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"attempt", offsetof(struct batch_report, attempt)},       {"started", offsetof(struct batch_report, started_ms)},
    {"ended", offsetof(struct batch_report, ended_ms)},        {"output", offsetof(struct batch_report, output_bytes)},
    {"metrics", offsetof(struct batch_report, metrics_bytes)},
};

static void take_line(const char *line, struct batch_report *r)
{
    const char *value = strchr(line, '=');
    int64_t user, system_time;
    if (!value) {
        /* Two lines: the shell's, then its children's; the last one stays. */
        if ((user = parse_shell_time(&line)) >= 0 && *line == ' ' &&
            (line++, system_time = parse_shell_time(&line)) >= 0) {
            r->user_ms = user;
            r->system_ms = system_time;
        }
        return;
    }
    size_t length = (size_t)(value++ - line);
    int64_t n;
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (strlen(numbers[i].name) == length && strncmp(line, numbers[i].name, length) == 0 && parse_int64(value, &n))
            memcpy((char *)r + numbers[i].offset, &n, sizeof n);
    if (length == 4 && strncmp(line, "exit", 4) == 0 && parse_int64(value, &n) && n >= 0 && n <= 255)
        r->exit_code = (int)n;
    if (length == 5 && strncmp(line, "nodes", 5) == 0)
        snprintf(r->nodes, sizeof r->nodes, "%s", value);
    if (length == 5 && strncmp(line, "array", 5) == 0)
        snprintf(r->array, sizeof r->array, "%s", value);
    r->ended |= strcmp(line, "state=ended") == 0;
    r->terminated |= strcmp(line, "terminated=1") == 0;
}

bool batch_report_parse(const char *text, struct batch_report *out)
{
    struct batch_report r =
        {.attempt = -1, .started_ms = -1, .ended_ms = -1, .user_ms = -1, .system_ms = -1, .exit_code = -1};
    char *copy = xstrdup(text), *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(line, &r);
    free(copy);
    /* An end without an exit code is none: the rest of the file is missing. */
    if (r.attempt < 0 || (r.ended && r.exit_code < 0))
        return false;
    *out = r;
    return true;
}
