#include "process/supervisor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/capture.h"
#include "process/cgroup.h"
#include "process/interrupts.h"
#include "process/job_file.h"
#include "process/process.h"
#include "process/slot.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"

enum {
    DESCRIPTORS_BESIDE = 64,
    SLOT_DESCRIPTORS = 3, /* the log, the attempt's directory, the log once more where it is followed */
    FAREWELL_MS = 5000    /* how long supervisor_free waits for what escaped */
};

void outcome_free(struct outcome *o)
{
    free_all(o->spawn_subject, o->log_path, o->metrics_path, o->note, o->reference, o->host);
    *o = OUTCOME_INIT;
}

char *boot_id_read(char out[64])
{
    OWNED_BUFFER text = BUFFER_INIT;
    out[0] = '\0';
    if (file_read("/proc/sys/kernel/random/boot_id", 63, &text, NULL) == 0) {
        strcpy(out, buffer_text(&text));
        out[strcspn(out, "\n")] = '\0';
    }
    return out;
}

/* --- the owners of logs --- */

static char *owners_path(const char *scratch_dir)
{
    return xasprintf("%s/owners", scratch_dir);
}

int slot_owners_open(const char *scratch_dir)
{
    OWNED char *path = owners_path(scratch_dir);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

void slot_owner_set(int fd, size_t slot, int64_t attempt)
{
    ssize_t n = fd >= 0 ? pwrite(fd, &attempt, sizeof attempt, (off_t)(slot * sizeof attempt)) : 0;
    (void)n; /* a full disk: the log will not be saved after a crash, and that is all */
}

int slot_of_attempt(const char *scratch_dir, int64_t attempt)
{
    OWNED char *path = owners_path(scratch_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC), slot = 0;
    int64_t owner = 0;
    if (fd < 0)
        return -1;
    while (pread(fd, &owner, sizeof owner, (off_t)slot * (off_t)sizeof owner) == sizeof owner && owner != attempt)
        slot++;
    close(fd);
    return owner == attempt ? slot : -1;
}

/* --- create --- */

static void take_over_signals(struct supervisor *s)
{
    sigemptyset(&s->watched);
    sigaddset(&s->watched, SIGCHLD);
    sigaddset(&s->watched, SIGCONT);
    interrupts_add(&s->watched);
    sigprocmask(SIG_BLOCK, &s->watched, &s->old_mask);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, plain = {.sa_handler = SIG_DFL};
    sigaction(SIGPIPE, &ignore, &s->old_pipe);
    /* Ignored, children would vanish without a status. */
    sigaction(SIGCHLD, &plain, &s->old_child);
    prctl(PR_GET_CHILD_SUBREAPER, &s->was_subreaper);
    s->table.without_reaper = prctl(PR_SET_CHILD_SUBREAPER, 1) < 0;
}

static void give_back_signals(struct supervisor *s)
{
    prctl(PR_SET_CHILD_SUBREAPER, s->was_subreaper);
    sigaction(SIGCHLD, &s->old_child, NULL);
    sigaction(SIGPIPE, &s->old_pipe, NULL);
    sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
    setrlimit(RLIMIT_NOFILE, &s->open_files);
}

/* Each slot holds descriptors, and the program needs some of its own: better had or said now than missed by jobs that
 * cannot be started. `was` gets the limit as it is for jobs. */
static int provide_descriptors(const struct supervisor_options *o, struct rlimit *was, struct error *e)
{
    const size_t slots = o->slots, each = SLOT_DESCRIPTORS + (o->separate_streams ? STREAMS_DESCRIPTORS : 0);
    const size_t needed = slots * each + DESCRIPTORS_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, was) < 0)
        *was = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    if (was->rlim_cur == RLIM_INFINITY || was->rlim_cur >= needed)
        return 0;
    if (was->rlim_max >= needed && setrlimit(RLIMIT_NOFILE, &(struct rlimit){needed, was->rlim_max}) == 0)
        return 0;
    return error_set(e, ERROR_FAILED,
                     "%zu slots need %zu open files, but only %llu are allowed; raise the limit with: ulimit -n %zu",
                     slots, needed, (unsigned long long)was->rlim_max, needed);
}

/* A file without a name, for nothing but to be written to. */
static int open_room(const char *scratch_dir)
{
    OWNED char *path = xasprintf("%s/room", scratch_dir);
    int fd = descriptor_above_standard(job_file_create(AT_FDCWD, path, 0));
    unlink(path);
    return fd;
}

