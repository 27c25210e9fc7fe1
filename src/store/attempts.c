#include "store/attempts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/states.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

enum statement {
    NEXT_PENDING,
    IS_JOB_DUE,
    NEXT_DUE,
    NEXT_NUMBER,
    INSERT_ATTEMPT,
    SET_RUNNING,
    DELETE_ATTEMPT,
    SET_PENDING,
    RECORD_START,
    RECORD_END,
    RECORD_REFERENCE,
    COUNT_TIMEOUTS,
    IS_RUNNING,
    COUNT_FAILURES,
    COUNT_OK,
    REPRESENTATIVE,
    FINISH_JOB,
    INSERT_SAMPLE,
    INSERT_SUMMARY,
    STATEMENT_COUNT
};

#define IS_DUE RETRY_IS_DUE("?3", "?4")
#define ORDER " ORDER BY priority, rank LIMIT ?2"
#define WAITS "state = 'pending' AND witness_id IS NULL AND due > ?3 AND due <= ?3 + ?4"

static const char *const statements[STATEMENT_COUNT] = {
    [NEXT_PENDING] = "SELECT id FROM job WHERE sweep_id = ?1 AND state = 'pending' AND witness_id IS NULL AND " IS_DUE ORDER,
    [IS_JOB_DUE] = "SELECT count(*) FROM job WHERE id = ?1 AND " IS_DUE,
    [NEXT_DUE] = "SELECT min(due) FROM job WHERE sweep_id = ?1 AND " WAITS,
    /* Apart, because RETURNING makes and drops a table. */
    [NEXT_NUMBER] = "SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE job_id = ?1",
    [INSERT_ATTEMPT] = "INSERT INTO attempt (job_id, number, runner_id, state, executor)"
                       " VALUES (?1, ?2, ?3, 'claimed', ?4)",
    [SET_RUNNING] = "UPDATE job SET state = ?2 WHERE id = ?1 AND state = 'pending'",
    [DELETE_ATTEMPT] = "DELETE FROM attempt WHERE id = ? AND state = 'claimed'",
    [SET_PENDING] = "UPDATE job SET state = ?2 WHERE id = ?1 AND state = 'running'",
    [RECORD_START] = "UPDATE attempt SET state = ?9, slot = ?2, pid = ?3, start_ticks = ?4, started = ?5,"
                     " command = ?6, environment = ?7, directory = ?8, reference = ?10, host = ?11,"
                     " devices = ?12, scripts = ?13 WHERE id = ?1 AND state = 'claimed'",
    [RECORD_END] = "UPDATE attempt SET state = ?2, failure = ?3, message = ?4, ended = ?5, duration_ms = ?6,"
                   " exit_code = ?7, signal = ?8, limit_ms = ?9, user_ms = ?10, system_ms = ?11, max_rss = ?12,"
                   " leftovers = ?13, directory = coalesce(?14, directory), log_bytes = ?15, log_tail = ?16,"
                   " host = coalesce(?17, host), reference = coalesce(?18, reference), stopped_steps = ?19"
                   " WHERE id = ?1 AND state = 'running'",
    [RECORD_REFERENCE] = "UPDATE attempt SET reference = ?2 WHERE id = ?1 AND state IN ('claimed', 'running')",
    [COUNT_TIMEOUTS] = "SELECT count(*) FROM attempt WHERE job_id = ?1 AND failure = 'timeout'",
    [IS_RUNNING] = "SELECT count(*) FROM attempt WHERE id = ? AND state = 'running'",
    [COUNT_FAILURES] = "SELECT count(*) FROM attempt WHERE job_id = ? AND failure = ?",
    [COUNT_OK] = "SELECT count(*) FROM attempt WHERE job_id = ? AND state = 'ok'",
    [REPRESENTATIVE] = "SELECT a.id FROM attempt AS a LEFT JOIN summary AS s ON s.attempt_id = a.id AND s.name = ?2"
                       " WHERE a.job_id = ?1 AND a.state = 'ok' ORDER BY iif(s.value = 'NaN', ?4, s.value), a.id"
                       " LIMIT 1 OFFSET ?3",
    [FINISH_JOB] = "UPDATE job SET state = ?2, failure = ?3, attempt_id = ?4, due = ?5 WHERE id = ?1 AND state = 'running'",
    [INSERT_SAMPLE] = "INSERT OR IGNORE INTO metric VALUES (?1, ?2, ?3, ?4, ?5)",
    [INSERT_SUMMARY] = "INSERT OR REPLACE INTO summary VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
};

