/* run: starting, limits, what is reported of an end, output. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "awkward_children.h"
#include "process/log_cap.h"
#include "process/process.h"
#include "supervisor_bench.h"
#include "unit_test.h"
#include "util/clock.h"
#include "util/file.h"

RELEASES(bench, bench_close)

/* --- ends of themselves --- */

BENCH_TEST(wait__exit_zero__no_files, 2)
{
    HELD(outcome) o = run_argv(b, (char *[]){"true", NULL});
    assert_end(&o, "exit 0");
    assert_null(o.log_path);
    assert_null(o.metrics_path);
    assert_true(access(b->job_dir, F_OK) < 0);
    assert_true(o.ended_wall_ms >= o.started_wall_ms);
    assert_true(o.usage.ru_maxrss > 0);
}

BENCH_TEST(wait__output_and_status__kept_in_job_directory, 1)
{
    struct outcome o = run_shell(b, "echo out; echo err >&2; exit 3");
    assert_end(&o, "exit 3");
    assert_int_equal(o.log_bytes, 8);
    assert_log(&o, "out\nerr\n");
    OWNED char *wanted = xasprintf("%s/output.log", b->job_dir);
    assert_string_equal(o.log_path, wanted);
    outcome_free(&o);
    /* The slot's file went with the first job: the second begins with an empty one. */
    o = run_shell(b, "echo again");
    assert_log(&o, "again\n");
    outcome_free(&o);
}

BENCH_TEST(wait__own_directory_wanted__files_there_from_the_start, 1)
{
    char *argv[] = {"sh", "-c", "echo \"$MESHSWEEP_METRICS\"; echo '{\"a\": 1}' > \"$MESHSWEEP_METRICS\"", NULL};
    struct launch launch = launch_of(b, argv);
    launch.make_job_dir = true;
    HELD(outcome) o = run_launch(b, &launch);
    OWNED char *metrics = xasprintf("%s/metrics.jsonl", b->job_dir), *line = xasprintf("%s\n", metrics);
    assert_string_equal(o.metrics_path, metrics);
    assert_log(&o, line);
    struct stat status;
    assert_int_equal(stat(b->job_dir, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
}

BENCH_TEST(wait__metrics_written__moved_to_job_directory, 1)
{
    HELD(outcome) o = run_shell(b, "echo '{\"a\": 1}' > \"$MESHSWEEP_METRICS\"");
    assert_file(o.metrics_path, "{\"a\": 1}\n");
    assert_int_equal(strncmp(o.metrics_path, b->job_dir, strlen(b->job_dir)), 0);
    assert_null(o.log_path);
}

BENCH_TEST(wait__job_directory_cannot_be_made__output_kept_in_scratch, 1)
{
    strcpy(b->job_dir, "/proc/nowhere/a");
    HELD(outcome) o = run_shell(b, "echo precious");
    assert_int_equal(strncmp(o.log_path, b->scratch, strlen(b->scratch)), 0);
    assert_log(&o, "precious\n");
}

/* The machine chooses whether a core is written: the same child, waited for by hand, tells. */
BENCH_TEST(wait__abort__core_flag_as_the_kernel_says, 1)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(b->directory) == 0)
            execl(b->self, b->self, "child", "dump-core", NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct launch launch = launch_of(b, (char *[]){b->self, "child", "dump-core", NULL});
    launch.directory = b->directory;
    HELD(outcome) o = run_launch(b, &launch);
    assert_int_equal(o.ending, ENDING_SIGNALED);
    assert_int_equal(o.signal_number, SIGABRT);
    assert_int_equal(o.core_dumped, !!WCOREDUMP(status));
}

TEST(start__child__clean_signals_descriptors_session)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGUSR2, &ignore, &old); /* as under nohup: ignored signals are inherited */
    struct bench *b = bench_open(1, 0, NULL);
    struct launch launch = launch_of(b, (char *[]){b->self, "child", "describe", NULL});
    launch.directory = b->directory;
    int extra = open("/dev/null", O_RDONLY); /* not close-on-exec */
    struct outcome o = run_launch(b, &launch);
    close(extra);
    char *expected = xasprintf("odd=0 fds=0 leader=1 input=-1 cwd=%s\n", b->directory);
    assert_log(&o, expected);
    free(expected);
    outcome_free(&o);
    bench_close(b);
    sigaction(SIGUSR2, &old, NULL);
}

