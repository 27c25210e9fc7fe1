#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "run/job_slot.h"
#include "run/oom_counter.h"
#include "run/process.h"
#include "util/clock.h"
#include "util/memory.h"

enum {
    BRIEF_JOB_MS = 100,    /* shorter jobs share one scan of /proc per interval */
    UNKNOWN_RECHECK_MS = 1000,
    STRAY_GRACE_MS = 2000
};

/* --- ends --- */

static bool is_in_flight(const struct slot *slot)
{
    return slot->state != SLOT_FREE && slot->state != SLOT_ENDED;
}

static void record_status(struct outcome *o, int status)
{
    if (WIFEXITED(status))
        o->exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) {
        o->signal_number = WTERMSIG(status);
        o->core_dumped = WCOREDUMP(status);
    }
    if (o->ending == ENDING_NONE)
        o->ending = WIFSIGNALED(status) ? ENDING_SIGNALED : ENDING_EXITED;
}

/* A SIGKILL that was not ours, or a shell's report of one, while the kernel's count rose; or any failure while it rose
 * and nothing else ran that it could have been about. */
static bool ended_by_oom_killer(const struct supervisor *s, const struct slot *slot)
{
    const struct outcome *o = &slot->outcome;
    bool killed = (o->ending == ENDING_SIGNALED && o->signal_number == SIGKILL) ||
                  (o->ending == ENDING_EXITED && o->exit_code == 128 + SIGKILL);
    bool failed = o->ending == ENDING_EXITED && o->exit_code != 0 && slot->alone;
    return (killed || failed) && oom_counter_read(s->oom_fd) > slot->oom_before;
}

static void record_end(struct supervisor *s, size_t index, int status, const struct rusage *usage)
{
    struct slot *slot = &s->slots[index];
    struct outcome *o = &slot->outcome;
    int64_t now_ms = clock_monotonic_ms();
    slot->leader_gone = s->roots[index].leader_gone = true;
    o->ended_wall_ms = clock_wall_ms();
    o->duration_ms = now_ms - slot->progress.started_ms;
    o->usage = *usage;
    record_status(o, status);
    o->host_oom = ended_by_oom_killer(s, slot);
    /* Nothing of its group, nobody at its log: what else could be there has left its session on purpose, and waits for
     * the common scan. */
    if (slot->state == SLOT_RUNNING && o->duration_ms < BRIEF_JOB_MS && kill(-slot->pid, 0) < 0 && errno == ESRCH &&
        capture_hold(&slot->capture) == CAPTURE_RELEASED) {
        slot_handle(s, index, EVENT_GONE, now_ms);
        return;
    }
    slot->check_ms = now_ms;
}

static size_t slot_of_leader(const struct supervisor *s, pid_t pid)
{
    size_t i = 0;
    while (i < s->slot_count && !(s->slots[i].pid == pid && !s->slots[i].leader_gone && is_in_flight(&s->slots[i])))
        i++;
    return i;
}

/* Somebody's orphan ended: trees that wait for their last process may be empty now. */
static void hasten_checks(struct supervisor *s)
{
    for (size_t i = 0; i < s->slot_count; i++)
        if (is_in_flight(&s->slots[i]) && s->slots[i].leader_gone)
            s->slots[i].check_ms = 0;
}

static void reap(struct supervisor *s)
{
    int status;
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
        size_t index = slot_of_leader(s, pid);
        if (index < s->slot_count)
            record_end(s, index, status, &usage);
        else
            hasten_checks(s);
    }
}

/* --- limits --- */

static void note_activity(struct supervisor *s, struct slot *slot, int64_t now_ms)
{
    struct capture_activity seen = capture_look(&slot->capture);
    const struct capture_activity *before = &slot->seen;
    bool log_changed = seen.log_bytes != before->log_bytes || seen.log_changed_ns != before->log_changed_ns;
    bool metrics_changed =
        seen.metrics_bytes != before->metrics_bytes || seen.metrics_changed_ns != before->metrics_changed_ns;
    if (log_changed || metrics_changed)
        slot->progress.active_ms = now_ms;
    if (log_changed)
        capture_bound(&slot->capture, seen.log_bytes);
    if (slot->limits.startup_ms > 0 && !slot->progress.metric_seen)
        slot->progress.metric_seen =
            seen.metrics_bytes > 0 ||
            (log_changed && s->first_metric && s->first_metric(s->context, slot->capture.log_path));
    slot->seen = seen;
}

static void watch_limits(struct supervisor *s, size_t index, int64_t now_ms)
{
    static const enum ending endings[] = {[DEADLINE_TOTAL] = ENDING_TIMEOUT,
                                          [DEADLINE_IDLE] = ENDING_IDLE_TIMEOUT,
                                          [DEADLINE_STARTUP] = ENDING_STARTUP_TIMEOUT};
    struct slot *slot = &s->slots[index];
    note_activity(s, slot, now_ms);
    struct deadline_answer answer = deadline_check(&slot->limits, &slot->progress, now_ms);
    int64_t tick_ms = now_ms + deadline_tick_ms(&slot->limits, slot->progress.metric_seen);
    slot->look_ms = answer.due_ms < tick_ms ? answer.due_ms : tick_ms;
    if (answer.fired == DEADLINE_NONE)
        return;
    slot->outcome.ending = endings[answer.fired];
    slot->outcome.limit_ms = answer.limit_ms;
    slot_handle(s, index, EVENT_STOP, now_ms);
}

