/* The time that is left of a run, which goes down as time does: an estimate is made when a job ends or starts, and not
 * while nothing happens, where it would rise only to fall again. */
#ifndef MESHSWEEP_REPORT_COUNTDOWN_H
#define MESHSWEEP_REPORT_COUNTDOWN_H

#include <stdint.h>

/* What an estimate rests on. */
struct work_left {
    int64_t finished, running, pending; /* jobs */
};

struct countdown {
    struct work_left last; /* at the last estimate */
    int64_t estimate_ms;   /* -1: unknown */
    int64_t at_ms;         /* when it was made */
};

/* For a countdown that has seen nothing yet. */
#define COUNTDOWN_INIT                                                                                                 \
    {                                                                                                                  \
        {-1, 0, 0}, -1, 0                                                                                              \
    }

/* How long `pending` and `running` jobs take, `each_ms` long and as many at a time as run now (above 0), right after
 * one has started: those that run are spread evenly over their time. */
int64_t countdown_estimate_ms(double each_ms, int64_t pending, int64_t running);

/* Time left at `now_ms`. `estimate` is asked where it is due: something has ended or started, or nothing was known; it
 * returns -1 for unknown. The answer never falls below 0. */
int64_t countdown_left_ms(struct countdown *c, struct work_left now, int64_t now_ms, int64_t (*estimate)(void *context),
                          void *context);

#endif
