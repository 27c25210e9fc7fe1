/* run: what belongs to a job, and that all of it is gone at the end. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "awkward_children.h"
#include "process/process.h"
#include "supervisor_bench.h"
#include "unit_test.h"
#include "util/clock.h"

TEST(wait__what_children_leave__ended_before_the_outcome)
{
    static const struct child_end cases[] = {
        {"leave-child-in-group", "exit 7, 1 left", NULL, 0, 0, 0, 0},
        {"leave-child-that-ends-soon", "exit 0", "last words\n", 0, 0, 0, 0}, /* it is let finish */
        {"leave-daemon-at-once", "exit 0, 1 left", NULL, 0, 0, 0, 0},         /* which holds the log */
        {"leave-daemon-later", "exit 0, 1 left", NULL, 0, 0, 0, 0},
    };
    assert_children_end(cases, LENGTH(cases));
}

static void wait_until_none_left(struct bench *b)
{
    int64_t until_ms = clock_monotonic_ms() + PATIENCE_MS;
    struct outcome none;
    struct wake wake;
    while (count_left(b) > 0 && clock_monotonic_ms() < until_ms)
        assert_int_equal(supervisor_wait(b->supervisor, 20, &none, 1, &wake), 0);
    assert_int_equal(count_left(b), 0);
}

/* By the common scan, and by descent. */
BENCH_TEST(wait__daemon_without_log_or_token__ended, 1)
{
    static const char *const names[] = {"leave-silent-daemon", "leave-nameless-daemon"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        HELD(outcome) o = run_child(b, names[i], 0);
        assert_int_equal(o.exit_code, 0);
        wait_until_none_left(b);
    }
}

BENCH_TEST(wait__straggler_writes_on__never_into_the_next_log, 1)
{
    struct outcome o = run_child(b, "leave-chatterer", 0);
    assert_int_equal(o.leftover_count, 1);
    outcome_free(&o);
    o = run_shell(b, "sleep 0.1; echo mine");
    assert_log(&o, "mine\n");
    outcome_free(&o);
}

BENCH_TEST(wait__bomb_of_the_deaf__all_gone, 1)
{
    HELD(outcome) o = run_child(b, "bomb", 300);
    assert_int_equal(o.ending, ENDING_TIMEOUT);
    assert_int_equal(count_left(b), 0);
}

BENCH_TEST(wait__ever_new_processes__all_gone, 1)
{
    HELD(outcome) o = run_child(b, "hydra", 0);
    assert_int_equal(o.exit_code, 0);
    /* Orphans that are somebody else's may be gone each time before a signal reaches them. */
    assert_true(o.leftover_count >= 1 || supervisor_lacks());
    assert_int_equal(count_left(b), 0);
}

BENCH_TEST(cancel__once_then_twice__terminated_then_killed_at_once, 2)
{
    struct launch deaf = launch_of(b, (char *[]){b->self, "child", "ignore-term", NULL});
    struct launch mild = launch_of(b, (char *[]){b->self, "child", "sleep", NULL});
    deaf.grace_ms = 10 * PATIENCE_MS;
    struct location where = supervisor_start(b->supervisor, &deaf);
    assert_int_equal(where.process.start_ticks, process_start_ticks((pid_t)where.process.pid));
    assert_int_equal(where.slot, 0);
    supervisor_start(b->supervisor, &mild);
    assert_int_equal(supervisor_running(b->supervisor), 2);
    assert_int_equal(supervisor_slot(b->supervisor, mild.attempt), 1);
    assert_int_equal(supervisor_slot(b->supervisor, 4711), -1);
    /* Deaf only once it says so. */
    char *log = xasprintf("%s/slot-0.log", b->scratch);
    struct stat status;
    for (int64_t until_ms = clock_monotonic_ms() + PATIENCE_MS;
         stat(log, &status) < 0 || (status.st_size == 0 && clock_monotonic_ms() < until_ms);)
        wait_ms(1);
    free(log);
    supervisor_cancel_all(b->supervisor);
    struct outcome o = wait_for_one(b);
    assert_int_equal(o.attempt, mild.attempt);
    assert_int_equal(o.ending, ENDING_CANCELLED);
    assert_int_equal(o.signal_number, SIGTERM);
    outcome_free(&o);
    supervisor_cancel_all(b->supervisor);
    o = wait_for_one(b);
    assert_int_equal(o.attempt, deaf.attempt);
    assert_int_equal(o.ending, ENDING_CANCELLED);
    assert_int_equal(o.signal_number, SIGKILL);
    outcome_free(&o);
    assert_int_equal(supervisor_running(b->supervisor), 0);
}

TEST(free__jobs_running__nothing_left_and_signals_given_back)
{
    sigset_t before, after;
    sigprocmask(SIG_SETMASK, NULL, &before);
    struct bench *b = bench_open(4, 0, NULL);
    static const char *const names[] = {"sleep", "ignore-term", "stop-itself", "leave-daemon-later"};
    for (size_t i = 0; i < 4; i++) {
        struct launch launch = launch_of(b, (char *[]){b->self, "child", (char *)names[i], NULL});
        supervisor_start(b->supervisor, &launch);
    }
    bench_close(b);
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < NSIG; i++)
        assert_int_equal(sigismember(&before, i), sigismember(&after, i));
    struct sigaction pipe_action;
    sigaction(SIGPIPE, NULL, &pipe_action);
    assert_true(pipe_action.sa_handler == SIG_DFL);
}

/* --- death of the runner --- */

TEST(end_escaped__runner_was_killed__leaders_die_with_it_and_daemons_are_found)
{
    struct bench *b = bench_open(1, 0, NULL);
    setenv("TEST_SCRATCH", b->scratch, 1);
    setenv("TEST_PREFIX", b->prefix, 1);
    pid_t pid = fork();
    if (pid == 0) {
        execl(b->self, b->self, "child", "run-a-supervisor", NULL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    struct error e = ERROR_INIT;
    assert_true(supervisor_end_escaped(b->prefix, 1000, &e) >= 1);
    assert_int_equal(supervisor_end_escaped(b->prefix, 1000, &e), 0);
    bench_close(b); /* which looks for zombies and escaped processes once more */
}

BENCH_TEST(end_escaped__another_prefix__not_touched, 1)
{
    struct launch launch = launch_of(b, (char *[]){b->self, "child", "sleep", NULL});
    struct location where = supervisor_start(b->supervisor, &launch);
    FAIL_IF(supervisor_end_escaped("another", 0, &e));
    assert_int_equal(process_start_ticks((pid_t)where.process.pid), where.process.start_ticks);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return awkward_child(argv[2]);
    if (!vfork_shares_memory())
        return 77;
    return unit_test_run(argc, argv);
}
