#include "run/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

#define NOTIFIED_WAIT_MS 3000
#define NOTIFIED_LOCK_MS 10000

void waits_notify_due(struct waits *w, int64_t due_ms, const struct runner_options *o)
{
    char duration[32], text[128];
    int64_t left_ms = due_ms - clock_wall_ms();
    if (w->notified_due_ms == due_ms || left_ms < NOTIFIED_WAIT_MS || !o->on_notice)
        return;
    w->notified_due_ms = due_ms;
    snprintf(text, sizeof text, "nothing else is due: a job that failed is tried again in %s",
             format_duration_ms(left_ms, duration, sizeof duration));
    o->on_notice(o->context, text);
}

/* Takes `text`. */
static void tell(const struct runner_options *o, char *text)
{
    if (o->on_notice)
        o->on_notice(o->context, text);
    free(text);
}

void waits_notify_aside(int64_t jobs, const struct runner_options *o)
{
    if (jobs > 0)
        tell(o, xasprintf("%lld %s running at each of the last deaths of the runner, and %s after all others "
                          "(run --release: in turn again)",
                          (long long)jobs, jobs == 1 ? "job was" : "jobs were", jobs == 1 ? "runs" : "run"));
}

void waits_notify_paused(const char *why, int64_t give_up_ms, const struct runner_options *o)
{
    char duration[32];
    tell(o,
         xasprintf("paused: the host cannot run jobs: %s; nothing has failed, it is tried again now and then, for %s",
                   why, format_duration_ms(give_up_ms, duration, sizeof duration)));
}

void waits_notify_resumed(int64_t after_ms, const struct runner_options *o)
{
    char duration[32];
    tell(o, xasprintf("jobs can be run again, after %s", format_duration_ms(after_ms, duration, sizeof duration)));
}

void waits_notify_given_up(const struct host_watch *w, const struct runner_options *o)
{
    tell(o, xasprintf("given up: the host cannot run jobs: %s; what is left stays pending, and the next run goes on",
                      w->why));
}

static char *release_path(const char *directory)
{
    return xasprintf("%s/release", directory);
}

bool waits_release_asked(const char *directory)
{
    char *path = release_path(directory);
    bool asked = unlink(path) == 0;
    free(path);
    return asked;
}

int waits_ask_release(const char *directory, struct error *e)
{
    char *path = release_path(directory);
    int rc = file_write_atomic(path, "", 0, e);
    free(path);
    return rc;
}

int waits_note_lock(struct waits *w, bool is_ending, const struct runner_options *o, struct error *e)
{
    int64_t now_ms = clock_monotonic_ms();
    w->locked_ms = w->locked_ms ? w->locked_ms : now_ms;
    bool is_long = now_ms - w->locked_ms >= NOTIFIED_LOCK_MS;
    if (is_long && is_ending)
        return error_set(e, ERROR_FAILED, "another program holds the database locked; close it and start again");
    if (is_long && !w->notified_lock && o->on_notice)
        o->on_notice(o->context,
                     "another program holds the database locked; until it lets go nothing is started or recorded");
    w->notified_lock |= is_long;
    return 0;
}

void waits_note_unlocked(struct waits *w)
{
    w->locked_ms = 0;
    w->notified_lock = false;
}
