#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.h"
#include "commands/commands.h"
#include "database/audit.h"
#include "database/open.h"
#include "process/process.h"
#include "process/supervisor.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/error.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/rng.h"

/* --- selftest --- */

/* Tests crash safety: sweeps of small real processes whose runner is killed by SIGKILL at random moments and restarted,
 * until the requested number of kills is reached. A sweep that finishes before that is checked and followed by another;
 * the last one is left to finish.
 *
 * Each job computes a number that follows from its index, so the expected content of the database is known without a
 * second run. Some jobs fail by design, some leave a process behind, and each takes a lock that reveals two
 * simultaneous attempts of one job. */

struct selftest_report {
    int64_t kills, sweeps, jobs, attempts, lost;
    int64_t longest_orphan_ms; /* from a kill to the end of the last process, if that was waited for */
    int64_t duration_ms;
};

/* --- proof --- */

/* Checks invariants of a finished database, whatever happened to its runners. */

static void keep_finding(void *context, const struct audit_finding *f)
{
    error_add_line(context, ERROR_FAILED, "%s (%" PRId64 "): %s", f->what, f->count, f->examples);
}

/* Adds the content of a finished database to the report, or fails with what is wrong with it. */
static int prove(const char *db_path, int64_t jobs, struct selftest_report *report, struct error *e)
{
    OWNED_DB *db = NULL;
    OWNED_STMT *s = NULL;
    size_t wrong;
    if (store_open_read_only(db_path, &db, e) < 0 ||
        db_next(db, embedded_text("src/commands/selftest.sql"), NO_VALUES, &s, e) <= 0)
        return -1;
    if (stmt_int(s, 0) != jobs)
        return error_set(e, ERROR_FAILED, "there are %" PRId64 " jobs, not %" PRId64, stmt_int(s, 0), jobs);
    if (!stmt_is_null(s, 3))
        return error_set(e, ERROR_FAILED, "%s", stmt_text(s, 3));
    report->sweeps++;
    report->jobs += stmt_int(s, 0);
    report->attempts += stmt_int(s, 1);
    report->lost += stmt_int(s, 2);
    return audit_run(db, db_path, keep_finding, e, &wrong, e) < 0 || wrong ? -1 : 0;
}

/* The database's identity; NULL if there is none yet. The caller frees it. */
static char *selftest_identity(const char *db_path)
{
    OWNED_DB *db = NULL;
    struct error ignored = ERROR_INIT;
    char *identity = NULL;
    /* A runner that was killed early may leave nothing to read. */
    if (store_open_read_only(db_path, &db, &ignored) == 0)
        store_identity(db, &identity, &ignored);
    return identity;
}

/* --- kills --- */

enum {
    EARLY_US = 25000,  /* while it opens, recovers and claims */
    LATE_US = 250000,  /* while jobs start and end */
    ORPHANS_MS = 5000, /* longest time that a process may outlive its runner */
    FINISH_MS = 900000,
    POLL_MS = 5
};

#define PROGRAM "/proc/self/exe"

struct selftest {
    const struct selftest_options *options;
    const char *directory; /* holds the sweeps and databases */
    struct selftest_report report;
    struct rng rng;
    int null_fd;
};

/* One sweep, from its file to its check. */
struct round {
    char *directory, *db_path;
    int log_fd;
};

extern char **environ;

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

/* --- a sweep's directory --- */

static int write_file(const char *directory, const char *name, const struct buffer *text, struct error *e)
{
    OWNED char *path = xasprintf("%s/%s", directory, name);
    return file_write_atomic(path, text->data, text->length, e);
}

static int write_sweep(const char *directory, int64_t jobs, struct error *e)
{
    OWNED_BUFFER sweep = BUFFER_INIT, job = BUFFER_INIT;
    buffer_add_text(&sweep, sweep_head);
    for (int64_t y = 1; y <= jobs; y++)
        buffer_printf(&sweep, "%" PRId64 ", ", y);
    buffer_add_text(&sweep, "]\n");
    buffer_add_text(&job, embedded_text("src/commands/selftest.sh"));
    int rc = file_make_directories(directory, e);
    if (rc == 0)
        rc = write_file(directory, "selftest.toml", &sweep, e);
    if (rc == 0)
        rc = write_file(directory, "job.sh", &job, e);
    return rc;
}

static void close_sweep(struct round *r)
{
    descriptor_close(&r->log_fd);
    free_all(r->directory, r->db_path);
}

/* `*r` is to be closed in any case. */
static int open_sweep(const struct selftest *t, struct round *r, struct error *e)
{
    *r = (struct round){.directory = xasprintf("%s/sweep-%" PRId64, t->directory, t->report.sweeps + 1), .log_fd = -1};
    r->db_path = xasprintf("%s/results.db", r->directory);
    OWNED char *log = xasprintf("%s/runner.log", r->directory);
    if (write_sweep(r->directory, t->options->jobs, e) < 0)
        return -1;
    r->log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return r->log_fd < 0 ? error_errno(e, errno, "%s: cannot write", r->directory) : 0;
}

/* --- a runner --- */