int supervisor_create(const struct supervisor_options *options, struct supervisor **out, struct error *e)
{
    struct rlimit open_files;
    if (provide_descriptors(options, &open_files, e) < 0)
        return -1;
    if (file_make_directories(options->scratch_dir, e) < 0)
        return error_context(e, "scratch directory");
    int null_fd = descriptor_above_standard(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (null_fd < 0)
        return error_errno(e, errno, "/dev/null: cannot open");
    struct supervisor *s = xcalloc(1, sizeof *s);
    s->open_files = open_files;
    s->slot_count = options->slots;
    s->slots = xcalloc(s->slot_count, sizeof *s->slots);
    s->roots = xcalloc(s->slot_count, sizeof *s->roots);
    s->scratch_dir = path_absolute(options->scratch_dir);
    s->token_prefix = xstrdup(options->token_prefix);
    s->mark = inherited_mark(s->token_prefix);
    s->options = *options;
    s->runner = getpid();
    s->null_fd = null_fd;
    s->oom_fd = oom_counter_open();
    s->owners_fd = slot_owners_open(s->scratch_dir);
    s->room_fd = open_room(s->scratch_dir);
    s->oom_read_ms = INT64_MIN / 2;
    s->scan_ms = INT64_MAX;
    s->scan_interval_ms = SCAN_INTERVAL_MS;
    s->still_us = clock_still_us();
    for (size_t i = 0; i < s->slot_count; i++) {
        capture_init(&s->slots[i].capture, s->scratch_dir, i, options->log_cap_bytes);
        s->slots[i].capture.owners_fd = s->owners_fd;
        s->slots[i].capture.room_fd = s->room_fd;
        s->slots[i].capture.keeps_apart = options->separate_streams;
        s->roots[i] = NO_ROOT;
    }
    take_over_signals(s);
    s->changed_signals = process_changed_signals();
    *out = s;
    return 0;
}

const char *supervisor_lacks(void)
{
    int is_subreaper = 0;
    if (process_start_ticks(getpid()) < 0)
        return "/proc cannot be read, so what a job starts in sessions of its own is not found and goes on when the "
               "job "
               "has ended or is out of time; mount -t proc proc /proc";
    prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper);
    return is_subreaper
               ? NULL
               : "the kernel does not let this program adopt processes (PR_SET_CHILD_SUBREAPER), so what leaves "
                 "its job and clears its environment is not found and goes on when the job has ended";
}

size_t supervisor_running(const struct supervisor *s)
{
    return s->running_count;
}

int supervisor_slot(const struct supervisor *s, int64_t attempt)
{
    for (size_t i = 0; i < s->slot_count; i++)
        if (s->slots[i].state != SLOT_FREE && s->slots[i].outcome.attempt == attempt)
            return (int)i;
    return -1;
}

bool supervisor_files(const struct supervisor *s, int64_t attempt, struct attempt_files *out)
{
    int index = supervisor_slot(s, attempt);
    if (index < 0 || !s->slots[index].capture.log_path)
        return false;
    const struct capture *c = &s->slots[index].capture;
    *out = (struct attempt_files){c->fd, c->log_path, c->metrics_path};
    return true;
}

/* --- states --- */

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

/* What is not listed changes nothing. */
static const struct transition transitions[SLOT_STATE_COUNT][SLOT_EVENT_COUNT] = {
    [SLOT_RUNNING] = {[EVENT_SURVIVORS] = {SLOT_SETTLING, ACTION_NONE},
                      [EVENT_GONE] = {SLOT_ENDED, ACTION_FINISH},
                      [EVENT_STOP] = {SLOT_TERMINATING, ACTION_TERMINATE},
                      [EVENT_HURRY] = {SLOT_KILLING, ACTION_KILL}},
    [SLOT_SETTLING] = {[EVENT_GONE] = {SLOT_ENDED, ACTION_FINISH},
                       [EVENT_STOP] = {SLOT_TERMINATING, ACTION_TERMINATE},
                       [EVENT_HURRY] = {SLOT_KILLING, ACTION_KILL},
                       [EVENT_TIME] = {SLOT_TERMINATING, ACTION_TERMINATE}},
    [SLOT_TERMINATING] = {[EVENT_GONE] = {SLOT_ENDED, ACTION_FINISH},
                          [EVENT_HURRY] = {SLOT_KILLING, ACTION_KILL},
                          [EVENT_TIME] = {SLOT_KILLING, ACTION_KILL}},
    [SLOT_KILLING] = {[EVENT_SURVIVORS] = {SLOT_FREE, ACTION_KILL},
                      [EVENT_GONE] = {SLOT_ENDED, ACTION_FINISH},
                      [EVENT_TIME] = {SLOT_ENDED, ACTION_GIVE_UP}},
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
    if (s->options.terminate && s->options.terminate(s->options.terminate_context, s->slots[index].outcome.attempt))
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

static void finish_slot(struct supervisor *s, size_t index, bool verified)
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
    finish_slot(s, index, false);
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
        finish_slot(s, index, true);
        break;
    case ACTION_GIVE_UP:
        give_up(s, index);
        break;
    }
}

