/* Recovery: ending what a runner that died left behind. */
#include <time.h>
#include <unistd.h>

#include "process/cgroup.h"
#include "process/process.h"
#include "process/process_table.h"
#include "process/supervisor.h"
#include "util/clock.h"

enum { POLL_MS = 20, KILL_PATIENCE_MS = 5000, OWNER_SEARCHED = 0 };

/* The caller and what it descends from keep their hands off: a runner may itself be the job of another sweep that uses
 * the same database. */
static void spare_ancestors(struct process_table *t)
{
    for (pid_t pid = getpid(); pid > 0;) {
        struct process_entry *entry = process_table_find(t, pid);
        if (!entry || entry->owner == OWNER_RUNNER)
            break;
        entry->owner = OWNER_RUNNER;
        pid = entry->parent;
    }
}

/* Below a process that is to go, everything is: what cleared its environment is found through its parent. */
static bool descends_from_found(const struct process_table *t, const struct process_entry *entry)
{
    const struct process_entry *above = process_table_find(t, entry->parent);
    for (int depth = 0; above && depth < 1000; depth++) {
        if (above->owner == OWNER_SEARCHED)
            return true;
        above = above->parent ? process_table_find(t, above->parent) : NULL;
    }
    return false;
}

static bool bears(const struct process_entry *entry, const char *token_prefix)
{
    return process_token(entry->pid, token_prefix) >= 0 || inherited_mark_borne(entry->pid, token_prefix) ||
           cgroup_holds(entry->pid, token_prefix);
}

static size_t look_for_escaped(struct process_table *t, const char *token_prefix)
{
    size_t found = 0;
    process_table_read(t);
    spare_ancestors(t);
    for (size_t i = 0; i < t->count; i++) {
        struct process_entry *entry = &t->entries[i];
        if (entry->owner == OWNER_UNSET && entry->live && bears(entry, token_prefix))
            entry->owner = OWNER_SEARCHED;
    }
    for (size_t i = 0; i < t->count; i++) {
        struct process_entry *entry = &t->entries[i];
        if (entry->owner == OWNER_UNSET && entry->live && descends_from_found(t, entry))
            entry->owner = OWNER_SEARCHED;
        found += entry->owner == OWNER_SEARCHED;
    }
    return found;
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){0, POLL_MS * 1000000L}, NULL);
}

/* One look may miss a process: it has just been started by one that has just ended, or is in the middle of execve. Two
 * looks in a row that find nothing are believed. */
static size_t find_escaped(struct process_table *t, const char *token_prefix)
{
    size_t found = look_for_escaped(t, token_prefix);
    if (found > 0)
        return found;
    pause_briefly();
    return look_for_escaped(t, token_prefix);
}

static void signal_found(const struct process_table *t, const int *signals)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->entries[i].owner == OWNER_SEARCHED)
            process_signal(t->entries[i].pid, t->entries[i].start_ticks, signals);
}

/* Looks until nothing is found or the time is over, sending `again` at each look. Returns what is left. */
static size_t wait_for_end(struct process_table *t, const char *token_prefix, int64_t limit_ms, const int *again)
{
    int64_t until_ms = clock_monotonic_ms() + limit_ms;
    size_t left;
    while ((left = find_escaped(t, token_prefix)) > 0 && clock_monotonic_ms() < until_ms) {
        signal_found(t, again);
        pause_briefly();
    }
    return left;
}

size_t supervisor_count_escaped(const char *token_prefix)
{
    struct process_table t = PROCESS_TABLE_INIT;
    size_t found = find_escaped(&t, token_prefix);
    process_table_free(&t);
    return found;
}

int supervisor_end_escaped(const char *token_prefix, int64_t grace_ms, struct error *e)
{
    static const int nothing[] = {0};
    struct process_table t = PROCESS_TABLE_INIT;
    size_t found = find_escaped(&t, token_prefix);
    size_t left = found;
    if (found > 0) {
        signal_found(&t, process_terminate);
        left = wait_for_end(&t, token_prefix, grace_ms, nothing);
    }
    if (left > 0) {
        signal_found(&t, process_kill);
        left = wait_for_end(&t, token_prefix, KILL_PATIENCE_MS, process_kill);
    }
    bool unread = t.unread;
    process_table_free(&t);
    cgroup_remove_empty(token_prefix);
    if (unread)
        return error_set(e, ERROR_FAILED,
                         "processes that an earlier run left cannot be found, because /proc cannot be read");
    if (left > 0)
        return error_set(e, ERROR_FAILED, "%zu %s of an earlier run cannot be stopped", left,
                         left == 1 ? "process" : "processes");
    return (int)found;
}
