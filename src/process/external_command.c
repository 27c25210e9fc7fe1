#include "process/external_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/process.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/string_list.h"

enum {
    LOOK_MS = 20,       /* how often to look for its end while something else holds its output open */
    LOOK_CLOSED_MS = 1, /* and once all output is closed */
    GRACE_MS = 2000     /* after SIGTERM */
};

struct stream {
    int ends[2]; /* of a pipe, 3 or above: ours, and theirs; -1: closed */
    struct buffer text;
};

#define STREAM_INIT                                                                                                    \
    {                                                                                                                  \
        {-1, -1}, BUFFER_INIT                                                                                          \
    }

struct running {
    const struct external_command_watch *watch; /* NULL: none */
    pid_t pid;
    int status;
    bool ended, stopped; /* `stopped`: SIGTERM was sent */
    int64_t until_ms;
    size_t bytes_most;
    struct stream streams[2]; /* output, errors */
};

void external_command_result_free(struct external_command_result *r)
{
    free_all(r->output, r->errors);
    *r = EXTERNAL_COMMAND_RESULT_INIT;
}

static void stream_free(struct stream *s)
{
    descriptor_close(&s->ends[0]);
    descriptor_close(&s->ends[1]);
    buffer_free(&s->text);
}

static void stream_read(struct stream *s, size_t bytes_most)
{
    char block[16384];
    ssize_t n = read(s->ends[0], block, sizeof block);
    if (n <= 0 && !(n < 0 && errno == EINTR))
        descriptor_close(&s->ends[0]);
    size_t room = bytes_most - s->text.length;
    if (n > 0)
        buffer_add(&s->text, block, (size_t)n < room ? (size_t)n : room);
}

/* One look: reads what is there, reaps. True when there was nothing to read. */
static bool read_and_reap(struct running *r)
{
    struct pollfd fds[2];
    for (int i = 0; i < 2; i++)
        fds[i] = (struct pollfd){r->streams[i].ends[0], POLLIN, 0}; /* negative ones are left out by poll */
    bool closed = fds[0].fd < 0 && fds[1].fd < 0;
    int ready = poll(fds, 2, r->ended ? 0 : closed ? LOOK_CLOSED_MS : LOOK_MS);
    for (int i = 0; ready > 0 && i < 2; i++)
        if (fds[i].fd >= 0 && fds[i].revents)
            stream_read(&r->streams[i], r->bytes_most);
    if (!r->ended)
        r->ended = waitpid(r->pid, &r->status, WNOHANG) == r->pid;
    return ready <= 0;
}

static void ask_watch(struct running *r)
{
    const struct external_command_watch *w = r->watch;
    if (r->ended || !w || w->goes_on(w->context) || r->stopped)
        return;
    r->stopped = true;
    r->until_ms = clock_monotonic_ms() + w->grace_ms;
    kill(-r->pid, SIGTERM);
}

/* Until it has ended and its output is read; what a child of its own keeps open is not waited for. */
static int follow(struct running *r)
{
    for (;;) {
        bool ended_before = r->ended;
        bool quiet = read_and_reap(r);
        ask_watch(r);
        bool late = clock_monotonic_ms() >= r->until_ms;
        if (ended_before && (quiet || late))
            return 0;
        if (late && !r->ended)
            break;
    }
    /* Its group bears its number as long as it has not been reaped. */
    kill(-r->pid, SIGKILL);
    process_reap(r->pid);
    return -1;
}

/* A file without a name, or the empty device. -1 with errno set. */
static int open_input(const char *text)
{
    size_t length = text ? strlen(text) : 0, done = 0;
    int fd = text ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && done < length) {
        ssize_t n = write(fd, text + done, length - done);
        if (n < 0 && errno != EINTR)
            descriptor_close(&fd);
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0 && text)
        lseek(fd, 0, SEEK_SET);
    return descriptor_above_standard(fd);
}

static pid_t start(const struct external_command *c, int output_fd, int error_fd, int input_fd,
                   struct process_failure *failure)
{
    *failure = (struct process_failure){ENOENT, "exec"};
    OWNED char *program = process_find_program(c->argv[0], c->environment, c->directory, &failure->error_number);
    struct process_start p = {program, c->argv, c->environment, c->directory, input_fd, output_fd, error_fd, NULL,
                              0,       NULL};
    pid_t pid = program ? process_spawn(&p, NULL, failure) : -1;
    return pid;
}

int external_command_run(const struct external_command *c, struct external_command_result *out, struct error *e)
{
    return external_command_run_watched(c, NULL, out, e);
}

