#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "process/cgroup.h"
#include "process/process.h"
#include "process/slot.h"
#include "util/clock.h"
#include "util/memory.h"

enum {
    BRIEF_JOB_MS = 100, /* shorter jobs share one scan of /proc per interval */
    SCAN_SHARE = 20,    /* scanning takes at most a twentieth of the time, however many processes there are */
    UNKNOWN_RECHECK_MS = 1000,
    ESCAPED_GRACE_MS = 2000,
    UNREAD_PATIENCE_MS = 80, /* the first metric may be in what has been written and not read yet */
    UNREAD_LOOK_MS = 2
};

/* --- ends --- */

static bool is_running(const struct slot *slot)
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

/* A SIGKILL that was not ours, or a shell's or a launcher's report of one (-9 as a byte), while the kernel's count
 * rose; or any failure while it rose and nothing else ran that it could have been about. */
static bool ended_by_oom_killer(const struct supervisor *s, const struct slot *slot)
{
    const struct outcome *o = &slot->outcome;
    bool killed = (o->ending == ENDING_SIGNALED && o->signal_number == SIGKILL) ||
                  (o->ending == ENDING_EXITED && (o->exit_code == 128 + SIGKILL || o->exit_code == 256 - SIGKILL));
    bool failed = o->ending == ENDING_EXITED && o->exit_code != 0 && slot->alone;
    return (killed || failed) && oom_counter_read(s->oom_fd) > slot->oom_before;
}

void supervisor_date_end(const struct supervisor *s, struct slot *slot)
{
    struct outcome *o = &slot->outcome;
    const int64_t still_us = s->still_us - slot->still_before_us, frozen_us = s->frozen_us - slot->frozen_before_us;
    const int64_t uncertain_us = frozen_us > s->just_still_us ? frozen_us : s->just_still_us;
    o->ended_wall_ms = clock_wall_ms();
    o->duration_ms = clock_monotonic_ms() - slot->progress.started_ms + still_us / 1000;
    o->unwatched_ms = (uncertain_us < o->duration_ms * 1000 ? uncertain_us : o->duration_ms * 1000) / 1000;
}

static void record_end(struct supervisor *s, size_t index, int status, const struct rusage *usage)
{
    struct slot *slot = &s->slots[index];
    struct outcome *o = &slot->outcome;
    int64_t now_ms = clock_monotonic_ms();
    slot->leader_gone = s->roots[index].leader_gone = true;
    supervisor_date_end(s, slot);
    o->has_usage = true;
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
    size_t i =
        FIRST(k, s->slot_count, (s->slots[k].pid == pid && !s->slots[k].leader_gone && is_running(&s->slots[k])));
    return i;
}

