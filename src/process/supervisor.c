#include "process/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/inherited_mark.h"
#include "process/interrupts.h"
#include "process/job_file.h"
#include "process/oom_counter.h"
#include "process/process.h"
#include "process/slot.h"
#include "process/slot_owners.h"
#include "util/clock.h"
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
    s->first_metric = options->first_metric;
    s->read_on = options->read_on;
    s->context = options->context;
    s->terminate = options->terminate;
    s->terminate_context = options->terminate_context;
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
