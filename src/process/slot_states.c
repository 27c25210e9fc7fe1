#include <assert.h>
#include <stdlib.h>

#include "process/process.h"
#include "process/slot.h"
#include "util/clock.h"
#include "util/fault.h"

enum {
    SETTLE_MS = 100,
    KILL_PATIENCE_MS = 10000, /* a process in an uninterruptible sleep may never go: the slot must not wait for ever */
    KILL_SWEEPS = 3,
    CHECK_DELAY_MAX_MS = 50
};

enum slot_action { ACTION_NONE, ACTION_TERMINATE, ACTION_KILL, ACTION_FINISH, ACTION_GIVE_UP };

struct transition {
    enum slot_state next; /* SLOT_FREE: stays where it is */
    enum slot_action action;
};

#define STAY                                                                                                           \
    {                                                                                                                  \
        SLOT_FREE, ACTION_NONE                                                                                         \
    }
#define FINISH                                                                                                         \
    {                                                                                                                  \
        SLOT_ENDED, ACTION_FINISH                                                                                      \
    }
#define TERMINATE                                                                                                      \
    {                                                                                                                  \
        SLOT_TERMINATING, ACTION_TERMINATE                                                                             \
    }
#define KILL                                                                                                           \
    {                                                                                                                  \
        SLOT_KILLING, ACTION_KILL                                                                                      \
    }

static const struct transition transitions[SLOT_STATE_COUNT][SLOT_EVENT_COUNT] = {
    [SLOT_RUNNING] =
        {
            [EVENT_SURVIVORS] = {SLOT_SETTLING, ACTION_NONE},
            [EVENT_GONE] = FINISH,
            [EVENT_STOP] = TERMINATE,
            [EVENT_HURRY] = KILL,
            [EVENT_TIME] = STAY,
        },
    [SLOT_SETTLING] =
        {
            [EVENT_SURVIVORS] = STAY,
            [EVENT_GONE] = FINISH,
            [EVENT_STOP] = TERMINATE,
            [EVENT_HURRY] = KILL,
            [EVENT_TIME] = TERMINATE,
        },
    [SLOT_TERMINATING] =
        {
            [EVENT_SURVIVORS] = STAY,
            [EVENT_GONE] = FINISH,
            [EVENT_STOP] = STAY,
            [EVENT_HURRY] = KILL,
            [EVENT_TIME] = KILL,
        },
    [SLOT_KILLING] =
        {
            [EVENT_SURVIVORS] = {SLOT_FREE, ACTION_KILL},
            [EVENT_GONE] = FINISH,
            [EVENT_STOP] = STAY,
            [EVENT_HURRY] = STAY,
            [EVENT_TIME] = {SLOT_ENDED, ACTION_GIVE_UP},
        },
};

/* Signals everything alive of the tree in the table. Returns how many processes besides the leader were reached. */
static int signal_tree(struct supervisor *s, size_t index, const int *signals)
{
    int others = 0;
    for (size_t i = 0; i < s->table.count; i++) {
        const struct process_entry *entry = &s->table.entries[i];
        if (entry->owner == (int)index && entry->live && process_signal(entry->pid, entry->start_ticks, signals))
            others += entry->pid != s->slots[index].pid;
    }
    return others;
}

static void count_leftovers(struct slot *slot, int found)
{
    if (slot->leader_gone && found > slot->outcome.leftover_count)
        slot->outcome.leftover_count = found;
}

static void terminate_tree(struct supervisor *s, size_t index)
{
    if (s->terminate && s->terminate(s->terminate_context, s->slots[index].outcome.attempt))
        return;
    supervisor_scan(s);
    struct slot *slot = &s->slots[index];
    count_leftovers(slot, signal_tree(s, index, process_terminate));
    /* The group at least is certain where /proc cannot be read: its leader is a child not yet reaped. */
    for (const int *p = process_terminate; s->table.count == 0 && !slot->leader_gone && *p; p++)
        kill(-slot->pid, *p);
    FAULT(TREE_TERMINATED);
}

