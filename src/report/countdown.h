/* The remaining time of a run, which counts down as time passes. A new estimate is made only when a job ends or starts;
 * made in between, it would rise only to fall again. */
#pragma once

#include <stdint.h>

/* Input of an estimate. */
struct work_left {
    int64_t finished, running, pending; /* jobs */
};

struct countdown {
    struct work_left last; /* at the last estimate */
    int64_t estimate_ms;   /* -1: unknown */
    int64_t at_ms;         /* when it was made */
};

/* Initial state. */
#define COUNTDOWN_INIT ((struct countdown){{-1, 0, 0}, -1, 0})

/* Estimates the time for `pending` and `running` jobs right after one has started. Jobs take `each_ms`, and as many run
 * at a time as now (above 0); the progress of the running ones is assumed to be evenly spread. */
int64_t countdown_estimate_ms(double each_ms, int64_t pending, int64_t running);

/* The time left at `now_ms`, or -1 if unknown. Calls `estimate`, which returns -1 if it does not know, if a job has
 * ended or started since the last estimate, or if the last one was unknown. */
int64_t countdown_left_ms(struct countdown *c, struct work_left now, int64_t now_ms, int64_t (*estimate)(void *context),
                          void *context);
