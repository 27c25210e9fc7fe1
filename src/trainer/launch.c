#include "trainer/launch.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trainer/collective.h"

/* pid[r] is 0 once rank r has been waited for. */
struct ranks {
    pid_t pid[COLLECTIVE_MAX_RANKS];
    int count;
    int alive;
};

static void become_rank(pid_t launcher)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The launcher may have died before the line above took effect. */
    if (getppid() != launcher)
        _exit(STATUS_FAILED);
}

static int start(struct ranks *ranks, launch_main rank_main, void *context, struct error *e)
{
    pid_t launcher = getpid();

    /* Otherwise each rank would write what is still in the buffers. */
    fflush(NULL);
    for (int r = 0; r < ranks->count; r++) {
        pid_t pid = fork();
        if (pid < 0)
            return error_set(e, STATUS_FAILED, "rank %d cannot be started: %s", r, strerror(errno));
        if (pid == 0) {
            become_rank(launcher);
            exit(rank_main(r, context));
        }
        ranks->pid[r] = pid;
        ranks->alive++;
    }
    return 0;
}

static void kill_all(const struct ranks *ranks)
{
    for (int r = 0; r < ranks->count; r++)
        if (ranks->pid[r] > 0)
            kill(ranks->pid[r], SIGKILL);
}

/* Waits for any rank; children inherited through exec are not ranks. */
static int wait_for_one(struct ranks *ranks, int *wait_status)
{
    for (;;) {
        pid_t pid = waitpid(-1, wait_status, 0);
        assert(pid > 0 || errno == EINTR);
        for (int r = 0; r < ranks->count; r++)
            if (pid > 0 && ranks->pid[r] == pid) {
                ranks->pid[r] = 0;
                ranks->alive--;
                return r;
            }
    }
}

static int rank_failed(int rank, int wait_status, struct error *e)
{
    if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);
        return error_set(e, 128 + number, "rank %d was killed by signal %d (%s)", rank, number, strsignal(number));
    }
    return error_set(e, WEXITSTATUS(wait_status), "rank %d ended with status %d", rank, WEXITSTATUS(wait_status));
}

int launch_ranks(int ranks, launch_main rank_main, void *context, struct error *e)
{
    struct ranks started = {.count = ranks};

    /* An ignored SIGCHLD is inherited from the parent, and children then cannot be waited for. */
    signal(SIGCHLD, SIG_DFL);
    int result = start(&started, rank_main, context, e), wait_status;

    if (result < 0)
        kill_all(&started);
    while (started.alive > 0) {
        int rank = wait_for_one(&started, &wait_status);
        if (wait_status == 0 || result < 0)
            continue;
        result = rank_failed(rank, wait_status, e);
        kill_all(&started);
    }
    return result;
}