static void enter(struct slot *slot, enum slot_state next, int64_t now_ms)
{
    const int64_t lengths_ms[SLOT_STATE_COUNT] =
        {[SLOT_SETTLING] = SETTLE_MS, [SLOT_TERMINATING] = slot->grace_ms, [SLOT_KILLING] = KILL_PATIENCE_MS};
    const int64_t length_ms = next == SLOT_RUNNING || next == SLOT_ENDED ? INT64_MAX : lengths_ms[next];
    slot->state = next;
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

/* When the slot next needs attention; INT64_MAX when only its own end can bring news. */
static int64_t slot_due_ms(const struct slot *slot)
{
    if (slot->state == SLOT_FREE || slot->state == SLOT_ENDED)
        return INT64_MAX;
    if (slot->state == SLOT_RUNNING)
        return slot->leader_gone ? slot->check_ms : slot->look_ms;
    bool checks = slot->leader_gone || slot->state == SLOT_KILLING;
    return checks && slot->check_ms < slot->until_ms ? slot->check_ms : slot->until_ms;
}

/* --- starts --- */

#define OOM_COUNT_AGE_MS 100 /* a reading this old serves as "before": one per job would cost more than it tells */

static bool names(const char *setting, const char *name)
{
    size_t length = strlen(name);
    return strncmp(setting, name, length) == 0 && setting[length] == '=';
}

/* The launch's environment under our two variables. The array and its first two strings are the caller's. */
static char **job_environment(const struct supervisor *s, const struct launch *launch, const char *metrics_path)
{
    size_t count = 0;
    while (launch->environment[count])
        count++;
    char **environment = xcalloc(count + 3, sizeof *environment);
    environment[0] = xasprintf("MESHSWEEP_ATTEMPT=%s:%" PRId64, s->token_prefix, launch->attempt);
    environment[1] = xasprintf("MESHSWEEP_METRICS=%s", metrics_path);
    size_t filled = 2;
    for (size_t i = 0; i < count; i++)
        if (!names(launch->environment[i], "MESHSWEEP_ATTEMPT") && !names(launch->environment[i], "MESHSWEEP_METRICS"))
            environment[filled++] = launch->environment[i];
    return environment;
}

static void job_environment_free(char **environment)
{
    free_all(environment[0], environment[1], environment);
}

static pid_t start_process(const struct supervisor *s, const struct launch *launch, const struct capture *capture,
                           const int output[STREAM_COUNT], int64_t *start_ticks, struct process_failure *failure)
{
    pid_t pid = -1;
    char **environment = job_environment(s, launch, capture->metrics_path);
    *failure = (struct process_failure){ENOENT, "exec"};
    OWNED char *program =
        launch->argv[0] ? process_find_program(launch->argv[0], environment, launch->directory, &failure->error_number)
                        : NULL;
    const struct process_start start = {program,    launch->argv,  environment, launch->directory,
                                        s->null_fd, output[0],     output[1],   &s->changed_signals,
                                        s->mark,    &s->open_files};
    if (program)
        pid = process_spawn(&start, start_ticks, failure);
    job_environment_free(environment);
    return pid;
}

static int64_t oom_count_before(struct supervisor *s, int64_t now_ms)
{
    if (now_ms - s->oom_read_ms >= OOM_COUNT_AGE_MS) {
        s->oom_count = oom_counter_read(s->oom_fd);
        s->oom_read_ms = now_ms;
    }
    return s->oom_count;
}

static size_t free_slot(const struct supervisor *s)
{
    size_t index = FIRST(k, s->slot_count, s->slots[k].state == SLOT_FREE);
    assert(index < s->slot_count);
    return index;
}

static void set_starting(struct supervisor *s, size_t index, const struct launch *launch, int64_t now_ms)
{
    struct slot *slot = &s->slots[index];
    slot->oom_before = oom_count_before(s, now_ms);
    supervisor_note_stillness(s);
    slot->still_before_us = s->still_us;
    slot->frozen_before_us = s->frozen_us;
    slot->alone = s->running_count == 0;
    for (size_t i = 0; !slot->alone && i < s->slot_count; i++)
        s->slots[i].alone = false;
    s->running_count++;
    slot->leader_gone = slot->cancelled = false;
    slot->grace_ms = launch->grace_ms;
    slot->limits = (struct deadline_limits){launch->timeout_ms, launch->idle_timeout_ms, launch->startup_timeout_ms};
    slot->progress = (struct deadline_state){now_ms, now_ms, false};
    slot->seen = (struct capture_activity){0};
    slot->until_ms = INT64_MAX;
    slot->outcome = (struct outcome){.attempt = launch->attempt, .exit_code = -1, .started_wall_ms = clock_wall_ms()};
}

static void set_running(struct supervisor *s, size_t index, const struct launch *launch, pid_t pid, int64_t start_ticks)
{
    struct slot *slot = &s->slots[index];
    int64_t now_ms = slot->progress.started_ms;
    slot->state = SLOT_RUNNING;
    slot->pid = pid;
    slot->start_ticks = start_ticks;
    slot->job_dir = xstrdup(launch->job_dir);
    slot->look_ms = deadline_look_ms(&slot->limits, &slot->progress, now_ms);
    s->roots[index] = (struct tree_root){pid, start_ticks, false, launch->attempt};
    FAULT(SPAWNED);
}

/* It would start in a directory that has been removed. */
static bool has_no_directory(const struct launch *launch)
{
    struct stat status;
    return !launch->directory && stat(".", &status) == 0 && status.st_nlink == 0;
}

static const char *subject_of(const struct launch *launch, const char *stage)
{
    if (strcmp(stage, "exec") == 0)
        return launch->argv[0];
    return strcmp(stage, "chdir") != 0 ? NULL : launch->directory ? launch->directory : "to the runner's";
}

static void set_not_started(struct slot *slot, const struct launch *launch, const struct process_failure *failure)
{
    const char *subject = subject_of(launch, failure->stage);
    slot->state = SLOT_ENDED;
    slot->leader_gone = true;
    slot->outcome.ending = ENDING_SPAWN_FAILED;
    slot->outcome.error_number = failure->error_number;
    slot->outcome.spawn_stage = failure->stage;
    slot->outcome.spawn_subject = subject ? xstrdup(subject) : NULL;
    slot->outcome.note = launch->not_prepared ? xstrdup(launch->not_prepared) : NULL;
    slot->outcome.ended_wall_ms = clock_wall_ms();
}

struct location supervisor_start(struct supervisor *s, const struct launch *launch)
{
    size_t index = free_slot(s);
    struct slot *slot = &s->slots[index];
    struct process_failure failure = {0, "log"};
    pid_t pid = -1;
    int64_t start_ticks = 0;
    set_starting(s, index, launch, clock_monotonic_ms());
    OWNED char *own_dir = launch->make_job_dir ? job_directory_absolute(launch->job_dir) : NULL;
    int output[STREAM_COUNT];
    const bool captures = capture_begin(&slot->capture, launch->attempt, own_dir, output) == 0;
    if (!captures)
        failure.error_number = errno;
    else if (launch->not_prepared)
        failure = (struct process_failure){0, "job files"};
    else if (has_no_directory(launch))
        failure = (struct process_failure){ENOENT, "chdir"};
    else
        pid = start_process(s, launch, &slot->capture, output, &start_ticks, &failure);
    if (captures)
        capture_close_child(output);
    s->table_fresh = false;
    if (pid >= 0) {
        set_running(s, index, launch, pid, start_ticks);
        return (struct location){(int64_t)index, {pid, start_ticks}};
    }
    if (captures)
        capture_abandon(&slot->capture);
    set_not_started(slot, launch, &failure);
    return (struct location){(int64_t)index, {0, 0}};
}

/* --- wait --- */

static int next_signal(const struct supervisor *s, int64_t wait_ms)
{
    struct timespec limit = {(time_t)(wait_ms / 1000), (long)(wait_ms % 1000) * 1000000};
    return sigtimedwait(&s->watched, NULL, &limit);
}

static void note_signal(struct supervisor *s, int signal_number)
{
    s->continued |= signal_number == SIGCONT;
    interrupts_note(signal_number, &s->wake);
}

static void note_pending_signals(struct supervisor *s)
{
    int signal_number;
    while ((signal_number = next_signal(s, 0)) > 0)
        note_signal(s, signal_number);
}

/* A process that was stopped gets SIGCONT, and its jobs, in sessions of their own, went on meanwhile. A freezer, a
 * debugger or a paused machine sends none. A stop too short to be seen by the clock is taken for the longest such. */
void supervisor_note_stillness(struct supervisor *s)
{
    enum { UNSEEN_US = 1000000 };
    note_pending_signals(s);
    const int64_t still_us = clock_still_us(), stood_us = still_us - s->still_us;
    s->still_us = still_us;
    s->frozen_us += s->continued ? 0 : stood_us;
    s->just_still_us += stood_us > 0 ? stood_us : s->continued ? UNSEEN_US : 0;
    s->continued = false;
}

static void sleep_until(struct supervisor *s, int64_t until_ms)
{
    enum { LONGEST_MS = 3600000 };
    int64_t wait_ms = until_ms - clock_monotonic_ms();
    if (wait_ms < 0)
        return;
    note_signal(s, next_signal(s, wait_ms < LONGEST_MS ? wait_ms : LONGEST_MS));
}

static int64_t next_due_ms(const struct supervisor *s)
{
    int64_t due_ms = s->scan_ms;
    for (size_t i = 0; i < s->slot_count; i++) {
        int64_t slot_ms = slot_due_ms(&s->slots[i]);
        due_ms = slot_ms < due_ms ? slot_ms : due_ms;
    }
    return due_ms;
}

static size_t take_ended(struct supervisor *s, struct outcome *out, size_t room)
{
    size_t taken = 0;
    for (size_t i = 0; i < s->slot_count && taken < room; i++) {
        if (s->slots[i].state != SLOT_ENDED)
            continue;
        out[taken++] = s->slots[i].outcome;
        s->slots[i].outcome = OUTCOME_INIT;
        s->slots[i].state = SLOT_FREE;
        s->running_count--;
    }
    return taken;
}

size_t supervisor_wait(struct supervisor *s, int64_t timeout_ms, struct outcome *out, size_t room, struct wake *wake)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t until_ms = timeout_ms < 0 || timeout_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + timeout_ms;
    for (;;) {
        supervisor_advance(s);
        size_t taken = take_ended(s, out, room);
        if (taken > 0 || s->wake.bits || clock_monotonic_ms() >= until_ms) {
            *wake = s->wake;
            s->wake = (struct wake){0, 0};
            return taken;
        }
        int64_t due_ms = next_due_ms(s);
        sleep_until(s, due_ms < until_ms ? due_ms : until_ms);
    }
}