static volatile int signal_before_leaving; /* 0: none */

/* In place of libc's: what a terminal sends to the group that the child is about to leave. */
pid_t setsid(void);
pid_t setsid(void)
{
    if (signal_before_leaving)
        kill(getpid(), signal_before_leaving);
    return (pid_t)syscall(SYS_setsid);
}

BENCH_TEST(start__signal_to_our_group_meanwhile__is_not_the_jobs, 1)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < LENGTH(signals); i++) {
        signal_before_leaving = signals[i];
        HELD(outcome) o = run_argv(b, (char *[]){"true", NULL});
        signal_before_leaving = 0;
        assert_int_equal(o.ending, ENDING_EXITED);
    }
}

BENCH_TEST(start__environment__exactly_what_was_given_and_ours, 1)
{
    struct launch launch = launch_of(b, (char *[]){"/usr/bin/env", NULL});
    launch.environment = (char *[]){"A=1", "MESHSWEEP_ATTEMPT=forged", NULL};
    HELD(outcome) o = run_launch(b, &launch);
    char *expected =
        xasprintf("MESHSWEEP_ATTEMPT=%s:1\nMESHSWEEP_METRICS=%s/attempt-1.metrics.jsonl\nA=1\n", b->prefix, b->scratch);
    assert_log(&o, expected);
    free(expected);
}

/* --- what cannot be started --- */

static void write_script(const char *path, const char *text, mode_t mode)
{
    FAIL_IF(file_write_atomic(path, text, strlen(text), &e));
    assert_int_equal(chmod(path, mode), 0);
}

static void assert_not_started(struct bench *b, char *const *argv, const char *directory, int error_number,
                               const char *stage)
{
    struct launch launch = launch_of(b, argv);
    launch.directory = directory;
    assert_int_equal(supervisor_start(b->supervisor, &launch).process.pid, 0);
    HELD(outcome) o = wait_for_one(b);
    assert_int_equal(o.ending, ENDING_SPAWN_FAILED);
    assert_int_equal(o.error_number, error_number);
    assert_string_equal(o.spawn_stage, stage);
    assert_int_equal(o.exit_code, -1);
    assert_null(o.log_path);
}

BENCH_TEST(start__no_such_program__spawn_failure, 1)
{
    assert_not_started(b, (char *[]){"no-such-program-here", NULL}, NULL, ENOENT, "exec");
    assert_not_started(b, (char *[]){"/no/such/program", NULL}, NULL, ENOENT, "exec");
    assert_not_started(b, (char *[]){"", NULL}, NULL, ENOENT, "exec");
    HELD(outcome) o = run_shell(b, "exit 127");
    assert_end(&o, "exit 127"); /* which is not the same */
}

BENCH_TEST(start__not_executable__spawn_failure, 1)
{
    OWNED char *script = xasprintf("%s/script", b->directory), *path = xasprintf("PATH=%s", b->directory);
    write_script(script, "#!/bin/sh\n", 0644);
    assert_not_started(b, (char *[]){script, NULL}, NULL, EACCES, "exec");
    int error_number = 0;
    assert_null(process_find_program("script", (char *[]){path, NULL}, NULL, &error_number));
    assert_int_equal(error_number, EACCES);
    write_script(script, "#!/no/such/interpreter\n", 0755);
    assert_not_started(b, (char *[]){script, NULL}, NULL, ENOENT, "exec");
    write_script(script, "no interpreter at all\n", 0755);
    assert_not_started(b, (char *[]){script, NULL}, NULL, ENOEXEC, "exec");
}

BENCH_TEST(start__directory_missing__spawn_failure, 1)
{
    assert_not_started(b, (char *[]){"true", NULL}, "/no/such/directory", ENOENT, "chdir");
    assert_not_started(b, (char *[]){"true", NULL}, "/bin/true", ENOTDIR, "chdir");
}

BENCH_TEST(start__argument_too_long__spawn_failure, 1)
{
    OWNED char *huge = xmalloc(1 << 20);
    memset(huge, 'x', (1 << 20) - 1);
    huge[(1 << 20) - 1] = '\0';
    assert_not_started(b, (char *[]){"true", huge, NULL}, NULL, E2BIG, "exec");
}

