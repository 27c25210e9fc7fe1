/* How an attempt may end, and whether it has used up its time. Pure: the caller passes time and observations. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How a process came to end: of itself, by one of its limits, or otherwise. */
enum ending {
    ENDING_NONE = 0,
    ENDING_EXITED,       /* of itself: exit_code */
    ENDING_SIGNALED,     /* by a signal that we did not send: signal_number */
    ENDING_SPAWN_FAILED, /* never ran: error_number says why (ENOENT: no such program, …) and spawn_stage what failed */
    ENDING_TIMEOUT,      /* timeout_ms passed */
    ENDING_IDLE_TIMEOUT,    /* idle_timeout_ms passed */
    ENDING_STARTUP_TIMEOUT, /* startup_timeout_ms passed */
    ENDING_CANCELLED,       /* supervisor_cancel_all */
    ENDING_STOPPED,         /* supervisor_stop: its source wants no more of it */
    ENDING_LOST,            /* its machine failed, or nobody knows any more: no fault of its own */
    ENDING_ABORTED,         /* cancelled past this program, by a person */
};

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
    enum ending fired; /* by the limit that was due first */
    int64_t limit_ms;  /* its length; 0 when none fired */
    int64_t due_ms;    /* the earliest moment at which one can fire; INT64_MAX when there is none */
};

struct deadline_answer deadline_check(const struct deadline_limits *limits, const struct deadline_state *state,
                                      int64_t now_ms);

/* How often to look for activity and for the first metric. Silence counts from the look that saw the last output, so
 * that its limit fires at most so much late: an eighth of it, at least 10 and at most 50 ms. Else an eighth of the
 * limit for the first metric, at most 1 s. */
int64_t deadline_tick_ms(const struct deadline_limits *limits, bool metric_seen);

/* When to look next. */
int64_t deadline_look_ms(const struct deadline_limits *limits, const struct deadline_state *state, int64_t now_ms);
