#include "awkward_children.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/supervisor.h"

static int sleep_on(void)
{
    for (;;)
        pause();
    return 0;
}

static int ignore_term(void)
{
    signal(SIGTERM, SIG_IGN);
    puts("deaf");
    fflush(stdout);
    return sleep_on();
}

/* A daemon by the book: away from the session, its parent dead. */
static void daemonize(void)
{
    if (fork() > 0)
        _exit(0);
    setsid();
    if (fork() > 0)
        _exit(0);
}

static void in_background(int (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        daemonize();
        _exit(body());
    }
    waitpid(pid, NULL, 0);
}

void wait_ms(int64_t ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static int leave_daemon_at_once(void)
{
    in_background(sleep_on);
    return 0;
}

static int leave_silent_daemon(void)
{
    int null = open("/dev/null", O_RDWR);
    dup2(null, 1);
    dup2(null, 2);
    in_background(sleep_on);
    return 0;
}

static int leave_daemon_later(void)
{
    in_background(sleep_on);
    wait_ms(150);
    return 0;
}

static int chatter(void)
{
    signal(SIGTERM, SIG_IGN);
    for (;;) {
        dprintf(1, "straggler\n");
        wait_ms(1);
    }
    return 0;
}

static int leave_chatterer(void)
{
    in_background(chatter);
    return 0;
}

/* Nothing tells whose it is but whom it descends from. */
static int leave_nameless_daemon(void)
{
    char self[4096] = {0};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        daemonize();
        execle(self, self, "child", "sleep", NULL, (char *[]){NULL});
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    wait_ms(150);
    return 0;
}

static int leave_child_in_group(void)
{
    if (fork() == 0)
        return sleep_on();
    return 7;
}

static int leave_child_that_ends_soon(void)
{
    if (fork() == 0) {
        wait_ms(30);
        printf("last words\n");
        return 0;
    }
    return 0;
}

static int stop_itself(void)
{
    raise(SIGSTOP);
    return sleep_on();
}

/* Two to the seventh processes, deaf to TERM, every fourth in a session of its own. */
static int bomb(void)
{
    signal(SIGTERM, SIG_IGN);
    for (int level = 0; level < 7; level++)
        if (fork() == 0 && level % 4 == 3)
            setsid();
    return sleep_on();
}

/* Never more than a few at once, but always new ones. */
static int hydra(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    for (int generation = 0; generation < 3000; generation++) {
        if (fork() > 0)
            _exit(0);
        wait_ms(1);
    }
    return 0;
}

static int kill_itself(void)
{
    raise(SIGKILL);
    return 0;
}

static int dump_core(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    signal(SIGABRT, SIG_DFL);
    abort();
}

static int shout(void)
{
    char line[101];
    memset(line, 'x', 99);
    for (int i = 0; i < 500000; i++) {
        snprintf(line, sizeof line, "%09d", i);
        line[9] = ' ';
        line[99] = '\n';
        if (fwrite(line, 1, 100, stdout) != 100)
            return 1;
    }
    return 0;
}

static int talk_then_fall_silent(void)
{
    for (int i = 0; i < 10; i++) {
        dprintf(1, "step\n");
        wait_ms(40);
    }
    return sleep_on();
}

static int measure_then_wait(void)
{
    FILE *file = fopen(getenv("MESHSWEEP_METRICS"), "a");
    if (!file)
        return 1;
    fprintf(file, "{\"speed\": 12.5}\n");
    fclose(file);
    wait_ms(600);
    return 0;
}

static int close_output(void)
{
    printf("before\n");
    fflush(stdout);
    close(1);
    close(2);
    wait_ms(20);
    return 5;
}

/* Says what it was born with. */
static int describe(void)
{
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    int odd = 0;
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && (action.sa_handler == SIG_IGN || sigismember(&blocked, i) == 1))
            odd++;
    }
    int open_fds = 0;
    for (int fd = 3; fd < 1024; fd++)
        open_fds += fcntl(fd, F_GETFD) >= 0;
    char cwd[4096];
    printf("odd=%d fds=%d leader=%d input=%d cwd=%s\n", odd, open_fds, getsid(0) == getpid(), (int)getchar(),
           getcwd(cwd, sizeof cwd));
    return 0;
}

static int run_a_supervisor(void)
{
    char self[4096] = {0};
    struct supervisor *s;
    struct supervisor_options options = {.slots = 2,
                                         .scratch_dir = getenv("TEST_SCRATCH"),
                                         .token_prefix = getenv("TEST_PREFIX")};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || supervisor_create(&options, &s, NULL) < 0)
        return 1;
    char *const environment[] = {"PATH=/bin", NULL};
    struct launch launch = {.attempt = 1,
                            .argv = (char *[]){self, "child", "sleep", NULL},
                            .environment = environment,
                            .job_dir = options.scratch_dir};
    struct launch daemon = {.attempt = 2,
                            .argv = (char *[]){self, "child", "leave-daemon-later", NULL},
                            .environment = environment,
                            .job_dir = options.scratch_dir};
    supervisor_start(s, &launch);
    supervisor_start(s, &daemon);
    wait_ms(75); /* the daemon is there now, or nearly; neither job has ended */
    raise(SIGKILL);
    return 0;
}

static const struct {
    const char *name;
    int (*body)(void);
} children[] = {
    {"sleep", sleep_on},
    {"ignore-term", ignore_term},
    {"leave-daemon-at-once", leave_daemon_at_once},
    {"leave-silent-daemon", leave_silent_daemon},
    {"leave-daemon-later", leave_daemon_later},
    {"leave-chatterer", leave_chatterer},
    {"leave-nameless-daemon", leave_nameless_daemon},
    {"leave-child-in-group", leave_child_in_group},
    {"leave-child-that-ends-soon", leave_child_that_ends_soon},
    {"stop-itself", stop_itself},
    {"bomb", bomb},
    {"hydra", hydra},
    {"kill-itself", kill_itself},
    {"dump-core", dump_core},
    {"shout", shout},
    {"talk-then-fall-silent", talk_then_fall_silent},
    {"measure-then-wait", measure_then_wait},
    {"close-output", close_output},
    {"describe", describe},
    {"run-a-supervisor", run_a_supervisor},
};

int awkward_child(const char *name)
{
    for (size_t i = 0; i < sizeof children / sizeof *children; i++)
        if (strcmp(children[i].name, name) == 0)
            return children[i].body();
    return 99;
}