int external_command_run_watched(const struct external_command *c, const struct external_command_watch *watch,
                                 struct external_command_result *out, struct error *e)
{
    struct running r = {.watch = watch, .bytes_most = c->bytes_most, .streams = {STREAM_INIT, STREAM_INIT}};
    struct process_failure failure;
    int rc = -1;
    int input_fd = open_input(c->input);
    if (input_fd < 0 || pipe_above_standard(r.streams[0].ends) < 0 || pipe_above_standard(r.streams[1].ends) < 0) {
        error_errno(e, errno, "%s: cannot make a pipe", c->argv[0]);
        goto out;
    }
    r.pid = start(c, r.streams[0].ends[1], r.streams[1].ends[1], input_fd, &failure);
    if (r.pid < 0) {
        error_errno(e, failure.error_number, "%s: cannot be started (%s)", c->argv[0], failure.stage);
        goto out;
    }
    descriptor_close(&r.streams[0].ends[1]);
    descriptor_close(&r.streams[1].ends[1]);
    r.until_ms = clock_monotonic_ms() + c->timeout_ms;
    if (follow(&r) < 0) {
        error_set(e, ERROR_FAILED, "%s: no answer within %lld ms", c->argv[0], (long long)c->timeout_ms);
        goto out;
    }
    out->output_length = r.streams[0].text.length;
    out->output = buffer_take(&r.streams[0].text);
    out->errors = buffer_take(&r.streams[1].text);
    out->exit_code = WIFEXITED(r.status) ? WEXITSTATUS(r.status) : -1;
    rc = 0;
out:
    stream_free(&r.streams[0]);
    stream_free(&r.streams[1]);
    descriptor_close(&input_fd);
    return rc;
}

/* It has a session of its own, so that the terminal's Ctrl-C comes to us alone. */
static int wait_or_end(pid_t pid, const sigset_t *watched, int *signal_number)
{
    const struct timespec often = {0, LOOK_MS * 1000000};
    int status;
    *signal_number = 0;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        *signal_number = sigtimedwait(watched, NULL, &often);
        if (*signal_number <= 0) {
            *signal_number = 0;
            continue;
        }
        kill(-pid, SIGTERM);
        return process_end_within(pid, GRACE_MS * INT64_C(1000));
    }
    return status;
}

int external_command_pour(const struct external_command *c, const int fds[2], const sigset_t *watched, int *exit_code,
                          int *signal_number, struct error *e)
{
    struct process_failure failure;
    int null_fd = descriptor_above_standard(open("/dev/null", O_RDONLY | O_CLOEXEC));
    pid_t pid = start(c, fds[0], fds[1], null_fd, &failure);
    descriptor_close(&null_fd);
    if (pid < 0)
        return error_errno(e, failure.error_number, "%s: cannot be started (%s)", c->argv[0], failure.stage);
    const int status = wait_or_end(pid, watched, signal_number);
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return 0;
}

/* --- pager --- */

extern char **environ;

#define WAITS_MOST 1000

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* The handler of these signals needs it. */
static volatile pid_t pager_pid;

/* Only what may be called in a handler. */
static void wait_for_pager(void)
{
    close(1);
    close(2);
    /* A signal may interrupt it; errno is not for handlers. */
    for (int i = 0; i < WAITS_MOST && waitpid(pager_pid, NULL, 0) != pager_pid; i++)
        ;
}

static void end_after_pager(int number)
{
    wait_for_pager();
    signal(number, SIG_DFL);
    raise(number);
}

/* The caller's. */
static char **pager_environment(void)
{
    struct string_list list = STRING_LIST_INIT;
    for (char **variable = environ; *variable; variable++)
        string_list_add(&list, xstrdup(*variable));
    if (!environment_value(environ, "LESS"))
        string_list_add(&list, xstrdup("LESS=FRX"));
    if (!environment_value(environ, "LV"))
        string_list_add(&list, xstrdup("LV=-c"));
    return string_list_take(&list);
}

/* In the same session and group, which the terminal belongs to, with default signals, none of them blocked but those of
 * `mask`. 0 or an errno. */
static int spawn(const char *command, int input, const sigset_t *mask)
{
    char shell[] = "sh", option[] = "-c", *line = xstrdup(command), **environment = pager_environment();
    char *const argv[] = {shell, option, line, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all;
    pid_t pid;
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int error_number = posix_spawn(&pid, "/bin/sh", &files, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    strings_free(environment);
    free(line);
    if (error_number == 0)
        pager_pid = pid;
    return error_number;
}

static void heed_signals(void)
{
    for (size_t i = 0; i < LENGTH(signals); i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            signal(signals[i], end_after_pager);
    }
}

int pager_start(const char *command, bool with_errors, struct error *e)
{
    int ends[2];
    if (pipe_above_standard(ends) < 0) {
        error_errno(e, errno, "pager");
        descriptor_close(&ends[0]);
        return -1;
    }
    /* A signal that comes while the pager starts is heeded when it has: it ends nobody who does not wait. */
    sigset_t heeded, before;
    sigemptyset(&heeded);
    for (size_t i = 0; i < LENGTH(signals); i++)
        sigaddset(&heeded, signals[i]);
    pthread_sigmask(SIG_BLOCK, &heeded, &before);
    int error_number = spawn(command, ends[0], &before);
    if (error_number == 0) {
        heed_signals();
        dup2(ends[1], 1);
        if (with_errors)
            dup2(ends[1], 2);
    }
    descriptor_close(&ends[0]);
    descriptor_close(&ends[1]);
    pthread_sigmask(SIG_SETMASK, &before, NULL); /* the pager's input ends with what a handler closes */
    return error_number ? error_errno(e, error_number, "pager %s", command) : 0;
}

void pager_end(void)
{
    if (!pager_pid)
        return;
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    wait_for_pager();
    pager_pid = 0;
}
