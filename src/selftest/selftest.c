#include "selftest/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/process.h"
#include "process/supervisor.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/rng.h"

enum {
    EARLY_US = 25000,  /* while it opens, recovers and claims */
    LATE_US = 250000,  /* while jobs start and end */
    ORPHANS_MS = 5000, /* longest time that a process may outlive its runner */
    FINISH_MS = 900000,
    POLL_MS = 5
};

struct selftest {
    const struct selftest_options *options;
    struct selftest_report report;
    struct rng rng;
    int null_fd;
};

/* One sweep, from its file to its check. */
struct round {
    char *directory, *db_path;
    int log_fd;
};

#define NO_ROUND ((struct round){NULL, NULL, -1})

/* Uses all defaults, because they must ensure that every job ends, however often its runner died. */
static const char sweep_head[] =
    "[sweep]\n"
    "name = \"selftest\"\n"
    "objective = \"max:score\"\n"
    "[job]\n"
    "command = [\"/bin/sh\", \"{config_dir}/job.sh\", \"{x}\", \"{y}\", \"{config_dir}\"]\n"
    "grace = \"100ms\"\n"
    "[job.metrics.score]\n"
    "regex = 'score: ([0-9]+)'\n"
    "[[training_spec]]\n"
    "x = 1\n"
    "[[parallel_spec]]\n"
    "y = [";

/* `mkdir` creates the lock atomically; a job that finds it checks whether its owner is still at work. */
static const char job_text[] =
    "lock=$3/lock-$2\n"
    "if ! mkdir \"$lock\" 2>/dev/null; then\n"
    "    read -r other 2>/dev/null <\"$lock/pid\" && kill -0 \"$other\" 2>/dev/null &&\n"
    "        grep -aq \"MESHSWEEP_JOB_KEY=$MESHSWEEP_JOB_KEY\" \"/proc/$other/environ\" 2>/dev/null &&\n"
    "        echo \"job $MESHSWEEP_JOB: $other and $$\" >>\"$3/overlaps\"\n"
    "fi\n"
    "echo $$ >\"$lock/pid\"\n"
    "case $(($2 % 16)) in\n"
    "3) setsid sleep 60 >/dev/null 2>&1 & ;;\n"
    "5) rm -r \"$lock\"; exit 7 ;;\n"
    "*) sleep 0.0$(($2 % 5)) ;;\n"
    "esac\n"
    "half=$((500 * $1 + $2 / 2)).$(($2 % 2 * 5))\n"
    "echo \"{\\\"half\\\": $half, \\\"step\\\": 1}\" >>\"$MESHSWEEP_METRICS\"\n"
    "echo \"{\\\"half\\\": $half, \\\"step\\\": 2}\" >>\"$MESHSWEEP_METRICS\"\n"
    "rm -r \"$lock\"\n"
    "echo \"score: $((1000 * $1 + $2))\"\n";

/* --- a sweep's directory --- */

static int write_file(const char *directory, const char *name, const struct buffer *text, struct error *e)
{
    char *path = xasprintf("%s/%s", directory, name);
    int rc = file_write_atomic(path, text->data, text->length, e);
    free(path);
    return rc;
}

static int write_sweep(const char *directory, int64_t jobs, struct error *e)
{
    struct buffer sweep = BUFFER_INIT, job = BUFFER_INIT;
    buffer_add_text(&sweep, sweep_head);
    for (int64_t y = 1; y <= jobs; y++)
        buffer_printf(&sweep, "%" PRId64 ", ", y);
    buffer_add_text(&sweep, "]\n");
    buffer_add_text(&job, job_text);
    int rc = file_make_directories(directory, e);
    if (rc == 0)
        rc = write_file(directory, "selftest.toml", &sweep, e);
    if (rc == 0)
        rc = write_file(directory, "job.sh", &job, e);
    buffer_free(&sweep);
    buffer_free(&job);
    return rc;
}

static void close_sweep(struct round *r)
{
    if (r->log_fd >= 0)
        close(r->log_fd);
    free(r->directory);
    free(r->db_path);
    *r = NO_ROUND;
}

static int open_sweep(const struct selftest *t, struct round *out, struct error *e)
{
    struct round r = NO_ROUND;
    r.directory = xasprintf("%s/sweep-%" PRId64, t->options->directory, t->report.sweeps + 1);
    r.db_path = xasprintf("%s/results.db", r.directory);
    if (write_sweep(r.directory, t->options->jobs, e) < 0)
        goto failed;
    char *log = xasprintf("%s/runner.log", r.directory);
    r.log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    free(log);
    if (r.log_fd < 0) {
        error_errno(e, errno, "%s: cannot write", r.directory);
        goto failed;
    }
    *out = r;
    return 0;
failed:
    close_sweep(&r);
    return -1;
}

/* --- a runner --- */