static pid_t start_runner(const struct selftest *t, const struct round *r, struct error *e)
{
    char *const argv[] = {(char *)"meshsweep",  (char *)"run",  (char *)"-c", (char *)"selftest.toml",
                          (char *)"-d",         r->db_path,     (char *)"-j", (char *)"4",
                          (char *)"--progress", (char *)"none", NULL};
    const struct process_start start = {PROGRAM,   argv, environ, r->directory, t->null_fd, r->log_fd,
                                        r->log_fd, NULL, 0,       NULL};
    struct process_failure failure;
    pid_t pid = process_spawn(&start, NULL, &failure);
    if (pid < 0)
        error_errno(e, failure.error_number, "%s: cannot start (%s)", PROGRAM, failure.stage);
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
    OWNED char *identity = selftest_identity(r->db_path);
    if (!identity)
        return 0;
    int64_t killed_ms = clock_monotonic_ms(), passed_ms = 0;
    size_t left;
    while ((left = supervisor_count_escaped(identity)) > 0 && passed_ms < ORPHANS_MS) {
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
        passed_ms = clock_monotonic_ms() - killed_ms;
    }
    if (passed_ms > t->report.longest_orphan_ms)
        t->report.longest_orphan_ms = passed_ms;
    if (left > 0)
        return error_set(e, ERROR_FAILED, "%zu processes outlive their runner by %d s", left, ORPHANS_MS / 1000);
    return 0;
}

static int expect_no_overlaps(const struct round *r, struct error *e)
{
    OWNED char *path = xasprintf("%s/overlaps", r->directory);
    OWNED_BUFFER text = BUFFER_INIT;
    struct error absent = ERROR_INIT;
    int rc = 0;
    if (file_read(path, 1 << 20, &text, &absent) == 0)
        rc = error_set(e, ERROR_FAILED, "two attempts of one job were at work at once: %s", buffer_text(&text));
    return rc;
}

static int prove_round(struct selftest *t, const struct round *r, struct error *e)
{
    if (expect_no_orphans(t, r, e) < 0 || expect_no_overlaps(r, e) < 0 ||
        prove(r->db_path, t->options->jobs, &t->report, e) < 0)
        return error_context(e, "%s", r->db_path);
    return 0;
}

/* --- the whole --- */

static void count_kill(struct selftest *t)
{
    const int64_t kills = t->options->kills, step = kills >= 100 ? kills / 10 : 10;
    t->report.kills++;
    if (t->report.kills % step == 0)
        output_message("%" PRId64 " of %" PRId64 " kills", t->report.kills, kills);
}

/* Runs one sweep: kills its runner at random moments until it finishes nevertheless or there have been enough kills,
 * then checks it. */
static int run_round(struct selftest *t, const struct round *r, struct error *e)
{
    bool finished = false;
    while (!finished && t->report.kills < t->options->kills) {
        const uint64_t most_us = rng_below(&t->rng, 3) == 0 ? EARLY_US : LATE_US;
        const int64_t life_us = (int64_t)rng_below(&t->rng, most_us);
        pid_t pid = start_runner(t, r, e);
        if (pid < 0 || check_end(r, process_end_within(pid, life_us), &finished, e) < 0)
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
        OWNED_BY(close_sweep) struct round r = {.log_fd = -1};
        if (open_sweep(t, &r, e) < 0 || run_round(t, &r, e) < 0)
            return -1;
    } while (t->report.kills < t->options->kills);
    return 0;
}

/* 0 if everything holds. -1 with the first violation in `e`; then the directory is worth keeping. */
static int selftest_run(struct selftest *t, struct error *e)
{
    const int64_t began_ms = clock_monotonic_ms();
    t->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (t->null_fd < 0)
        return error_errno(e, errno, "/dev/null: cannot open");
    int rc = run_rounds(t, e);
    close(t->null_fd);
    t->report.duration_ms = clock_monotonic_ms() - began_ms;
    return rc;
}

/* --- the command --- */

/* Absolute: runners have another working directory. */
static char *make_directory(const char *where, struct error *e)
{
    if (!where)
        where = getenv("TMPDIR");
    OWNED char *path = xasprintf("%s/meshsweep-selftest.XXXXXX", where && where[0] ? where : "/tmp");
    char *made = mkdtemp(path) ? path_absolute(path) : NULL;
    if (!made)
        error_errno(e, errno, "%s: cannot make the directory", path);
    return made;
}

static int print_report(const struct selftest_options *o, const struct selftest_report *r, struct error *e)
{
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_printf(&b,
                  "%" PRId64 " kills survived in %" PRId64 " sweep%s of %" PRId64 " jobs (seed %" PRId64 ", %.1f s):\n"
                  "%" PRId64 " jobs, each in one final state with its own number; %" PRId64
                  " attempts, of which %" PRId64 " were lost and made again;\n"
                  "nothing missing, nothing recorded twice, no two attempts of a job at once, no process left"
                  " (the last one gone %.2f s after a kill)\n",
                  r->kills, r->sweeps, r->sweeps == 1 ? "" : "s", o->jobs, o->seed, (double)r->duration_ms / 1000,
                  r->jobs, r->attempts, r->lost, (double)r->longest_orphan_ms / 1000);
    return output_people(&b, e);
}

int command_selftest(const struct selftest_options *o, struct error *e)
{
    OWNED char *directory = make_directory(o->directory, e);
    if (!directory)
        return -1;
    struct selftest t = {.options = o, .directory = directory, .rng = rng_stream((uint64_t)o->seed, 0)};
    if (selftest_run(&t, e) < 0) {
        output_message("the files of the test are kept in %s", directory);
        return -1;
    }
    file_tree_bytes(directory, true, NULL);
    return print_report(o, &t.report, e);
}