BENCH_TEST(find_program__relative_path_entry__counts_from_the_directory, 1)
{
    OWNED char *script = xasprintf("%s/tool", b->directory);
    write_script(script, "#!/bin/sh\necho found\n", 0755);
    struct launch launch = launch_of(b, (char *[]){"tool", NULL});
    launch.environment = (char *[]){"PATH=/nowhere::/bin", NULL};
    launch.directory = b->directory;
    HELD(outcome) o = run_launch(b, &launch);
    assert_log(&o, "found\n");
}

/* --- limits --- */

TEST(wait__awkward_children__ended_and_reported)
{
    static const struct child_end cases[] = {
        {"kill-itself", "signal SIGKILL", NULL, 0, 0, 0, 0},
        {"close-output", "exit 5", "before\n", 0, 0, 0, 0},
        {"sleep", "timeout SIGTERM 100 ms", NULL, 100, 0, 0, 100},
        {"ignore-term", "timeout SIGKILL 500 ms", "deaf\n", 500, 0, 0, 700}, /* after the grace */
        {"stop-itself", "timeout SIGTERM 300 ms", NULL, 300, 0, 0, 300},
        /* Counted from the last output: 400 of talk; the last word no earlier than 360. */
        {"talk-then-fall-silent", "idle SIGTERM 300 ms", "step\nstep\nstep\nstep\nstep\nstep\nstep\nstep\nstep\nstep\n",
         0, 300, 0, 660},
        {"talk-then-fall-silent", "startup SIGTERM 200 ms", NULL, 0, 0, 200, 200},
    };
    assert_children_end(cases, LENGTH(cases));
}

BENCH_TEST(wait__metric_written_in_time__no_startup_timeout, 1)
{
    struct launch launch = launch_of(b, (char *[]){b->self, "child", "measure-then-wait", NULL});
    launch.startup_timeout_ms = 400;
    HELD(outcome) o = run_launch(b, &launch);
    assert_end(&o, "exit 0");
    assert_non_null(o.metrics_path);
}

static bool holds_step(void *context, int64_t attempt, const struct attempt_files *files)
{
    (void)context;
    (void)attempt;
    OWNED char *text = text_of(files->log_path);
    bool found = strstr(text, "step") != NULL;
    return found;
}

TEST(wait__metric_in_the_log__no_startup_timeout)
{
    HELD_AT(bench) *b = bench_open(1, 0, holds_step);
    struct launch launch = launch_of(b, (char *[]){b->self, "child", "talk-then-fall-silent", NULL});
    launch.startup_timeout_ms = 200;
    launch.timeout_ms = 600;
    HELD(outcome) o = run_launch(b, &launch);
    assert_int_equal(o.ending, ENDING_TIMEOUT);
}

/* --- output --- */

BENCH_TEST(wait__fifty_megabytes__kept_whole, 1)
{
    HELD(outcome) o = run_child(b, "shout", 0);
    struct stat status;
    assert_int_equal(o.exit_code, 0);
    assert_int_equal(o.log_bytes, 50000000);
    assert_int_equal(stat(o.log_path, &status), 0);
    assert_int_equal(status.st_size, 50000000);
}

TEST(wait__log_over_its_cap__head_and_tail_kept_and_the_cut_stated)
{
    HELD_AT(bench) *b = bench_open(1, 1 << 20, NULL);
    HELD(outcome) o = run_child(b, "shout", 0);
    assert_int_equal(o.log_bytes, 50000000);
    assert_int_equal(o.log_cap_bytes, 1 << 20);
    assert_int_equal(log_cap_compact(o.log_path, o.log_bytes, o.log_cap_bytes), 0);
    OWNED char *text = text_of(o.log_path);
    size_t length = strlen(text);
    assert_true(length <= (1 << 20) + 100 && length > (1 << 20) - 200000);
    assert_memory_equal(text, "000000000 ", 10);
    assert_memory_equal(text + length - 100, "000499999 ", 10);
    const char *mark = strstr(text, "\n[… ");
    assert_non_null(mark);
    long long cut = strtoll(mark + strlen("\n[… "), NULL, 10);
    const char *rest = strchr(mark + 1, '\n') + 1;
    assert_int_equal((mark - text) + cut + (long long)strlen(rest), 50000000);
    assert_int_equal((mark - text) % 100, 0); /* both cuts at line ends */
    assert_int_equal(strlen(rest) % 100, 0);
}