/* The same for jobs of the table "selected" alone. */
static const char *const selected_statements[STATEMENT_COUNT] = {
    [NEXT_PENDING] = "SELECT id FROM job JOIN temp.selected ON job_id = id WHERE sweep_id = ?1 AND state = 'pending'"
                     " AND witness_id IS NULL AND " IS_DUE ORDER,
    [NEXT_DUE] = "SELECT min(due) FROM job JOIN temp.selected ON job_id = id WHERE sweep_id = ?1 AND " WAITS,
};

struct attempt_store {
    struct db *db;
    struct attempt_store_options options;
    struct stmt *statements[STATEMENT_COUNT];
};

/* The name of the state that the event leads to, where it is legal. */
static const char *job_next(enum job_state state, enum job_event event)
{
    struct job_transition t = job_transition(state, event);
    assert(t.next);
    return job_state_names[t.next];
}

static const char *attempt_next(enum attempt_state state, enum attempt_event event)
{
    struct attempt_transition t = attempt_transition(state, event);
    assert(t.next && t.next < ATTEMPT_STATE_COUNT);
    return attempt_state_names[t.next];
}

/* --- runners --- */

int runner_record(struct db *db, const struct runner_row *row, int64_t *id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "INSERT INTO runner (host, boot_id, pid, start_ticks, started, tool_version, provenance)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?)",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, row->host);
    stmt_bind_text(s, 2, row->boot_id);
    stmt_bind_int(s, 3, row->pid);
    stmt_bind_int(s, 4, row->start_ticks);
    stmt_bind_int(s, 5, clock_wall_ms());
    stmt_bind_text(s, 6, MESHSWEEP_VERSION);
    stmt_bind_text(s, 7, row->provenance_json);
    int rc = stmt_run(s, e);
    *id = db_last_id(db);
    stmt_free(s);
    return rc;
}

int runner_record_end(struct db *db, int64_t id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "UPDATE runner SET ended = ? WHERE id = ?", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, clock_wall_ms());
    stmt_bind_int(s, 2, id);
    int rc = stmt_run(s, e);
    stmt_free(s);
    return rc;
}