static void pause_us(int64_t us)
{
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static pid_t start_runner(const struct selftest *t, const struct round *r, struct error *e)
{
    char *const argv[] = {(char *)"meshsweep",  (char *)"run",  (char *)"-c", (char *)"selftest.toml",
                          (char *)"-d",         r->db_path,     (char *)"-j", (char *)"4",
                          (char *)"--progress", (char *)"none", NULL};
    const struct process_start start = {t->options->program,
                                        argv,
                                        t->options->environment,
                                        r->directory,
                                        t->null_fd,
                                        r->log_fd,
                                        r->log_fd,
                                        NULL,
                                        0,
                                        NULL};
    struct process_failure failure;
    pid_t pid = process_spawn(&start, NULL, &failure);
    if (pid < 0)
        error_errno(e, failure.error_number, "%s: cannot start (%s)", t->options->program, failure.stage);
    return pid;
}

/* A killed runner is no failure; the database shows what became of the jobs. */
static int check_end(const struct round *r, int status, bool *finished, struct error *e)
{
    enum { SOME_JOBS_FAILED = 3 };
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        *finished = false;
        return 0;
    }
    *finished = true;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SOME_JOBS_FAILED))
        return 0;
    return error_set(e, ERROR_FAILED, "a runner ended with %s %d; see %s/runner.log",
                     WIFSIGNALED(status) ? "signal" : "status",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), r->directory);
}

/* Starts a runner and kills it after `life_us`, unless it has finished by then. */
static int run_and_kill(const struct selftest *t, const struct round *r, int64_t life_us, bool *finished,
                        struct error *e)
{
    pid_t pid = start_runner(t, r, e);
    return pid < 0 ? -1 : check_end(r, process_end_within(pid, life_us), finished, e);
}

static int run_to_end(const struct selftest *t, const struct round *r, struct error *e)
{
    bool finished;
    pid_t pid = start_runner(t, r, e);
    if (pid < 0 || check_end(r, process_end_within(pid, FINISH_MS * INT64_C(1000)), &finished, e) < 0)
        return -1;
    return finished ? 0 : error_set(e, ERROR_FAILED, "a runner has not finished after %d s", FINISH_MS / 1000);
}

/* --- proofs --- */

/* After a kill, the processes of jobs must end without another start. */
static int expect_no_orphans(struct selftest *t, const struct round *r, struct error *e)
{
    char *identity = selftest_identity(r->db_path);
    if (!identity)
        return 0;
    int64_t killed_ms = clock_monotonic_ms(), passed_ms = 0;
    size_t left;
    while ((left = supervisor_count_escaped(identity)) > 0 && passed_ms < ORPHANS_MS) {
        pause_us(POLL_MS * 1000);
        passed_ms = clock_monotonic_ms() - killed_ms;
    }
    free(identity);
    if (passed_ms > t->report.longest_orphan_ms)
        t->report.longest_orphan_ms = passed_ms;
    if (left > 0)
        return error_set(e, ERROR_FAILED, "%zu processes outlive their runner by %d s", left, ORPHANS_MS / 1000);
    return 0;
}

static int expect_no_overlaps(const struct round *r, struct error *e)
{
    char *path = xasprintf("%s/overlaps", r->directory);
    struct buffer text = BUFFER_INIT;
    struct error absent = ERROR_INIT;
    int rc = 0;
    if (file_read(path, 1 << 20, &text, &absent) == 0)
        rc = error_set(e, ERROR_FAILED, "two attempts of one job were at work at once: %s", buffer_text(&text));
    buffer_free(&text);
    free(path);
    return rc;
}

static int prove_round(struct selftest *t, const struct round *r, struct error *e)
{
    if (expect_no_orphans(t, r, e) < 0 || expect_no_overlaps(r, e) < 0 ||
        selftest_prove(r->db_path, t->options->jobs, &t->report, e) < 0)
        return error_context(e, "%s", r->db_path);
    return 0;
}

/* --- the whole --- */

static int64_t random_life_us(struct selftest *t)
{
    return (int64_t)rng_below(&t->rng, rng_below(&t->rng, 3) == 0 ? EARLY_US : LATE_US);
}

static void count_kill(struct selftest *t)
{
    t->report.kills++;
    if (t->options->on_kill)
        t->options->on_kill(t->options->context, t->report.kills);
}

/* Runs one sweep: kills it until it finishes nevertheless or there have been enough kills, then checks it. */
static int run_round(struct selftest *t, const struct round *r, struct error *e)
{
    bool finished = false;
    while (!finished && t->report.kills < t->options->kills) {
        if (run_and_kill(t, r, random_life_us(t), &finished, e) < 0)
            return -1;
        if (finished)
            break;
        count_kill(t);
        /* Every other start follows at once, so that it meets what the last runner left. */
        if (t->report.kills % 2 == 0 && expect_no_orphans(t, r, e) < 0)
            return -1;
    }
    if (!finished && run_to_end(t, r, e) < 0)
        return -1;
    return prove_round(t, r, e);
}

static int run_rounds(struct selftest *t, struct error *e)
{
    do {
        struct round r;
        if (open_sweep(t, &r, e) < 0)
            return -1;
        int rc = run_round(t, &r, e);
        close_sweep(&r);
        if (rc < 0)
            return -1;
    } while (t->report.kills < t->options->kills);
    return 0;
}

int selftest_run(const struct selftest_options *options, struct selftest_report *out, struct error *e)
{
    struct selftest t = {.options = options, .rng = rng_stream(options->seed, 0)};
    int64_t began_ms = clock_monotonic_ms();
    t.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (t.null_fd < 0)
        return error_errno(e, errno, "/dev/null: cannot open");
    int rc = run_rounds(&t, e);
    close(t.null_fd);
    t.report.duration_ms = clock_monotonic_ms() - began_ms;
    if (rc == 0)
        *out = t.report;
    return rc;
}