/* --- trees --- */

static void check_tree(struct supervisor *s, size_t index, int64_t now_ms)
{
    struct slot *slot = &s->slots[index];
    bool checks = slot->leader_gone || slot->state == SLOT_KILLING;
    if (checks && now_ms >= slot->check_ms) {
        supervisor_scan(s);
        bool gone = slot->leader_gone && process_table_state(&s->table, s->roots, index) == TREE_GONE;
        slot_handle(s, index, gone ? EVENT_GONE : EVENT_SURVIVORS, now_ms);
    }
    if (is_in_flight(slot) && now_ms >= slot->until_ms)
        slot_handle(s, index, EVENT_TIME, now_ms);
}

/* --- strays --- */

/* Without a token it may be of a job in flight, unless it is older than every one of them. */
static bool is_nobodys(const struct supervisor *s, const struct process_entry *entry)
{
    for (size_t i = 0; i < s->slot_count; i++)
        if (is_in_flight(&s->slots[i]) && s->slots[i].start_ticks <= entry->start_ticks)
            return false;
    return true;
}

static struct stray *known_stray(const struct supervisor *s, const struct process_entry *entry)
{
    for (size_t i = 0; i < s->stray_count; i++)
        if (s->strays[i].pid == entry->pid && s->strays[i].start_ticks == entry->start_ticks)
            return &s->strays[i];
    return NULL;
}

static struct stray end_stray(const struct supervisor *s, const struct process_entry *entry, int64_t now_ms)
{
    static const int terminate[] = {SIGTERM, SIGCONT, 0}, finish[] = {SIGKILL, SIGCONT, 0};
    const struct stray *known = known_stray(s, entry);
    struct stray stray = {entry->pid, entry->start_ticks, known ? known->terminated_ms : now_ms};
    if (!known)
        process_signal(entry->pid, entry->start_ticks, terminate);
    else if (now_ms - known->terminated_ms >= STRAY_GRACE_MS)
        process_signal(entry->pid, entry->start_ticks, finish);
    return stray;
}

/* What is to be done about one process of the table. */
enum suspicion { INNOCENT, UNSURE, PERHAPS_OF_A_JOB, STRAY };

static enum suspicion judge(const struct supervisor *s, const struct process_entry *entry)
{
    if (entry->owner == OWNER_UNKNOWN && (entry->unsure || !entry->live))
        return UNSURE; /* it may have started another that this table lacks */
    if ((entry->owner != OWNER_STRAY && entry->owner != OWNER_UNKNOWN) || !entry->live)
        return INNOCENT;
    return entry->owner == OWNER_STRAY || is_nobodys(s, entry) ? STRAY : PERHAPS_OF_A_JOB;
}

size_t supervisor_end_escapees(struct supervisor *s, int64_t now_ms)
{
    static const int64_t next_look_ms[] = {
        [INNOCENT] = INT64_MAX, [UNSURE] = 0, [PERHAPS_OF_A_JOB] = UNKNOWN_RECHECK_MS, [STRAY] = 0};
    struct stray *remaining = NULL;
    size_t count = 0;
    int64_t wait_ms = INT64_MAX;
    for (size_t i = 0; i < s->table.count; i++) {
        enum suspicion suspicion = judge(s, &s->table.entries[i]);
        wait_ms = next_look_ms[suspicion] < wait_ms ? next_look_ms[suspicion] : wait_ms;
        if (suspicion != STRAY)
            continue;
        remaining = array_grow(remaining, count, sizeof *remaining);
        remaining[count++] = end_stray(s, &s->table.entries[i], now_ms);
    }
    free(s->strays);
    s->strays = remaining;
    s->stray_count = count;
    wait_ms = wait_ms < s->scan_interval_ms ? s->scan_interval_ms : wait_ms;
    s->scan_ms = wait_ms == INT64_MAX ? INT64_MAX : now_ms + wait_ms;
    return count;
}

void supervisor_turn(struct supervisor *s)
{
    s->table_fresh = false;
    reap(s);
    int64_t now_ms = clock_monotonic_ms();
    for (size_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].state == SLOT_RUNNING && !s->slots[i].leader_gone && now_ms >= s->slots[i].look_ms)
            watch_limits(s, i, now_ms);
        if (is_in_flight(&s->slots[i]))
            check_tree(s, i, now_ms);
    }
    if (s->table_fresh)
        reap(s); /* what the looks above ended, so that no zombie outlives its job's outcome */
    if (now_ms >= s->scan_ms || (s->table_fresh && s->scan_ms != INT64_MAX)) {
        supervisor_scan(s);
        supervisor_end_escapees(s, now_ms);
    }
}