/* Somebody's orphan ended: trees that wait for their last process may be empty now. */
static void hasten_checks(struct supervisor *s)
{
    for (size_t i = 0; i < s->slot_count; i++)
        if (is_running(&s->slots[i]) && s->slots[i].leader_gone)
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

static bool awaits_metric(const struct slot *slot)
{
    return slot->limits.startup_ms > 0 && !slot->progress.metric_seen;
}

static struct attempt_files files_of(const struct slot *slot)
{
    return (struct attempt_files){slot->capture.fd, slot->capture.log_path, slot->capture.metrics_path};
}

/* Returns how much of the log has been read; whoever waits is told to see to the rest. */
static int64_t read_on(struct supervisor *s, const struct slot *slot, int64_t log_bytes)
{
    if (!s->options.read_on)
        return log_bytes;
    const struct attempt_files files = files_of(slot);
    int64_t read_bytes = s->options.read_on(s->options.context, slot->outcome.attempt, &files);
    if (read_bytes < log_bytes)
        s->wake.bits |= WAKE_OUTPUT;
    return read_bytes;
}

static bool has_metric(struct supervisor *s, const struct slot *slot, const struct capture_activity *seen)
{
    const struct attempt_files files = files_of(slot);
    return seen->metrics_bytes > 0 || (seen->log_bytes > 0 && s->options.first_metric &&
                                       s->options.first_metric(s->options.context, slot->outcome.attempt, &files));
}

static void note_activity(struct supervisor *s, struct slot *slot, int64_t now_ms)
{
    struct capture_activity seen = capture_look(&slot->capture);
    const struct capture_activity *before = &slot->seen;
    bool log_changed = seen.log_bytes != before->log_bytes || seen.log_changed_ns != before->log_changed_ns;
    bool metrics_changed =
        seen.metrics_bytes != before->metrics_bytes || seen.metrics_changed_ns != before->metrics_changed_ns;
    if (log_changed || metrics_changed)
        slot->progress.active_ms = now_ms;
    slot->read_bytes = seen.log_bytes;
    if (capture_outgrows(&slot->capture, seen.log_bytes) || (s->options.first_metric && awaits_metric(slot)))
        slot->read_bytes = read_on(s, slot, seen.log_bytes);
    if (log_changed)
        capture_bound(&slot->capture, seen.log_bytes, slot->read_bytes);
    if (awaits_metric(slot))
        slot->progress.metric_seen = has_metric(s, slot, &seen);
    slot->seen = seen;
}

static void watch_limits(struct supervisor *s, size_t index, int64_t now_ms)
{
    struct slot *slot = &s->slots[index];
    note_activity(s, slot, now_ms);
    struct deadline_answer answer = deadline_check(&slot->limits, &slot->progress, now_ms);
    if (answer.fired == ENDING_STARTUP_TIMEOUT && slot->read_bytes < slot->seen.log_bytes &&
        now_ms < slot->progress.started_ms + slot->limits.startup_ms + UNREAD_PATIENCE_MS) {
        slot->look_ms = now_ms + UNREAD_LOOK_MS;
        return;
    }
    slot->look_ms = deadline_look_ms(&slot->limits, &slot->progress, now_ms);
    if (answer.fired == ENDING_NONE)
        return;
    slot->outcome.ending = answer.fired;
    slot->outcome.limit_ms = answer.limit_ms;
    slot_handle(s, index, EVENT_STOP, now_ms);
}

/* --- trees --- */

void supervisor_scan(struct supervisor *s)
{
    if (s->table_fresh)
        return;
    int64_t started_ms = clock_monotonic_ms();
    process_table_read(&s->table);
    process_table_assign(&s->table, s->runner, s->roots, s->slot_count, s->token_prefix);
    s->table_fresh = true;
    int64_t fair_ms = (clock_monotonic_ms() - started_ms) * SCAN_SHARE;
    s->scan_interval_ms = fair_ms > SCAN_INTERVAL_MS ? fair_ms : SCAN_INTERVAL_MS;
}

static void check_tree(struct supervisor *s, size_t index, int64_t now_ms)
{
    struct slot *slot = &s->slots[index];
    bool checks = slot->leader_gone || slot->state == SLOT_KILLING;
    if (checks && now_ms >= slot->check_ms) {
        supervisor_scan(s);
        bool gone = slot->leader_gone && process_table_state(&s->table, s->roots, index) == TREE_GONE;
        slot_handle(s, index, gone ? EVENT_GONE : EVENT_SURVIVORS, now_ms);
    }
    if (is_running(slot) && now_ms >= slot->until_ms)
        slot_handle(s, index, EVENT_TIME, now_ms);
}

/* --- escaped processes --- */

/* Without a token it may be of a job running, unless it is older than every one of them. */
static bool is_nobodys(const struct supervisor *s, const struct process_entry *entry)
{
    return !ANY(i, s->slot_count, is_running(&s->slots[i]) && s->slots[i].start_ticks <= entry->start_ticks);
}

static struct escaped_process *known_escaped(const struct supervisor *s, const struct process_entry *entry)
{
    return FIND(i, s->escaped_count, s->escaped[i].pid == entry->pid && s->escaped[i].start_ticks == entry->start_ticks,
                &s->escaped[i]);
}

static struct escaped_process end_escaped(const struct supervisor *s, const struct process_entry *entry, int64_t now_ms)
{
    const struct escaped_process *known = known_escaped(s, entry);
    struct escaped_process escaped = {entry->pid, entry->start_ticks, known ? known->terminated_ms : now_ms};
    if (!known)
        process_signal(entry->pid, entry->start_ticks, process_terminate);
    else if (now_ms - known->terminated_ms >= ESCAPED_GRACE_MS)
        process_signal(entry->pid, entry->start_ticks, process_kill);
    return escaped;
}

/* The verdict on one process of the table. */
enum escape { NOT_ESCAPED, UNSURE, PERHAPS_OF_A_JOB, ESCAPED };

static enum escape judge(const struct supervisor *s, const struct process_entry *entry)
{
    if (entry->owner == OWNER_UNKNOWN && (entry->unsure || !entry->live))
        return UNSURE; /* it may have started another that this table lacks */
    if (s->table.without_reaper && entry->just_ended)
        return UNSURE;
    if ((entry->owner != OWNER_ESCAPED && entry->owner != OWNER_UNKNOWN) || !entry->live)
        return NOT_ESCAPED;
    return entry->owner == OWNER_ESCAPED || is_nobodys(s, entry) ? ESCAPED : PERHAPS_OF_A_JOB;
}

/* Children of the runner that belong to no job running: TERM at first sight, KILL after two seconds. Needs a scan of
 * this round. */
static void end_escapees(struct supervisor *s, int64_t now_ms)
{
    static const int64_t next_look_ms[] =
        {[NOT_ESCAPED] = INT64_MAX, [UNSURE] = 0, [PERHAPS_OF_A_JOB] = UNKNOWN_RECHECK_MS, [ESCAPED] = 0};
    struct escaped_process *remaining = NULL;
    size_t count = 0;
    int64_t wait_ms = INT64_MAX;
    for (size_t i = 0; i < s->table.count; i++) {
        enum escape escape = judge(s, &s->table.entries[i]);
        wait_ms = next_look_ms[escape] < wait_ms ? next_look_ms[escape] : wait_ms;
        if (escape != ESCAPED)
            continue;
        *array_add(remaining, count) = end_escaped(s, &s->table.entries[i], now_ms);
    }
    free(s->escaped);
    s->escaped = remaining;
    s->escaped_count = count;
    wait_ms = process_table_has_gaps(&s->table) ? 0 : wait_ms;
    wait_ms = wait_ms < s->scan_interval_ms ? s->scan_interval_ms : wait_ms;
    s->scan_ms = wait_ms == INT64_MAX ? INT64_MAX : now_ms + wait_ms;
}

void supervisor_advance(struct supervisor *s)
{
    s->table_fresh = false;
    supervisor_note_stillness(s);
    reap(s);
    int64_t now_ms = clock_monotonic_ms();
    for (size_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].state == SLOT_RUNNING && !s->slots[i].leader_gone && now_ms >= s->slots[i].look_ms)
            watch_limits(s, i, now_ms);
        if (is_running(&s->slots[i]))
            check_tree(s, i, now_ms);
    }
    if (s->table_fresh)
        reap(s); /* what the looks above ended, so that no zombie outlives its job's outcome */
    if (now_ms >= s->scan_ms || (s->table_fresh && s->scan_ms != INT64_MAX)) {
        supervisor_scan(s);
        end_escapees(s, now_ms);
    }
    s->just_still_us = 0;
}
