#include <inttypes.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "device/provenance.h"
#include "metrics/classify.h"
#include "process/capture.h"
#include "process/job_file.h"
#include "process/process_table.h"
#include "process/supervisor.h"
#include "run/executor.h"
#include "run/recording.h"
#include "run/run_counts.h"
#include "run/run_state.h"
#include "run/runner.h"
#include "run/scripts.h"
#include "run/starter.h"
#include "secrets/secrets.h"
#include "space/job_texts.h"
#include "store/attempts.h"
#include "store/runners.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/file.h"
#include "util/memory.h"

/* The runner before this one. */

static bool is_alive(const struct runner_process *p)
{
    struct process_entry now;
    char boot_id[64];
    return p->pid != getpid() && strcmp(boot_id_read(boot_id), p->boot_id) == 0 && process_read((pid_t)p->pid, &now) &&
           now.live && now.start_ticks == p->start_ticks;
}

/* Returns the mark of the processes that a runner starts: "<identity>:<id>-<pid>". A copy of the database has its
 * identity and numbers its runners alike. The caller's. */
static char *runner_token(const char *identity, int64_t id, int64_t pid)
{
    return xasprintf("%s:%" PRId64 "-%" PRId64, identity, id, pid);
}

/* Finds whether the last runner of the database, then in `*last`, died without a word, so that processes of its may be
 * left. Fails when it is still at work: somebody removed the lock's file, or this is a copy of a database in use.
 * Ending its jobs, which look like those of a dead runner, would spoil both. */
static int previous_runner_check(struct db *db, struct runner_process *last, bool *died, struct error *e)
{
    bool open;
    if (runner_find_open(db, last, &open, e) < 0)
        return -1;
    if (open && is_alive(last))
        return error_set(e, ERROR_FAILED,
                         "process %lld is using this database, or the one that this is a copy of; wait for it or stop "
                         "it, then start again",
                         (long long)last->pid);
    *died = open;
    return 0;
}

/* An attempt whose runner died, and where its output lies. */
struct orphan {
    int64_t attempt, number;
    int64_t started_ms; /* no later than it was */
    bool ran;           /* a claim whose start had not been recorded may have run, or not */
    char key_hex[HASH_HEX_BYTES];
    char *log, *metrics; /* in the scratch directory; NULL: none */
    char *directory;     /* below the directory of job files; NULL: nothing was kept */
};

struct orphans {
    struct orphan *items;
    size_t count;
};

static void orphans_free(struct orphans *o)
{
    for (size_t i = 0; i < o->count; i++) {
        free_all(o->items[i].log, o->items[i].metrics, o->items[i].directory);
    }
    free(o->items);
}

static int find_orphans(struct db *db, struct orphans *out, struct error *e)
{
    static const char sql[] =
        "SELECT attempt.id, number, lower(hex(key)), coalesce(attempt.started, runner.started),"
        " attempt.state = 'running' FROM attempt JOIN job ON job.id = job_id JOIN runner ON runner.id = "
        "runner_id WHERE attempt.state IN ('claimed', 'running') AND executor IN ('local', 'ssh', 'slurm-step') AND "
        "directory IS NULL";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0) {
        struct orphan *o = array_add(out->items, out->count);
        *o = (struct orphan){.attempt = stmt_int(s, 0),
                             .number = stmt_int(s, 1),
                             .started_ms = stmt_int(s, 3),
                             .ran = stmt_int(s, 4) != 0};
        snprintf(o->key_hex, sizeof o->key_hex, "%s", stmt_text(s, 2));
    }
    return rc;
}

static int64_t size_of(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : 0;
}

/* `path` when there is something in it, else NULL. Takes `path`. */
static char *unless_empty(char *path)
{
    if (size_of(path) > 0)
        return path;
    free(path);
    return NULL;
}