static void end_early(struct supervisor *s, size_t index, enum ending ending, enum slot_event event)
{
    struct slot *slot = &s->slots[index];
    if (slot->state == SLOT_FREE || slot->state == SLOT_ENDED)
        return;
    if (!slot->leader_gone && slot->outcome.ending == ENDING_NONE)
        slot->outcome.ending = ending;
    slot_handle(s, index, event, clock_monotonic_ms());
}

void supervisor_cancel_all(struct supervisor *s)
{
    supervisor_advance(s); /* what has already ended was not cancelled */
    for (size_t i = 0; i < s->slot_count; i++) {
        end_early(s, i, ENDING_CANCELLED, s->slots[i].cancelled ? EVENT_HURRY : EVENT_STOP);
        s->slots[i].cancelled = true;
    }
}

void supervisor_stop(struct supervisor *s, int64_t attempt)
{
    supervisor_advance(s);
    int index = supervisor_slot(s, attempt);
    if (index >= 0)
        end_early(s, (size_t)index, ENDING_STOPPED, EVENT_STOP);
}

/* --- free --- */

/* Ends the processes that escaped from jobs that are over, waits for them within a bound, and reaps them. */
static void end_all_escapees(struct supervisor *s)
{
    int64_t until_ms = clock_monotonic_ms() + FAREWELL_MS;
    for (;;) {
        s->scan_ms = 0;
        supervisor_advance(s);
        int64_t now_ms = clock_monotonic_ms();
        if (s->scan_ms == INT64_MAX || now_ms >= until_ms)
            break;
        sleep_until(s, now_ms + 20);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

static void end_everything(struct supervisor *s)
{
    struct outcome dropped;
    struct wake wake;
    supervisor_cancel_all(s);
    while (s->running_count > 0)
        if (supervisor_wait(s, -1, &dropped, 1, &wake) == 1)
            outcome_free(&dropped);
    end_all_escapees(s);
}

void supervisor_free(struct supervisor *s)
{
    if (!s)
        return;
    end_everything(s);
    give_back_signals(s);
    for (size_t i = 0; i < s->slot_count; i++)
        capture_free(&s->slots[i].capture);
    process_table_free(&s->table);
    close(s->null_fd);
    if (s->oom_fd >= 0)
        close(s->oom_fd);
    descriptor_close(&s->owners_fd);
    descriptor_close(&s->room_fd);
    free_all(s->escaped, s->slots, s->roots, s->scratch_dir, s->token_prefix, s);
}
