#include "run/waits.h"

#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

#define NOTIFIED_WAIT_MS 3000
#define NOTIFIED_LOCK_MS 10000

void waits_notify_due(struct waits *w, int64_t due_ms, const struct runner_options *o)
{
    char duration[32];
    int64_t left_ms = due_ms - clock_wall_ms();
    if (w->notified_due_ms == due_ms || left_ms < NOTIFIED_WAIT_MS)
        return;
    w->notified_due_ms = due_ms;
    runner_tell(o, "nothing else to run now; a failed job is retried in %s",
                format_duration_ms(left_ms, duration, sizeof duration));
}

static char *release_path(const char *directory)
{
    return xasprintf("%s/release", directory);
}

bool waits_release_asked(const char *directory)
{
    OWNED char *path = release_path(directory);
    return unlink(path) == 0;
}

int waits_ask_release(const char *directory, struct error *e)
{
    OWNED char *path = release_path(directory);
    return file_write_atomic(path, "", 0, e);
}

int waits_note_lock(struct waits *w, bool is_ending, const struct runner_options *o, struct error *e)
{
    int64_t now_ms = clock_monotonic_ms();
    w->locked_ms = w->locked_ms ? w->locked_ms : now_ms;
    bool is_long = now_ms - w->locked_ms >= NOTIFIED_LOCK_MS;
    if (is_long && is_ending)
        return error_set(e, ERROR_FAILED, "another program has locked the database; close it and start again");
    if (is_long && !w->notified_lock)
        runner_tell(o, "another program has locked the database; waiting, because nothing can be started or recorded "
                       "until it is unlocked");
    w->notified_lock |= is_long;
    return 0;
}

void waits_note_unlocked(struct waits *w)
{
    w->locked_ms = 0;
    w->notified_lock = false;
}