static void find_files(struct orphan *o, const char *scratch_dir)
{
    int slot = slot_of_attempt(scratch_dir, o->attempt);
    o->ran |= slot >= 0;
    if (slot >= 0)
        o->log = unless_empty(xasprintf("%s/slot-%d.log", scratch_dir, slot));
    o->metrics = unless_empty(xasprintf("%s/attempt-%" PRId64 ".metrics.jsonl", scratch_dir, o->attempt));
}

/* Returns whether the runner had begun to keep the attempt's files there when it died. An older directory of that name
 * is of an attempt that was deleted by hand. */
static bool was_begun(const char *job_dir, int64_t started_ms)
{
    struct stat status;
    return lstat(job_dir, &status) == 0 && S_ISDIR(status.st_mode) &&
           (int64_t)status.st_mtim.tv_sec * 1000 + 999 >= started_ms;
}

/* Names the attempt's directory: the one that was begun, else one that is not there yet. Returns whether it is
 * there. */
static bool name_directory(struct orphan *o, const char *root)
{
    for (int again = 1;; again++) {
        o->directory = attempt_directory_name(o->key_hex, o->number, again);
        OWNED char *job_dir = xasprintf("%s/%s", root, o->directory);
        struct stat status;
        bool begun = was_begun(job_dir, o->started_ms), there = lstat(job_dir, &status) == 0;
        if (begun || !there)
            return begun;
        free(o->directory);
    }
}

