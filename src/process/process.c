#include "process/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/process_table.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"

/* The memory that parent and child share while the parent is suspended in vfork. */
struct handover {
    const struct process_start *start;
    const sigset_t *changed_signals;
    pid_t parent;
    int64_t alive_ns; /* when it first ran; 0: this is a fork under a checker's hands, and nothing is shared */
    struct process_failure failure;
};

sigset_t process_changed_signals(void)
{
    sigset_t changed;
    struct sigaction now;
    sigemptyset(&changed);
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        if (sigaction(signal_number, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
            sigaddset(&changed, signal_number);
    return changed;
}

static void reset_signals(const sigset_t *changed)
{
    /* Only SIG_IGN would survive execve, but a handler of ours must not run in the child's borrowed memory either:
     * all go before anything is unblocked. What is pending was sent to our group before the child had left it, as
     * Ctrl-C is: it is not for the job, and ignoring it discards it. */
    struct sigaction plain = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
    sigset_t none, pending;
    sigpending(&pending);
    for (int signal_number = 1; signal_number < NSIG; signal_number++) {
        if (sigismember(&pending, signal_number) == 1)
            sigaction(signal_number, &ignore, NULL);
        if (sigismember(&pending, signal_number) == 1 || sigismember(changed, signal_number) == 1)
            sigaction(signal_number, &plain, NULL);
    }
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* Closes what /proc lists from 3 on, by the kernel's own call: opendir() asks for memory, which is the parent's. */
static void close_listed(void)
{
    _Alignas(struct dirent64) char block[1024];
    int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long n; directory >= 0 && (n = syscall(SYS_getdents64, directory, block, sizeof block)) > 0;) {
        const struct dirent64 *entry;
        for (long at = 0; at < n; at += entry->d_reclen) {
            entry = (const struct dirent64 *)(block + at);
            int fd = 0;
            for (const char *digit = entry->d_name; *digit >= '0' && *digit <= '9'; digit++)
                fd = 10 * fd + *digit - '0';
            if (fd > 2 && fd != directory)
                close(fd);
        }
    }
}

static void close_inherited(void)
{
    /* Every descriptor of ours is close-on-exec already; this one is for those of libraries and of our parent. Kernels
     * before 5.9 lack the call, and containers refuse it. */
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0)
        return;
#endif
    close_listed();
}

/* Runs in the child, in the parent's memory: only async-signal-safe calls, and no writing but to `shared`. */
__attribute__((noinline, noreturn)) static void become_job(volatile struct handover *shared)
{
    const struct process_start *start = shared->start;
    shared->alive_ns = clock_boot_ns();
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != shared->parent)
        _exit(127); /* the parent died before the line above could tell us */
    shared->failure.stage = "exec";
    if (dup2(start->input_fd, 0) < 0 || dup2(start->output_fd, 1) < 0 || dup2(start->error_fd, 2) < 0)
        goto failed;
    close_inherited();
    if (start->directory && chdir(start->directory) < 0) {
        shared->failure.stage = "chdir";
        goto failed;
    }
    reset_signals(shared->changed_signals);
    if (start->mark)
        inherited_mark_set(start->mark);
    if (start->open_files)
        setrlimit(RLIMIT_NOFILE, start->open_files);
    execve(start->program, start->argv, start->environment);
failed:
    shared->failure.error_number = errno;
    _exit(127);
}

/* Kept apart so that nothing of the caller's frame is live across the two returns of vfork. */
__attribute__((noinline)) static pid_t vfork_job(volatile struct handover *shared)
{
    /* posix_spawn knows no PR_SET_PDEATHSIG, and cannot tell a missing directory from a missing program. What the child
     * calls is safe in borrowed memory, which a checker cannot see. */
    pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
    if (pid == 0)
        become_job(shared); /* NOLINT(clang-analyzer-unix.Vfork) */
    return pid;
}

/* The kernel dates a process by the boot clock when it copies its parent: between two readings of the same tick there
 * is nothing to look up. */
static int64_t ticks_between(int64_t before_ns, int64_t after_ns, pid_t pid)
{
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    if (before_ns / tick_ns == after_ns / tick_ns)
        return before_ns / tick_ns;
    int64_t read = process_start_ticks(pid);
    return read >= 0 ? read : before_ns / tick_ns; /* it has been reaped already */
}

pid_t process_spawn(const struct process_start *start, int64_t *start_ticks, struct process_failure *failure)
{
    const sigset_t changed = start->changed_signals ? *start->changed_signals : process_changed_signals();
    volatile struct handover shared = {start, &changed, getpid(), 0, {0, NULL}};
    int64_t before_ns = clock_boot_ns();
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid = vfork_job(&shared);
    int fork_error = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (pid < 0) {
        *failure = (struct process_failure){fork_error, "fork"};
        return -1;
    }
    if (shared.failure.error_number == 0) {
        if (start_ticks)
            *start_ticks = ticks_between(before_ns, shared.alive_ns, pid);
        return pid;
    }
    process_reap(pid);
    *failure = (struct process_failure){shared.failure.error_number, shared.failure.stage};
    return -1;
}

int pipe_above_standard(int ends[2])
{
    int made[2];
    ends[0] = ends[1] = -1;
    if (pipe2(made, O_CLOEXEC) < 0)
        return -1;
    ends[0] = descriptor_above_standard(made[0]);
    ends[1] = descriptor_above_standard(made[1]);
    return ends[0] < 0 || ends[1] < 0 ? -1 : 0;
}

