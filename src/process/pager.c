#include "process/pager.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/process.h"
#include "util/memory.h"
#include "util/string_list.h"

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
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    descriptor_close(&ends[0]);
    descriptor_close(&ends[1]);
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
