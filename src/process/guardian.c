#include "process/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/supervisor.h"

enum { PIPE_FD = 3, DESCRIPTORS_MOST = 65536 };

static void ignore_signals(void)
{
    const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
}

/* Above all the writer's lock, which would outlive the runner with it. */
static void keep_only(int pipe_fd)
{
    dup2(pipe_fd, PIPE_FD);
    int null_fd = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < PIPE_FD; fd++)
        dup2(null_fd, fd);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, PIPE_FD + 1U, ~0U, 0U) == 0)
        return;
#endif
    for (int fd = PIPE_FD + 1; fd < DESCRIPTORS_MOST; fd++)
        close(fd);
}

/* True when the runner has gone without a farewell. */
static bool wait_for_death(void)
{
    char farewell;
    ssize_t n;
    do
        n = read(PIPE_FD, &farewell, 1);
    while (n < 0 && errno == EINTR);
    return n == 0;
}

__attribute__((noreturn)) static void stand_guard(int pipe_fd, const char *token_prefix, int64_t grace_ms)
{
    struct error ignored = ERROR_INIT;
    ignore_signals();
    keep_only(pipe_fd);
    prctl(PR_SET_NAME, "meshsweep-guard");
    /* A directory in use cannot be unmounted. */
    bool dead = chdir("/") == 0 && wait_for_death();
    if (dead)
        supervisor_end_escaped(token_prefix, grace_ms, &ignored);
    _exit(0);
}

/* Starts it as a grandchild whose parent ends at once: it belongs to nobody. */
static int detach(int pipe_fd, const char *token_prefix, int64_t grace_ms)
{
    pid_t between = fork();
    if (between < 0)
        return -1;
    if (between == 0) {
        setsid();
        pid_t guardian = fork();
        if (guardian == 0)
            stand_guard(pipe_fd, token_prefix, grace_ms);
        _exit(guardian < 0);
    }
    int status = -1;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR)
        continue;
    return status == 0 ? 0 : -1;
}

int guardian_start(const char *token_prefix, int64_t grace_ms)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    int rc = detach(ends[0], token_prefix, grace_ms);
    close(ends[0]);
    if (rc == 0)
        return ends[1];
    close(ends[1]);
    return -1;
}

void guardian_dismiss(int descriptor)
{
    if (descriptor < 0)
        return;
    /* When it is gone already, there is nobody to tell: SIGPIPE is ignored in this program. */
    ssize_t n = write(descriptor, "", 1);
    (void)n;
    close(descriptor);
}
