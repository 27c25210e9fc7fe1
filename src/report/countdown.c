#include "report/countdown.h"

#include <stdbool.h>

int64_t countdown_estimate_ms(double each_ms, int64_t pending, int64_t running)
{
    return (int64_t)(each_ms * ((double)pending + ((double)running + 1) / 2) / (double)running);
}

int64_t countdown_left_ms(struct countdown *c, struct work_left now, int64_t now_ms, int64_t (*estimate)(void *context),
                          void *context)
{
    if (c->estimate_ms < 0 || c->last.finished != now.finished || c->last.running != now.running ||
        c->last.pending != now.pending) {
        c->last = now;
        c->estimate_ms = estimate(context);
        c->at_ms = now_ms;
    }
    if (c->estimate_ms < 0)
        return -1;
    int64_t left_ms = c->estimate_ms - (now_ms - c->at_ms);
    return left_ms > 0 ? left_ms : 0;
}