/* Moves a file into the directory unless there is one of its name. Takes `from`. */
static void move_file(char *from, int directory, const char *name)
{
    struct stat status;
    if (from && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        (void)!renameat(AT_FDCWD, from, directory, name); /* what cannot be moved is no reason not to go on */
    free(from);
}

static void keep_files(struct orphan *o, const char *root)
{
    bool there = name_directory(o, root);
    o->ran |= there;
    OWNED char *job_dir = xasprintf("%s/%s", root, o->directory);
    int directory = o->log || o->metrics ? job_directory_make(job_dir) : there ? job_directory_open(job_dir) : -1;
    if (directory >= 0) {
        move_file(o->log, directory, "output.log");
        move_file(o->metrics, directory, "metrics.jsonl");
        o->metrics = NULL;
        o->log = xasprintf("%s/output.log", job_dir);
    } else {
        free(o->directory);
        o->directory = NULL;
    }
    if (directory >= 0)
        close(directory);
}

static int record_orphan(struct db *db, const struct orphan *o, const struct secrets *secrets, struct error *e)
{
    OWNED char *raw = o->directory ? log_tail(o->log, TAIL_BYTES) : NULL, *tail = secrets_redact(secrets, raw);
    return db_run(db,
                  "UPDATE attempt SET state = 'running', started = coalesce(started, ?2),"
                  " directory = coalesce(?3, directory), log_bytes = ?4, log_tail = ?5 WHERE id = ?1",
                  VALUES(sql_int(o->attempt), sql_int(o->started_ms), sql_text(o->directory),
                         o->directory ? sql_int(size_of(o->log)) : sql_null(), sql_text(tail)),
                  e);
}

int recover_outputs(struct db *db, const char *scratch_dir, const char *directory, const struct secrets *secrets,
                    struct error *e)
{
    struct orphans orphans = {NULL, 0};
    int rc = find_orphans(db, &orphans, e);
    for (size_t i = 0; rc == 0 && i < orphans.count; i++) {
        struct orphan *o = &orphans.items[i];
        find_files(o, scratch_dir);
        keep_files(o, directory);
        if (o->ran)
            rc = record_orphan(db, o, secrets, e);
    }
    orphans_free(&orphans);
    return rc;
}

/* --- recovery --- */

/* A dead runner's processes are dealt with first, then its files, then its rows. */

/* The processes and files of a runner that died without a word; `*after_death` says whether there was one. What stands
 * in the directory of slots otherwise, of another database's runner say, is removed. Before this one is recorded and
 * before anything is started. */
static int recovery_clean(const struct runner_options *o, const char *scratch, const struct secrets *secrets,
                          bool *after_death, struct error *e)
{
    /* A runner that died between a record and the end of what escaped from that job left no open attempt. */
    struct runner_process last;
    if (previous_runner_check(o->db, &last, after_death, e) < 0)
        return -1;
    if (*after_death) {
        OWNED char *token = runner_token(o->identity, last.id, last.pid);
        /* In a transaction of its own: the files are moved whether or not what follows succeeds. */
        if (supervisor_end_escaped(token, o->space->sweep->job.grace_ms, e) < 0 || db_begin(o->db, e) < 0 ||
            db_end(o->db, recover_outputs(o->db, scratch, o->directory, secrets, e), e) < 0)
            return -1;
    }
    capture_tidy(scratch);
    FAULT(OUTPUT_RECOVERED);
    return 0;
}

static int64_t own_start_ticks(void)
{
    struct process_entry self;
    return process_read(getpid(), &self) ? self.start_ticks : 0;
}

/* Records this process as a runner. */
static int recovery_record_runner(const struct runner_options *o, int64_t *runner_id, struct error *e)
{
    struct utsname machine;
    char boot[64];
    uname(&machine);
    const struct job_config *job = &o->space->sweep->job;
    OWNED char *versions = versions_json(job, o->environment);
    OWNED char *provenance = provenance_json(NULL, o->environment, job->pass_environment, job->secrets, versions);
    const struct runner_row row = {machine.nodename, boot_id_read(boot), provenance, getpid(), own_start_ticks()};
    int rc = runner_record(o->db, &row, runner_id, e);
    FAULT(RUNNER_RECORDED);
    return rc;
}

static int adopt(struct db *db, int64_t runner_id, const struct recovered_attempts *left, struct error *e)
{
    for (size_t i = 0; i < left->count; i++)
        if (left->items[i].taken && recovered_attempt_adopt(db, left->items[i].claim.attempt_id, runner_id, e) < 0)
            return -1;
    return 0;
}

/* Starting one job finds out whether their host can run them now. */
static int let_all_go(const struct runner_options *o, struct error *e)
{
    int64_t count;
    if (jobs_let_go(o->db, o->sweep_id, INT64_MAX, &count, e) < 0)
        return -1;
    return o->release ? jobs_forget_losses(o->db, o->sweep_id, &count, e) : 0;
}

/* Failed jobs, and those of them whose scripts are others now than when they ran, which are in temp.mended. */
struct mended {
    int64_t jobs, failed;
    struct string_list paths;
};

static int note_script(struct db *db, const struct stmt *s, struct scripts *scripts, struct mended *m, struct error *e)
{
    const char *path = stmt_text(s, 1), *now = scripts_content(scripts, path);
    if (!now[0] || strcmp(now, stmt_text(s, 2)) == 0)
        return 0;
    if (string_list_find(&m->paths, path) == m->paths.count)
        string_list_add(&m->paths, xstrdup(path));
    return db_run(db, "INSERT OR IGNORE INTO temp.mended VALUES (?)", VALUES(sql_int(stmt_int(s, 0))), e);
}

static int find_mended(const struct runner_options *o, struct mended *m, struct error *e)
{
    static const char sql[] =
        "SELECT j.id, k.key, k.value FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id, json_each(a.scripts) AS k"
        " WHERE j.sweep_id = ?1 AND j.state = 'failed'";
    static const char selected[] = " AND j.id IN (SELECT job_id FROM temp.selected)";
    OWNED char *scripts_of = xasprintf("%s%s", sql, o->only_selected ? selected : "");
    OWNED char *failed = xasprintf("SELECT count(*) FROM job AS j WHERE sweep_id = ?1 AND state = 'failed'%s",
                                   o->only_selected ? selected : "");
    struct scripts *scripts = scripts_create();
    OWNED_STMT *s = NULL;
    int rc = db_exec(o->db, "CREATE TEMP TABLE mended (job_id INTEGER PRIMARY KEY)", e);
    if (rc == 0)
        rc = db_query(o->db, scripts_of, VALUES(sql_int(o->sweep_id)), &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0)
        rc = note_script(o->db, s, scripts, m, e);
    if (rc == 0)
        rc = db_query_int(o->db, "SELECT count(*) FROM temp.mended", NO_VALUES, 0, &m->jobs, e);
    if (rc == 0)
        rc = db_query_int(o->db, failed, VALUES(sql_int(o->sweep_id)), 0, &m->failed, e);
    scripts_free(scripts);
    return rc;
}

/* "train.sh (12:03)", of the first scripts. */
static int add_scripts(struct db *db, const struct string_list *paths, struct buffer *out, struct error *e)
{
    static const char sql[] =
        "SELECT strftime(iif(date(?1, 'unixepoch', 'localtime') = date('now', 'localtime'), '%H:%M',"
        " '%Y-%m-%d %H:%M'), ?1, 'unixepoch', 'localtime')";
    for (size_t i = 0; i < paths->count && i < 3; i++) {
        struct stat status;
        char *time = NULL;
        if (stat(paths->items[i], &status) < 0)
            continue;
        if (db_query_text(db, sql, VALUES(sql_int((int64_t)status.st_mtim.tv_sec)), &time, e) < 0)
            return -1;
        buffer_printf(out, "%s%s (%s)", out->length ? ", " : "", path_name(paths->items[i]), time);
        free(time);
    }
    return 0;
}

/* Failed jobs that a change of their scripts may have mended: again, with [retry] changed, else said. `*notice` is the
 * caller's, NULL: there are none. */
static int look_for_mended(const struct runner_options *o, const struct requeue_request *request, char **notice,
                           struct error *e)
{
    struct mended m = {0, 0, STRING_LIST_INIT};
    OWNED_BUFFER scripts = BUFFER_INIT;
    const bool again = o->space->sweep->retry.changed;
    int64_t count = 0;
    int rc = find_mended(o, &m, e);
    if (rc == 0)
        rc = add_scripts(o->db, &m.paths, &scripts, e);
    if (rc == 0 && again && m.jobs)
        rc = jobs_requeue_listed(o->db, request, "temp.mended", &count, e);
    if (rc == 0)
        rc = db_exec(o->db, "DROP TABLE temp.mended", e);
    const char *has = m.paths.count == 1 ? "has" : "have";
    OWNED char *some = m.jobs == m.failed ? xstrdup("") : xasprintf(" %lld of them ran", (long long)m.jobs);
    if (rc == 0 && m.jobs && again)
        *notice = xasprintf("%lld failed job%s again; %s %s changed since", (long long)count,
                            count == 1 ? " runs" : "s run", buffer_text(&scripts), has);
    else if (rc == 0 && m.jobs)
        *notice = xasprintf("%lld job%s failed; %s %s changed since%s: --retry-failed runs them again",
                            (long long)m.failed, m.failed == 1 ? " stays" : "s stay", buffer_text(&scripts), has, some);
    string_list_free(&m.paths);
    return rc;
}

static int write_rows(const struct runner_options *o, int64_t runner_id, const struct recovered_attempts *left,
                      struct run_result *result, char **notice, struct error *e)
{
    const struct sweep *sweep = o->space->sweep;
    const struct requeue_request request = {
        .sweep_id = o->sweep_id,
        .policy = &sweep->retry,
        .forced = o->forced_classes,
        .repeat = sweep->job.repeat,
        .only_selected = o->only_selected,
        .most = o->job_limit,
        .in_order = !o->source,
    };
    struct recovered_counts recovered = {0, 0};
    const bool starts_jobs = !o->source || !o->source->full;
    if (adopt(o->db, runner_id, left, e) < 0 || attempts_recover(o->db, runner_id, &sweep->retry, &recovered, e) < 0)
        return -1;
    if (starts_jobs && (let_all_go(o, e) < 0 || jobs_requeue(o->db, &request, &result->requeued, e) < 0 ||
                        look_for_mended(o, &request, notice, e) < 0))
        return -1;
    result->recovered = recovered.lost;
    result->aside = o->release ? 0 : recovered.aside;
    FAULT(REQUEUED);
    return 0;
}

/* Ends attempts that nobody holds, `left` that were taken excepted: those are the runner's now. Jobs that are due again
 * become pending. Fills `recovered` and `requeued` of the result. */
static int recovery_rows(const struct runner_options *o, int64_t runner_id, const struct recovered_attempts *left,
                         struct run_result *result, struct error *e)
{
    OWNED char *notice = NULL;
    if (db_begin(o->db, e) < 0)
        return -1;
    int rc = db_end(o->db, write_rows(o, runner_id, left, result, &notice, e), e);
    FAULT(RECOVERED);
    if (rc == 0 && notice)
        runner_tell(o, "%s", notice);
    return rc;
}

/* --- set up --- */

struct running_attempt *runner_find_running(const struct runner *r, int64_t attempt)
{
    return FIND(i, r->running_count, r->running[i].claim.attempt_id == attempt, &r->running[i]);
}

static int64_t read_on(void *context, int64_t attempt, const struct attempt_files *files)
{
    struct runner *r = context;
    const struct running_attempt *f = runner_find_running(r, attempt);
    if (f)
        readings_follow(r->readings, f, files);
    return readings_position(r->readings, attempt);
}

static bool log_has_metric(void *context, int64_t attempt, const struct attempt_files *files)
{
    struct runner *r = context;
    read_on(context, attempt, files);
    return readings_found_any(r->readings, attempt);
}

/* A reason to wait that never passes by itself says what to change. */
static void tell_wait(struct runner *r, const char *waits)
{
    if (!waits || !strchr(waits, ';') || r->told_wait == waits)
        return;
    r->told_wait = waits;
    runner_tell(r->options, "jobs wait at Slurm: %s", waits);
}

/* The name of a job that outlives its runner is worth a record of its own: a look at Slurm's queue leads to the row. */
static void note_reference(void *context, int64_t attempt, const char *reference, const char *waits)
{
    struct runner *r = context;
    struct running_attempt *f = runner_find_running(r, attempt);
    if (!f)
        return;
    /* The reference that stands there may be being written. */
    if (reference && !f->start.reference)
        f->start.reference = xstrdup(reference);
    f->start.waits = string_list_intern(&r->wait_texts, waits ? xstrdup(waits) : NULL);
    f->reference_due = f->start_recorded;
    r->unrecorded_starts |= f->reference_due;
    r->was_taken = true;
    tell_wait(r, f->start.waits);
}

static void note_host(void *context, const char *host, bool is_up, const char *what)
{
    struct runner *r = context;
    (is_up ? device_keeper_regain : device_keeper_lose)(r->keeper, host);
    if (what)
        runner_tell(r->options, "%s", what);
}

static int create_executor(struct runner *r, struct error *e)
{
    const struct runner_options *o = r->options;
    r->token = runner_token(o->identity, r->runner_id, getpid());
    const struct executor_options options = {
        /* Each fixture may be up as often as there are slots, with one command beside each, and one that ends. */
        .slots = o->slots + o->space->fixture_count * 2 * (o->slots + 1),
        .directory = o->directory,
        .scratch_dir = r->scratch,
        .token_prefix = r->token,
        .sweep = o->space->sweep,
        .first_metric = log_has_metric,
        .read_on = read_on,
        .referred = note_reference,
        .host_changed = note_host,
        .environment = o->environment,
        .allocation = o->allocation,
        .system = o->system,
        .context = r,
    };
    if (o->executor(&options, &r->executor, e) < 0)
        return -1;
    r->starter.executor = r->executor;
    const char *lack = r->executor->methods->jobs_survive ? NULL : supervisor_lacks();
    if (lack)
        runner_tell(o, "%s", lack);
    return 0;
}

static int recover(struct runner *r, struct error *e)
{
    if (recovery_clean(r->options, r->scratch, &r->secrets, &r->after_death, e) < 0 ||
        recovery_record_runner(r->options, &r->runner_id, e) < 0 || create_executor(r, e) < 0)
        return -1;
    const struct executor_methods *m = r->executor->methods;
    if (recovered_attempts_none_elsewhere(r->db, m->name, e) < 0)
        return -1;
    if (m->reattach && recovered_attempts_read(r->db, m->name, &r->left, e) < 0)
        return -1;
    if (m->reattach && m->reattach(r->executor, &r->left, e) < 0)
        return -1;
    return recovery_rows(r->options, r->runner_id, &r->left, &r->result, e);
}

/* --- what fixtures need of the runner --- */

static struct location start_for_fixture(void *context, const struct launch *launch)
{
    struct runner *r = context;
    return r->executor->methods->start(r->executor, launch, NULL);
}

static void stop_for_fixture(void *context, int64_t id)
{
    struct runner *r = context;
    r->executor->methods->stop(r->executor, id);
}

static bool files_of_fixture(void *context, int64_t id, struct attempt_files *out)
{
    struct runner *r = context;
    return r->executor->methods->files(r->executor, id, out);
}

static enum fixture_devices devices_for_fixture(void *context, int64_t holder, int64_t count, char **names)
{
    struct runner *r = context;
    struct running_attempt f = {.claim = {.attempt_id = holder}, .job = {.devices = count, .spec_json = (char *)"{}"}};
    const size_t all = r->keeper ? r->options->devices.devices->count : 0;
    if (!r->keeper)
        return FIXTURE_DEVICES_GIVEN;
    if ((size_t)count > all)
        return FIXTURE_DEVICES_TOO_MANY;
    if (!device_keeper_give(r->keeper, &f))
        return FIXTURE_DEVICES_BUSY;
    free(f.cpus);
    free(f.hosts);
    *names = f.devices;
    return FIXTURE_DEVICES_GIVEN;
}

static void give_back_of_fixture(void *context, int64_t holder)
{
    struct runner *r = context;
    struct running_attempt f = {.claim = {.attempt_id = holder}};
    device_keeper_take_back(r->keeper, &f);
    free(f.conditions);
}

static void tell_of_fixture(void *context, const char *text)
{
    const struct runner *r = context;
    runner_tell(r->options, "%s", text);
}

static int open_fixtures(struct runner *r, struct error *e)
{
    const struct runner_options *o = r->options;
    const struct fixtures_options options = {
        .space = o->space,
        .db = r->db,
        .runner_id = r->runner_id,
        .directory = o->directory,
        .environment = r->starter.base_environment,
        .classifier = r->classifier,
        .secrets = &r->secrets,
        .most = o->slots,
        .host = {start_for_fixture, stop_for_fixture, files_of_fixture, devices_for_fixture, give_back_of_fixture,
                 tell_of_fixture, r},
    };
    if (o->space->fixture_count == 0)
        return 0;
    return fixtures_create(&options, &r->starter.fixtures, e);
}

static int open_store(struct runner *r, struct error *e)
{
    const struct sweep *sweep = r->options->space->sweep;
    OWNED char *places = fixture_texts_order(r->options->space);
    const struct attempt_store_options options = {
        .sweep_id = r->options->sweep_id,
        .runner_id = r->runner_id,
        .repeat = sweep->job.repeat,
        .repeat_slowed = sweep->local.repeat_throttled,
        .objective = sweep->objective_count ? sweep->objectives[0].metric : NULL,
        .maximise = sweep->objective_count && sweep->objectives[0].maximise,
        .policy = sweep->retry,
        .only_selected = r->options->only_selected,
        .executor = r->executor->methods->name,
        .places = places,
    };
    int rc = attempt_store_create(r->db, &options, &r->store, e);
    if (rc < 0)
        return -1;
    r->order = (struct store_order){.store = r->store, .unlisted = r->options->unlisted};
    r->in_order = claim_source_in_order(&r->order);
    r->source = r->options->source ? r->options->source : &r->in_order;
    r->claims = (struct claims){.store = r->store,
                                .source = r->source,
                                .starter = &r->starter,
                                .pruning = r->pruning,
                                .answer = CLAIM_MORE};
    if (sweep->checksums && attempt_sums_make(r->db, e) < 0)
        return -1;
    commit_batch_open(&r->batch, &(struct record_place){r->db, r->options->space, r->store, r->source, &r->claims,
                                                        sweep->checksums, r->options->measures, &r->naming});
    return starter_open(&r->starter, r->db, e) < 0 ? -1 : open_fixtures(r, e);
}

void runner_add_running(struct runner *r, struct running_attempt f)
{
    *array_add(r->running, r->running_count) = f;
    r->unrecorded_starts |= !f.start_recorded;
}

static int resume_running(struct runner *r, struct error *e)
{
    for (size_t i = 0; i < r->left.count; i++) {
        struct running_attempt f;
        if (!r->left.items[i].taken)
            continue;
        if (starter_resume(&r->starter, &r->left.items[i], &f, e) < 0)
            return -1;
        runner_add_running(r, f);
    }
    return 0;
}

/* The watch knows whether any job of the database could be started so far. */
static int open_host_watch(struct runner *r, struct error *e)
{
    int64_t worked;
    if (db_query_int(r->db, "SELECT 1 FROM attempt WHERE state = 'ok' OR failure <> 'spawn' LIMIT 1", NO_VALUES, 0,
                     &worked, e) < 0)
        return -1;
    host_watch_open(&r->host, r->scratch, r->options->space->sweep->local.give_up_ms, worked);
    return 0;
}

static int open_places(struct runner *r, struct error *e)
{
    struct utsname machine;
    const struct device_list *devices = r->options->devices.devices;
    uname(&machine);
    r->naming.kind = r->executor->methods->jobs_survive  ? PLACES_ARE_NODES
                     : devices && devices->nodes != NULL ? PLACES_ARE_DEVICES_OF_NODES
                                                         : PLACES_ARE_DEVICES;
    snprintf(r->naming.host, sizeof r->naming.host, "%s", machine.nodename);
    return place_record_load(r->db, &r->naming, r->options->release, r->places, e);
}

/* Before this run: a job that is ok, or where several attempts of each are wanted, one of these. */
static int note_went_well(struct runner *r, struct error *e)
{
    r->like.went_well = r->result.counts.ok > 0;
    if (r->like.went_well || r->options->space->sweep->job.repeat < 2)
        return 0;
    return db_query_bool(r->db,
                         "SELECT 1 FROM attempt AS a JOIN job AS j ON j.id = a.job_id"
                         " WHERE a.state = 'ok' AND a.kind = 'trial' AND j.sweep_id = ? LIMIT 1",
                         VALUES(sql_int(r->options->sweep_id)), &r->like.went_well, e);
}

int runner_set_up(struct runner *r, struct error *e)
{
    const struct sweep *sweep = r->options->space->sweep;
    if (reader_set_create(&sweep->job, &r->readers, e) < 0 || classifier_load(r->db, sweep, &r->classifier, e) < 0)
        return -1;
    const struct recording_context context = {.sweep = sweep,
                                              .scratch = r->scratch,
                                              .readers = r->readers,
                                              .classifier = r->classifier,
                                              .secrets = &r->secrets,
                                              .measures = r->options->measures};
    r->readings = readings_create(&context);
    if (recover(r, e) < 0 || db_begin(r->db, e) < 0 ||
        db_end(r->db, pruning_open(r->options->space, r->db, r->options->sweep_id, &r->pruning, e), e) < 0 ||
        open_store(r, e) < 0 || resume_running(r, e) < 0 || open_host_watch(r, e) < 0 || open_places(r, e) < 0)
        return -1;
    if (r->result.recovered > 0 && r->result.aside > 0)
        runner_tell(r->options,
                    "%lld %s running each time the runner died, so %s after all others (to run in the normal order "
                    "again: run --release)",
                    (long long)r->result.aside, r->result.aside == 1 ? "job was" : "jobs were",
                    r->result.aside == 1 ? "it runs" : "they run");
    if (run_counts_load(&r->result.counts, r->options, e) < 0)
        return -1;
    return note_went_well(r, e);
}
