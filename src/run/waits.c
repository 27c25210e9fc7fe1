#include "run/waits.h"

#include <stdio.h>

#include "util/clock.h"
#include "util/parse.h"

#define TELL_WAITS_OF_MS 3000
#define TELL_LOCK_AFTER_MS 10000

void waits_tell_due(struct waits *w, int64_t due_ms, const struct runner_options *o)
{
    char duration[32], text[128];
    int64_t left_ms = due_ms - clock_wall_ms();
    if (w->told_due_ms == due_ms || left_ms < TELL_WAITS_OF_MS || !o->on_notice)
        return;
    w->told_due_ms = due_ms;
    snprintf(text, sizeof text, "nothing else is due: a job that failed is tried again in %s",
             format_duration_ms(left_ms, duration, sizeof duration));
    o->on_notice(o->context, text);
}

int waits_note_lock(struct waits *w, bool is_ending, const struct runner_options *o, struct error *e)
{
    int64_t now_ms = clock_monotonic_ms();
    w->locked_ms = w->locked_ms ? w->locked_ms : now_ms;
    bool is_long = now_ms - w->locked_ms >= TELL_LOCK_AFTER_MS;
    if (is_long && is_ending)
        return error_set(e, ERROR_FAILED, "another program holds the database locked; close it and start again");
    if (is_long && !w->told_lock && o->on_notice)
        o->on_notice(o->context,
                     "another program holds the database locked; until it lets go nothing is started or recorded");
    w->told_lock |= is_long;
    return 0;
}

void waits_note_unlocked(struct waits *w)
{
    w->locked_ms = 0;
    w->told_lock = false;
}