static void kill_tree(struct supervisor *s, size_t index)
{
    struct slot *slot = &s->slots[index];
    /* The whole group at once, which a process that forks cannot outrun. Its number is certain: the leader is a
     * child not yet reaped. */
    if (!slot->leader_gone)
        kill(-slot->pid, SIGKILL);
    for (int sweep = 0; sweep < KILL_SWEEPS; sweep++) {
        if (sweep > 0)
            s->table_fresh = false;
        supervisor_scan(s);
        int found = signal_tree(s, index, process_kill);
        if (sweep == 0)
            count_leftovers(slot, found);
        if (found == 0)
            break;
    }
    s->table_fresh = false;
}

/* Asks for a scan, in a while, for what escaped the job's session unseen, once for all jobs that end until then. */
static void ask_for_scan(struct supervisor *s)
{
    int64_t at_ms = clock_monotonic_ms() + s->scan_interval_ms;
    if (at_ms < s->scan_ms)
        s->scan_ms = at_ms;
}

static void finish(struct supervisor *s, size_t index, bool verified)
{
    struct slot *slot = &s->slots[index];
    enum capture_hold hold = capture_hold(&slot->capture);
    bool reusable = verified && hold != CAPTURE_HELD;
    struct captured kept = capture_end(&slot->capture, slot->outcome.attempt, slot->job_dir, reusable);
    slot->outcome.log_path = kept.log_path;
    slot->outcome.log_bytes = kept.log_bytes;
    slot->outcome.log_cap_bytes = kept.cap_bytes;
    slot->outcome.log_error = kept.log_error;
    slot->outcome.directory_moved = kept.directory_moved;
    slot->outcome.disk_full = kept.disk_full;
    slot->outcome.metrics_path = kept.metrics_path;
    free(slot->job_dir);
    slot->job_dir = NULL;
    s->roots[index] = NO_ROOT;
    ask_for_scan(s);
}

static void give_up(struct supervisor *s, size_t index)
{
    struct slot *slot = &s->slots[index];
    if (!slot->leader_gone)
        supervisor_date_end(s, slot);
    finish(s, index, false);
}

static void act(struct supervisor *s, size_t index, enum slot_action action)
{
    switch (action) {
    case ACTION_NONE:
        break;
    case ACTION_TERMINATE:
        terminate_tree(s, index);
        break;
    case ACTION_KILL:
        kill_tree(s, index);
        break;
    case ACTION_FINISH:
        finish(s, index, true);
        break;
    case ACTION_GIVE_UP:
        give_up(s, index);
        break;
    }
}

static int64_t state_length_ms(const struct slot *slot)
{
    switch (slot->state) {
    case SLOT_SETTLING:
        return SETTLE_MS;
    case SLOT_TERMINATING:
        return slot->grace_ms;
    case SLOT_KILLING:
        return KILL_PATIENCE_MS;
    default:
        return INT64_MAX;
    }
}

static void enter(struct slot *slot, enum slot_state next, int64_t now_ms)
{
    slot->state = next;
    int64_t length_ms = state_length_ms(slot);
    slot->until_ms = length_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + length_ms;
    slot->check_delay_ms = 0;
}

static void schedule_check(struct slot *slot, int64_t now_ms)
{
    slot->check_delay_ms = slot->check_delay_ms ? slot->check_delay_ms * 2 : 1;
    if (slot->check_delay_ms > CHECK_DELAY_MAX_MS)
        slot->check_delay_ms = CHECK_DELAY_MAX_MS;
    slot->check_ms = now_ms + slot->check_delay_ms;
}

void slot_handle(struct supervisor *s, size_t index, enum slot_event event, int64_t now_ms)
{
    struct slot *slot = &s->slots[index];
    assert(slot->state != SLOT_FREE && slot->state != SLOT_ENDED);
    const struct transition *t = &transitions[slot->state][event];
    if (t->next != SLOT_FREE)
        enter(slot, t->next, now_ms);
    schedule_check(slot, now_ms);
    act(s, index, t->action);
}

int64_t slot_due_ms(const struct slot *slot)
{
    if (slot->state == SLOT_FREE || slot->state == SLOT_ENDED)
        return INT64_MAX;
    if (slot->state == SLOT_RUNNING)
        return slot->leader_gone ? slot->check_ms : slot->look_ms;
    bool checks = slot->leader_gone || slot->state == SLOT_KILLING;
    return checks && slot->check_ms < slot->until_ms ? slot->check_ms : slot->until_ms;
}
