/* A deadline says whether an attempt has used up its time. Pure: the caller passes the time and the observations. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum deadline { DEADLINE_NONE = 0, DEADLINE_TOTAL, DEADLINE_IDLE, DEADLINE_STARTUP };

/* Milliseconds; 0: no such limit. */
struct deadline_limits {
    int64_t total_ms, idle_ms, startup_ms;
};

/* All on one clock. */
struct deadline_state {
    int64_t started_ms;
    int64_t active_ms; /* when activity was last seen; at first the start */
    bool metric_seen;
};

struct deadline_answer {
    enum deadline fired; /* the one that was due first */
    int64_t limit_ms;    /* its length; 0 when none fired */
    int64_t due_ms;      /* the earliest moment at which one can fire; INT64_MAX when there is none */
};

struct deadline_answer deadline_check(const struct deadline_limits *limits, const struct deadline_state *state,
                                      int64_t now_ms);

/* How often to look for activity and for the first metric. Silence counts from the look that saw the last output, so
 * that its limit fires at most so much late: an eighth of it, at least 10 and at most 50 ms. Else an eighth of the
 * limit for the first metric, at most 1 s. */
int64_t deadline_tick_ms(const struct deadline_limits *limits, bool metric_seen);

/* When to look next. */
int64_t deadline_look_ms(const struct deadline_limits *limits, const struct deadline_state *state, int64_t now_ms);
