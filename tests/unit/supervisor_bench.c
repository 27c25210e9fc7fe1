#include "supervisor_bench.h"

#include <sys/wait.h>

#include "process/process_table.h"
#include "unit_test.h"
#include "util/buffer.h"
#include "util/file.h"

struct bench *bench_open(size_t slots, int64_t log_cap_bytes,
                         bool (*first_metric)(void *, int64_t, const struct attempt_files *))
{
    struct bench *b = xcalloc(1, sizeof *b);
    strcpy(b->directory, "/tmp/meshsweep-test-XXXXXX");
    assert_non_null(mkdtemp(b->directory));
    snprintf(b->scratch, sizeof b->scratch, "%s/scratch", b->directory);
    snprintf(b->job_dir, sizeof b->job_dir, "%s/jobs/a", b->directory);
    /* Its own per test, so that the search for what was left cannot meet another test's. */
    snprintf(b->prefix, sizeof b->prefix, "test-%s", b->directory + strlen("/tmp/meshsweep-test-"));
    assert_true(readlink("/proc/self/exe", b->self, sizeof b->self - 1) > 0);
    b->next_attempt = 1;
    struct supervisor_options options = {.slots = slots,
                                         .scratch_dir = b->scratch,
                                         .token_prefix = b->prefix,
                                         .first_metric = first_metric,
                                         .log_cap_bytes = log_cap_bytes};
    FAIL_IF(supervisor_create(&options, &b->supervisor, &e));
    return b;
}

static int count_seen(const struct bench *b)
{
    HELD(process_table) t = PROCESS_TABLE_INIT;
    int left = 0;
    process_table_read(&t);
    for (size_t i = 0; i < t.count; i++)
        left += t.entries[i].parent == getpid() || process_token(t.entries[i].pid, b->prefix) >= 0;
    return left;
}

int count_left(const struct bench *b)
{
    int left = count_seen(b);
    if (left > 0)
        return left;
    usleep(5000); /* one look misses what is started while it looks */
    return count_seen(b);
}

void bench_close(struct bench *b)
{
    supervisor_free(b->supervisor);
    assert_int_equal(count_left(b), 0);
    OWNED char *command = xasprintf("rm -rf '%s'", b->directory);
    assert_int_equal(system(command), 0);
    free(b);
}

static char *const usual_environment[] = {"PATH=/usr/bin:/bin", "ASAN_OPTIONS=detect_leaks=0", NULL};

struct launch launch_of(struct bench *b, char *const *argv)
{
    return (struct launch){.attempt = b->next_attempt++,
                           .argv = argv,
                           .environment = usual_environment,
                           .job_dir = b->job_dir,
                           .grace_ms = 200};
}

struct outcome wait_for_one(struct bench *b)
{
    struct outcome outcome;
    struct wake wake;
    assert_int_equal(supervisor_wait(b->supervisor, PATIENCE_MS, &outcome, 1, &wake), 1);
    return outcome;
}

struct outcome run_launch(struct bench *b, const struct launch *launch)
{
    supervisor_start(b->supervisor, launch);
    struct outcome outcome = wait_for_one(b);
    assert_int_equal(outcome.attempt, launch->attempt);
    return outcome;
}

struct outcome run_argv(struct bench *b, char *const *argv)
{
    struct launch launch = launch_of(b, argv);
    return run_launch(b, &launch);
}

struct outcome run_shell(struct bench *b, const char *script)
{
    return run_argv(b, (char *[]){"sh", "-c", (char *)script, NULL});
}

struct outcome run_child(struct bench *b, const char *name, int64_t timeout_ms)
{
    struct launch launch = launch_of(b, (char *[]){b->self, "child", (char *)name, NULL});
    launch.timeout_ms = timeout_ms;
    return run_launch(b, &launch);
}

void assert_end(const struct outcome *o, const char *expected)
{
    static const char *const words[] = {"none",    "exit", "signal",  "not started",
                                        "timeout", "idle", "startup", "cancelled"};
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_add_text(&b, words[o->ending]);
    if (o->exit_code >= 0)
        buffer_printf(&b, " %d", o->exit_code);
    if (o->signal_number)
        buffer_printf(&b, " SIG%s", sigabbrev_np(o->signal_number));
    if (o->limit_ms)
        buffer_printf(&b, " %d ms", (int)o->limit_ms);
    if (o->leftover_count)
        buffer_printf(&b, ", %d left", o->leftover_count);
    buffer_add_text(&b, o->core_dumped ? ", core dumped" : "");
    buffer_add_text(&b, o->host_oom ? ", host out of memory" : "");
    assert_string_equal(buffer_text(&b), expected);
}

void assert_children_end(const struct child_end *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct child_end *c = &cases[i];
        struct bench *b = bench_open(1, 0, NULL);
        print_message("%s\n", c->name);
        struct launch launch = launch_of(b, (char *[]){b->self, "child", (char *)c->name, NULL});
        launch.timeout_ms = c->timeout_ms;
        launch.idle_timeout_ms = c->idle_timeout_ms;
        launch.startup_timeout_ms = c->startup_timeout_ms;
        struct outcome o = run_launch(b, &launch);
        assert_end(&o, c->end);
        assert_true(o.duration_ms >= c->duration_ms);
        assert_int_equal(count_left(b), 0);
        if (c->log)
            assert_log(&o, c->log);
        outcome_free(&o);
        bench_close(b);
    }
}

void assert_log(const struct outcome *o, const char *expected)
{
    OWNED char *text = text_of(o->log_path);
    assert_string_equal(text, expected);
}

bool vfork_shares_memory(void)
{
    volatile bool shared = false;
    pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
    if (pid == 0) {
        shared = true; /* NOLINT(clang-analyzer-unix.Vfork) */
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    if (!shared)
        puts("skipped: vfork is a fork here");
    return shared;
}