/* --- the loop --- */

TEST(wait__many_quick_jobs__each_reported_once)
{
    enum { JOBS = 300, SLOTS = 4 };
    HELD_AT(bench) *b = bench_open(SLOTS, 0, NULL);
    char told[JOBS + 1] = {0};
    int started = 0, done = 0;
    while (done < JOBS) {
        while (started < JOBS && supervisor_running(b->supervisor) < SLOTS) {
            struct launch launch = launch_of(b, (char *[]){"true", NULL});
            supervisor_start(b->supervisor, &launch);
            started++;
        }
        struct outcome o = wait_for_one(b);
        assert_int_equal(o.exit_code, 0);
        assert_int_equal(told[o.attempt]++, 0);
        outcome_free(&o);
        done++;
    }
}

BENCH_TEST(wait__nothing_ends__returns_at_its_own_limit, 1)
{
    struct launch launch = launch_of(b, (char *[]){b->self, "child", "sleep", NULL});
    supervisor_start(b->supervisor, &launch);
    struct outcome none;
    struct wake wake = {-1, -1};
    int64_t before_ms = clock_monotonic_ms();
    assert_int_equal(supervisor_wait(b->supervisor, 50, &none, 1, &wake), 0);
    assert_true(clock_monotonic_ms() - before_ms >= 50);
    assert_int_equal(wake.bits, 0);
    assert_int_equal(supervisor_wait(b->supervisor, 0, &none, 1, &wake), 0);
}

BENCH_TEST(wait__signals_for_the_runner__told, 1)
{
    struct outcome none;
    struct wake wake;
    kill(getpid(), SIGINT);
    assert_int_equal(supervisor_wait(b->supervisor, PATIENCE_MS, &none, 1, &wake), 0);
    assert_int_equal(wake.bits, WAKE_INTERRUPT);
    assert_int_equal(wake.signal, SIGINT);
    kill(getpid(), SIGHUP);
    assert_int_equal(supervisor_wait(b->supervisor, PATIENCE_MS, &none, 1, &wake), 0);
    assert_int_equal(wake.bits, WAKE_TERMINATE);
    assert_int_equal(wake.signal, SIGHUP);
}

/* As under nohup, and in the background of a shell. */
TEST(wait__signals_ignored_from_the_start__stay_so)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGHUP, &ignore, &old);
    struct bench *b = bench_open(1, 0, NULL);
    struct outcome none;
    struct wake wake;
    kill(getpid(), SIGHUP);
    assert_int_equal(supervisor_wait(b->supervisor, 50, &none, 1, &wake), 0);
    assert_int_equal(wake.bits, 0);
    bench_close(b);
    sigaction(SIGHUP, &old, NULL);
}

TEST(wait__children_ignored_from_the_start__status_told_all_the_same)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old, after;
    sigaction(SIGCHLD, &ignore, &old);
    HELD_AT(bench) *b = bench_open(1, 0, NULL);
    struct outcome o = run_shell(b, "exit 6");
    assert_int_equal(o.exit_code, 6);
    outcome_free(&o);
    supervisor_free(b->supervisor);
    b->supervisor = NULL;
    sigaction(SIGCHLD, &old, &after);
    assert_true(after.sa_handler == SIG_IGN);
}

TEST(create__more_slots_than_open_files__refused)
{
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct supervisor *s = NULL;
    const struct supervisor_options options = {.slots = old.rlim_max, .scratch_dir = "/tmp", .token_prefix = "x"};
    if (old.rlim_max == RLIM_INFINITY)
        return;
    FAILS_WITH_PART(supervisor_create(&options, &s, &e), "raise the limit with: ulimit -n ");
    assert_null(s);
}

TEST(create__more_open_files_allowed_than_usual__taken_and_not_left_to_jobs)
{
    struct rlimit old, few = {100, 100}, now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct bench *b = bench_open(50, 0, NULL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(now.rlim_cur, 214);
    HELD(outcome) o = run_shell(b, "ulimit -n");
    assert_log(&o, "100\n");
    bench_close(b);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(now.rlim_cur, 100);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

TEST(boot_id__read__a_uuid)
{
    char id[64];
    assert_int_equal(strlen(boot_id_read(id)), 36);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return awkward_child(argv[2]);
    if (!vfork_shares_memory())
        return 77;
    return unit_test_run(argc, argv);
}