int descriptor_above_standard(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return moved;
}

void descriptor_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int process_become(char *const *command, struct error *e)
{
    /* An ignored signal stays so across exec. */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    execvp(command[0], command);
    return error_errno(e, errno, "cannot start %s", command[0]);
}

const char *environment_value(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

/* 0 when `path` (relative to `directory`) is a file that may be executed, else the reason. */
static int executable(const char *path, const char *directory)
{
    OWNED char *joined = path[0] != '/' && directory ? xasprintf("%s/%s", directory, path) : NULL;
    const char *whole = joined ? joined : path;
    struct stat status;
    int reason = 0;
    if (stat(whole, &status) < 0)
        reason = errno;
    else if (!S_ISREG(status.st_mode) || access(whole, X_OK) < 0)
        reason = EACCES;
    return reason;
}

char *process_find_program(const char *name, char *const *environment, const char *directory, int *error_number)
{
    if (strchr(name, '/'))
        return xstrdup(name); /* execve itself says what is wrong with it */
    const char *path = environment_value(environment, "PATH");
    if (!path)
        path = PROCESS_DEFAULT_PATH;
    *error_number = ENOENT;
    while (*name) {
        size_t length = strcspn(path, ":");
        char *candidate = length ? xasprintf("%.*s/%s", (int)length, path, name) : xasprintf("./%s", name);
        int reason = executable(candidate, directory);
        if (reason == 0)
            return candidate;
        free(candidate);
        if (reason == EACCES)
            *error_number = EACCES;
        if (path[length] == '\0')
            break;
        path += length + 1;
    }
    return NULL;
}

int64_t process_start_ticks(pid_t pid)
{
    struct process_entry entry;
    return process_read(pid, &entry) ? entry.start_ticks : -1;
}

int process_reap(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

int process_end_within(pid_t pid, int64_t limit_us)
{
    enum { LOOK_AGAIN_US = 5000 };
    int status;
    int64_t until_us = clock_monotonic_us() + limit_us;
    for (int64_t left_us; (left_us = until_us - clock_monotonic_us()) > 0;) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
        int64_t pause_us = left_us < LOOK_AGAIN_US ? left_us : LOOK_AGAIN_US;
        nanosleep(&(struct timespec){pause_us / 1000000, pause_us % 1000000 * 1000}, NULL);
    }
    kill(pid, SIGKILL);
    return process_reap(pid);
}

const int process_terminate[] = {SIGTERM, SIGCONT, 0}, process_kill[] = {SIGKILL, SIGCONT, 0};

/* Sends one signal to the process that `fd` pins, -1: none. That there is no such process is the one refusal to be
 * believed: kernels before 5.3 lack these calls, filters of containers refuse them with any error, and descriptors run
 * out. Then the start time, read just before, tells that the pid is not somebody else's by now. */
static bool send_signal(int fd, pid_t pid, int64_t start_ticks, int signal_number)
{
    if (fd >= 0 && syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0) == 0)
        return true;
    if (fd >= 0 && errno == ESRCH)
        return false;
    return process_start_ticks(pid) == start_ticks && kill(pid, signal_number) == 0;
}

bool process_signal(pid_t pid, int64_t start_ticks, const int *signals)
{
    /* The descriptor pins the process, the start time tells that it is the one meant: between the two reads of a
     * plain kill() the pid could have become somebody else's. */
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool sent = (fd >= 0 || errno != ESRCH) && process_start_ticks(pid) == start_ticks;
    for (; sent && *signals; signals++)
        sent = send_signal(fd, pid, start_ticks, *signals);
    if (fd >= 0)
        close(fd);
    return sent;
}

/* --- the mark that jobs inherit --- */

/* All marks are above: 2^62 microseconds. A runner that is another one's job bears a mark itself. */
#define LOWEST (UINT64_C(1) << 62)

enum { PART_BITS = 31 };

static uint64_t hash_part(const char *text, size_t length)
{
    struct hash128 hash = hash_bytes(text, length);
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof bits; i++)
        bits = bits << 8 | hash.bytes[i];
    return bits >> (64 - PART_BITS);
}

uint64_t inherited_mark(const char *token)
{
    size_t first = strcspn(token, ":");
    const char *second = token[first] ? token + first + 1 : "";
    return LOWEST | hash_part(token, first) << PART_BITS | hash_part(second, strlen(second));
}

void inherited_mark_set(uint64_t mark)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTTIME, &limit) < 0 || (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < LOWEST))
        return;
    /* The hard limit stays: what it is lowered to, a runner below could not raise for its own mark. */
    limit.rlim_cur = mark;
    setrlimit(RLIMIT_RTTIME, &limit);
}

/* 0: none. */
static uint64_t mark_of(pid_t pid)
{
    static const char name[] = "\nMax realtime timeout ";
    char path[40];
    uint64_t mark = 0;
    OWNED_BUFFER limits = BUFFER_INIT;
    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    if (file_read(path, 1 << 16, &limits, NULL) == 0) {
        const char *line = strstr(buffer_text(&limits), name);
        mark = line ? strtoull(line + strlen(name), NULL, 10) : 0; /* "unlimited" is 0 */
    }
    return mark >= LOWEST ? mark : 0;
}

bool inherited_mark_borne(pid_t pid, const char *token)
{
    uint64_t borne = mark_of(pid), wanted = inherited_mark(token);
    return strchr(token, ':') ? borne == wanted : borne >> PART_BITS == wanted >> PART_BITS;
}