int runner_find_open(struct db *db, struct runner_process *out, bool *found, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT ended IS NULL, pid, start_ticks, boot_id, id FROM runner ORDER BY id DESC LIMIT 1", &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    *found = rc > 0 && stmt_int(s, 0);
    if (*found) {
        *out = (struct runner_process){stmt_int(s, 4), stmt_int(s, 1), stmt_int(s, 2), ""};
        snprintf(out->boot_id, sizeof out->boot_id, "%s", stmt_text(s, 3));
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

/* --- recovery --- */

/* What an action is for all attempts in a state at once: ?1 the state, ?2 the next one, ?3 now, ?4 whose to leave. */
static const char *const recovery_statements[ATTEMPT_ACTION_COUNT] = {
    [ATTEMPT_SET_LOST] = "UPDATE attempt SET state = ?2, failure = 'lost', ended = ?3,"
                         " message = 'the runner died before it was known how this ended'"
                         " WHERE state = ?1 AND state IN ('claimed', 'running') AND runner_id <> ?4",
    [ATTEMPT_DELETE] = "DELETE FROM attempt WHERE state = ?1 AND state IN ('claimed', 'running') AND runner_id <> ?4",
};

static int recover_state(struct db *db, int64_t runner_id, enum attempt_state state, int64_t *lost, struct error *e)
{
    struct attempt_transition t = attempt_transition(state, ATTEMPT_ORPHAN);
    struct stmt *s = NULL;
    if (!t.next)
        return 0;
    if (db_prepare(db, recovery_statements[t.action], &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, attempt_state_names[state]);
    stmt_bind_int(s, 4, runner_id);
    if (t.action == ATTEMPT_SET_LOST) {
        stmt_bind_text(s, 2, attempt_state_names[t.next]);
        stmt_bind_int(s, 3, clock_wall_ms());
    }
    int rc = stmt_run(s, e);
    if (t.action == ATTEMPT_SET_LOST)
        *lost += db_changes(db);
    stmt_free(s);
    return rc;
}

static int end_open_attempts(struct db *db, int64_t runner_id, int64_t *lost, struct error *e)
{
    int rc = 0;
    *lost = 0;
    for (int state = ATTEMPT_NONE + 1; rc == 0 && state < ATTEMPT_STATE_COUNT; state++)
        rc = recover_state(db, runner_id, (enum attempt_state)state, lost, e);
    return rc;
}

int attempts_recover(struct db *db, int64_t runner_id, const struct retry_policy *policy, int64_t *lost,
                     struct error *e)
{
    if (end_open_attempts(db, runner_id, lost, e) < 0)
        return -1;
    FAULT(ATTEMPTS_RECOVERED);
    struct stmt *s = NULL;
    /* A running job without an open attempt: its last attempt was lost, or it was only claimed. */
    if (db_prepare(db,
                   "UPDATE job SET state = iif(spent, ?2, ?3), failure = iif(spent, 'lost', NULL),"
                   " attempt_id = coalesce(last, attempt_id)"
                   " FROM (SELECT j.id AS running_id, (SELECT max(id) FROM attempt WHERE job_id = j.id) AS last,"
                   "       (SELECT count(*) FROM attempt WHERE job_id = j.id AND failure = 'lost') >= ?1 AS spent"
                   "       FROM job AS j WHERE j.state = 'running' AND NOT EXISTS"
                   "       (SELECT 1 FROM attempt WHERE job_id = j.id AND state IN ('claimed', 'running')))"
                   " WHERE job.id = running_id",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, retry_allowed(policy, "lost"));
    stmt_bind_text(s, 2, job_next(JOB_RUNNING, JOB_FAIL));
    stmt_bind_text(s, 3, job_next(JOB_RUNNING, JOB_RETRY));
    int rc = stmt_run(s, e);
    FAULT(JOBS_RECOVERED);
    stmt_free(s);
    return rc;
}

/* --- the store --- */

int attempt_store_create(struct db *db, const struct attempt_store_options *options, struct attempt_store **out,
                         struct error *e)
{
    struct attempt_store *s = xcalloc(1, sizeof *s);
    s->db = db;
    s->options = *options;
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        const char *narrow = options->only_selected ? selected_statements[i] : NULL;
        if (db_prepare(db, narrow ? narrow : statements[i], &s->statements[i], e) < 0) {
            attempt_store_free(s);
            return -1;
        }
    }
    *out = s;
    return 0;
}

void attempt_store_free(struct attempt_store *s)
{
    if (!s)
        return;
    for (int i = 0; i < STATEMENT_COUNT; i++)
        stmt_free(s->statements[i]);
    free(s);
}

int attempts_select_begin(struct db *db, struct error *e)
{
    return db_exec(db, "DROP TABLE IF EXISTS temp.selected; CREATE TEMP TABLE selected (job_id INTEGER PRIMARY KEY)",
                   e);
}

int attempts_select(struct db *db, int64_t job_id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "INSERT OR IGNORE INTO temp.selected VALUES (?)", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, job_id);
    int rc = stmt_run(s, e);
    stmt_free(s);
    return rc;
}

/* A count of one row; -1 on error. */
static int64_t count_of(struct stmt *q, struct error *e)
{
    int rc = stmt_next(q, e);
    int64_t n = rc > 0 ? stmt_int(q, 0) : 0;
    stmt_reset(q);
    return rc < 0 ? -1 : n;
}

static int set_job_running(struct attempt_store *s, int64_t job_id, struct error *e)
{
    stmt_bind_int(s->statements[SET_RUNNING], 1, job_id);
    stmt_bind_text(s->statements[SET_RUNNING], 2, job_next(JOB_PENDING, JOB_CLAIM));
    if (stmt_run(s->statements[SET_RUNNING], e) < 0)
        return -1;
    return db_changes(s->db) == 1 ? 0 : error_set(e, ERROR_FAILED, "job %lld is not pending", (long long)job_id);
}

static void bind_time(const struct attempt_store *s, struct stmt *q, int64_t wall_ms)
{
    stmt_bind_int(q, 3, wall_ms);
    stmt_bind_int(q, 4, s->options.policy.backoff_max_ms);
}

int attempts_pending(struct attempt_store *s, int64_t *job_ids, size_t room, size_t *count, struct error *e)
{
    struct stmt *next = s->statements[NEXT_PENDING];
    stmt_bind_int(next, 1, s->options.sweep_id);
    stmt_bind_int(next, 2, (int64_t)room);
    bind_time(s, next, clock_wall_ms());
    size_t n = 0;
    int rc;
    while ((rc = stmt_next(next, e)) > 0)
        job_ids[n++] = stmt_int(next, 0);
    if (rc == 0)
        *count = n;
    return rc;
}

int attempt_claim(struct attempt_store *s, int64_t job_id, struct claim *out, struct error *e)
{
    struct stmt *insert = s->statements[INSERT_ATTEMPT];
    stmt_bind_int(s->statements[NEXT_NUMBER], 1, job_id);
    int64_t number = count_of(s->statements[NEXT_NUMBER], e);
    stmt_bind_int(insert, 1, job_id);
    stmt_bind_int(insert, 2, number);
    stmt_bind_int(insert, 3, s->options.runner_id);
    stmt_bind_text(insert, 4, s->options.executor);
    if (number < 0 || stmt_run(insert, e) < 0)
        return -1;
    const struct claim claim = {job_id, db_last_id(s->db), number};
    FAULT(ATTEMPT_CLAIMED);
    if (set_job_running(s, job_id, e) < 0)
        return -1;
    FAULT(JOB_CLAIMED);
    *out = claim;
    return 0;
}

int attempt_release(struct attempt_store *s, const struct claim *claim, struct error *e)
{
    stmt_bind_int(s->statements[DELETE_ATTEMPT], 1, claim->attempt_id);
    stmt_bind_int(s->statements[SET_PENDING], 1, claim->job_id);
    stmt_bind_text(s->statements[SET_PENDING], 2, job_next(JOB_RUNNING, JOB_RELEASE));
    if (stmt_run(s->statements[DELETE_ATTEMPT], e) < 0)
        return -1;
    FAULT(CLAIM_RELEASED);
    return stmt_run(s->statements[SET_PENDING], e);
}

static void bind_positive(struct stmt *s, int index, int64_t value)
{
    if (value > 0)
        stmt_bind_int(s, index, value);
    else
        stmt_bind_null(s, index);
}

int attempt_record_start(struct attempt_store *s, const struct attempt_start *start, struct error *e)
{
    struct stmt *q = s->statements[RECORD_START];
    stmt_bind_int(q, 1, start->attempt_id);
    if (start->slot >= 0)
        stmt_bind_int(q, 2, start->slot);
    else
        stmt_bind_null(q, 2);
    bind_positive(q, 3, start->pid);
    bind_positive(q, 4, start->start_ticks);
    stmt_bind_int(q, 5, start->started_ms);
    stmt_bind_text(q, 6, start->command_json);
    stmt_bind_text(q, 7, start->environment_json);
    stmt_bind_text(q, 8, start->directory);
    stmt_bind_text(q, 9, attempt_next(ATTEMPT_CLAIMED, ATTEMPT_START));
    stmt_bind_text(q, 10, start->reference);
    stmt_bind_text(q, 11, start->host);
    stmt_bind_text(q, 12, start->devices);
    stmt_bind_text(q, 13, start->scripts_json);
    return stmt_run(q, e);
}

int attempt_record_reference(struct attempt_store *s, int64_t attempt_id, const char *reference, struct error *e)
{
    stmt_bind_int(s->statements[RECORD_REFERENCE], 1, attempt_id);
    stmt_bind_text(s->statements[RECORD_REFERENCE], 2, reference);
    return stmt_run(s->statements[RECORD_REFERENCE], e);
}

static int record_attempt_end(struct attempt_store *s, const struct attempt_end *end, struct error *e)
{
    struct stmt *q = s->statements[RECORD_END];
    stmt_bind_int(q, 1, end->attempt_id);
    stmt_bind_text(q, 2, attempt_next(ATTEMPT_RUNNING, end->failure ? ATTEMPT_FAIL : ATTEMPT_SUCCEED));
    stmt_bind_text(q, 3, end->failure);
    stmt_bind_text(q, 4, end->message);
    stmt_bind_int(q, 5, end->ended_ms);
    stmt_bind_int(q, 6, end->duration_ms);
    if (end->exit_code >= 0)
        stmt_bind_int(q, 7, end->exit_code);
    else
        stmt_bind_null(q, 7);
    bind_positive(q, 8, end->signal);
    bind_positive(q, 9, end->limit_ms);
    bind_positive(q, 19, end->stopped_steps);
    stmt_bind_int(q, 10, end->user_ms);
    stmt_bind_int(q, 11, end->system_ms);
    bind_positive(q, 12, end->max_rss_bytes);
    stmt_bind_int(q, 13, end->leftovers);
    stmt_bind_text(q, 14, end->directory);
    stmt_bind_int(q, 15, end->log_bytes);
    stmt_bind_text(q, 16, end->log_tail);
    stmt_bind_text(q, 17, end->host);
    stmt_bind_text(q, 18, end->reference);
    return stmt_run(q, e);
}

int attempt_is_running(struct attempt_store *s, int64_t attempt_id, bool *yes, struct error *e)
{
    stmt_bind_int(s->statements[IS_RUNNING], 1, attempt_id);
    int64_t n = count_of(s->statements[IS_RUNNING], e);
    *yes = n == 1;
    return n < 0 ? -1 : 0;
}

int attempts_next_due(struct attempt_store *s, int64_t since_ms, int64_t *due_ms, struct error *e)
{
    struct stmt *q = s->statements[NEXT_DUE];
    stmt_bind_int(q, 1, s->options.sweep_id);
    bind_time(s, q, since_ms);
    *due_ms = count_of(q, e);
    return *due_ms < 0 ? -1 : 0;
}

int attempts_is_due(struct attempt_store *s, int64_t job_id, bool *yes, struct error *e)
{
    struct stmt *q = s->statements[IS_JOB_DUE];
    stmt_bind_int(q, 1, job_id);
    bind_time(s, q, clock_wall_ms());
    int64_t n = count_of(q, e);
    *yes = n == 1;
    return n < 0 ? -1 : 0;
}

int attempts_count_timeouts(struct attempt_store *s, int64_t job_id, int64_t *out, struct error *e)
{
    stmt_bind_int(s->statements[COUNT_TIMEOUTS], 1, job_id);
    *out = count_of(s->statements[COUNT_TIMEOUTS], e);
    return *out < 0 ? -1 : 0;
}

/* `due_ms` 0: at any time. */
static int finish_job(struct attempt_store *s, const struct attempt_end *end, enum job_event event,
                      int64_t attempt_id, int64_t due_ms, struct error *e)
{
    struct stmt *q = s->statements[FINISH_JOB];
    bool failed = job_transition(JOB_RUNNING, event).action == JOB_SET_FAILURE;
    stmt_bind_int(q, 1, end->job_id);
    stmt_bind_text(q, 2, job_next(JOB_RUNNING, event));
    stmt_bind_text(q, 3, failed ? end->failure : NULL);
    stmt_bind_int(q, 4, attempt_id);
    bind_positive(q, 5, due_ms);
    return stmt_run(q, e);
}

static int after_failure(struct attempt_store *s, const struct attempt_end *end, enum job_fate *fate, struct error *e)
{
    struct stmt *q = s->statements[COUNT_FAILURES];
    stmt_bind_int(q, 1, end->job_id);
    stmt_bind_text(q, 2, end->failure);
    int64_t tried = count_of(q, e);
    if (tried < 0)
        return -1;
    /* What was stopped with the whole run was not tried to its end: it is due again. */
    bool cancelled = strcmp(end->failure, "cancelled") == 0 && !end->cancelled_elsewhere;
    bool again = cancelled || tried < retry_allowed(&s->options.policy, end->failure);
    int64_t delay_ms = again && !cancelled ? retry_delay_ms(&s->options.policy, tried) : 0;
    *fate = again ? FATE_AGAIN : FATE_FAILED;
    return finish_job(s, end, again ? JOB_RETRY : JOB_FAIL, end->attempt_id,
                      delay_ms > 0 ? end->ended_ms + delay_ms : 0, e);
}

static int after_success(struct attempt_store *s, const struct attempt_end *end, enum job_fate *fate, struct error *e)
{
    if (s->options.repeat <= 1) {
        *fate = FATE_OK;
        return finish_job(s, end, JOB_SUCCEED, end->attempt_id, 0, e);
    }
    stmt_bind_int(s->statements[COUNT_OK], 1, end->job_id);
    int64_t done = count_of(s->statements[COUNT_OK], e);
    /* The attempt with the median objective stands for the job: one that really ran, all its metrics together. */
    struct stmt *q = s->statements[REPRESENTATIVE];
    stmt_bind_int(q, 1, end->job_id);
    stmt_bind_text(q, 2, s->options.objective);
    stmt_bind_int(q, 3, (done - 1) / 2);
    /* A number that is none is the worst there is. */
    stmt_bind_double(q, 4, s->options.maximise ? -INFINITY : INFINITY);
    int64_t representative = done < 0 ? -1 : count_of(q, e);
    if (representative < 0)
        return -1;
    *fate = done >= s->options.repeat ? FATE_OK : FATE_AGAIN;
    return finish_job(s, end, *fate == FATE_OK ? JOB_SUCCEED : JOB_REPEAT, representative, 0, e);
}

int attempt_record_end(struct attempt_store *s, const struct attempt_end *end, enum job_fate *fate, struct error *e)
{
    if (record_attempt_end(s, end, e) < 0)
        return -1;
    FAULT(ATTEMPT_ENDED);
    return end->failure ? after_failure(s, end, fate, e) : after_success(s, end, fate, e);
}

int attempt_record_sample(struct attempt_store *s, int64_t attempt_id, const struct sample_row *row, struct error *e)
{
    struct stmt *q = s->statements[INSERT_SAMPLE];
    stmt_bind_int(q, 1, attempt_id);
    stmt_bind_text(q, 2, row->name);
    stmt_bind_int(q, 3, row->sequence);
    stmt_bind_int(q, 4, row->step);
    stmt_bind_double(q, 5, row->value);
    return stmt_run(q, e);
}

int attempt_record_summary(struct attempt_store *s, int64_t attempt_id, const char *name, const struct summary_row *row,
                           struct error *e)
{
    struct stmt *q = s->statements[INSERT_SUMMARY];
    const double values[] = {row->mean, row->median, row->minimum, row->maximum, row->stddev, row->p90};
    stmt_bind_int(q, 1, attempt_id);
    stmt_bind_text(q, 2, name);
    stmt_bind_double(q, 3, row->value);
    stmt_bind_int(q, 4, row->count);
    for (int i = 0; i < 6; i++)
        stmt_bind_double(q, 5 + i, values[i]);
    return stmt_run(q, e);
}
