#include "process/deadline.h"

struct deadline_answer deadline_check(const struct deadline_limits *limits, const struct deadline_state *state,
                                      int64_t now_ms)
{
    const struct {
        enum ending ending;
        int64_t limit_ms, since_ms;
    } rows[] = {
        {ENDING_TIMEOUT, limits->total_ms, state->started_ms},
        {ENDING_STARTUP_TIMEOUT, state->metric_seen ? 0 : limits->startup_ms, state->started_ms},
        {ENDING_IDLE_TIMEOUT, limits->idle_ms, state->active_ms},
    };
    struct deadline_answer answer = {ENDING_NONE, 0, INT64_MAX};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].limit_ms <= 0 || rows[i].limit_ms >= answer.due_ms - rows[i].since_ms)
            continue;
        answer.due_ms = rows[i].since_ms + rows[i].limit_ms;
        answer.fired = rows[i].ending;
        answer.limit_ms = rows[i].limit_ms;
    }
    if (answer.due_ms > now_ms) {
        answer.fired = ENDING_NONE;
        answer.limit_ms = 0;
    }
    return answer;
}

int64_t deadline_tick_ms(const struct deadline_limits *limits, bool metric_seen)
{
    int64_t tick_ms = 1000;
    if (limits->idle_ms > 0)
        tick_ms = limits->idle_ms < 400 ? limits->idle_ms / 8 : 50;
    if (!metric_seen && limits->startup_ms > 0 && limits->startup_ms < 8 * tick_ms)
        tick_ms = limits->startup_ms / 8;
    return tick_ms < 10 ? 10 : tick_ms;
}

int64_t deadline_look_ms(const struct deadline_limits *limits, const struct deadline_state *state, int64_t now_ms)
{
    int64_t tick_ms = deadline_tick_ms(limits, state->metric_seen);
    int64_t due_ms = deadline_check(limits, state, now_ms).due_ms;
    /* At multiples, so that the supervisor wakes up once for all jobs. */
    int64_t next_ms = (now_ms / tick_ms + 1) * tick_ms;
    return due_ms < next_ms ? due_ms : next_ms;
}
