#include "store/attempts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/states.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/memory.h"

enum attempt_statement {
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
    COUNT_LOSSES,
    LOSE_JOB,
    HOLD_JOB,
    INSERT_SAMPLE,
    INSERT_SUMMARY,
    DEFINE_DEVICE_MEMORY,
    STATEMENT_COUNT
};

#define IS_DUE RETRY_IS_DUE("?3", "?4")
#define ORDER " ORDER BY aside, priority, rank LIMIT ?2"
#define MAY_RUN "state = 'pending' AND witness_id IS NULL AND held IS NULL"
#define WAITS MAY_RUN " AND due > ?3 AND due <= ?3 + ?4"

static const char *const statements[STATEMENT_COUNT] = {
    [NEXT_PENDING] = "SELECT id FROM job WHERE sweep_id = ?1 AND " MAY_RUN " AND " IS_DUE ORDER,
    [IS_JOB_DUE] = "SELECT count(*) FROM job WHERE id = ?1 AND held IS NULL AND " IS_DUE,
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
    [RECORD_END] =
        "UPDATE attempt SET state = ?2, failure = ?3, message = ?4, ended = ?5, duration_ms = ?6,"
        " exit_code = ?7, signal = ?8, limit_ms = ?9, user_ms = ?10, system_ms = ?11, max_rss = ?12,"
        " leftovers = ?13, directory = coalesce(?14, directory), log_bytes = ?15, log_tail = ?16,"
        " host = coalesce(?17, host), reference = coalesce(?18, reference), stopped_steps = ?19,"
        " blame = ?20, consequence = ?21, unwatched_ms = ?22, left_out = ?23 WHERE id = ?1 AND state = 'running'",
    [RECORD_REFERENCE] = "UPDATE attempt SET reference = ?2 WHERE id = ?1 AND state IN ('claimed', 'running')",
    [COUNT_TIMEOUTS] = "SELECT count(*) FROM attempt WHERE job_id = ?1 AND failure = 'timeout'",
    [IS_RUNNING] = "SELECT count(*) FROM attempt WHERE id = ? AND state = 'running'",
    [COUNT_FAILURES] = "SELECT count(*) FROM attempt WHERE job_id = ? AND failure = ? AND blame IS NULL",
    [COUNT_OK] = "SELECT count(*) FROM attempt WHERE job_id = ? AND state = 'ok'",
    [REPRESENTATIVE] = "SELECT a.id FROM attempt AS a LEFT JOIN summary AS s ON s.attempt_id = a.id AND s.name = ?2"
                       " WHERE a.job_id = ?1 AND a.state = 'ok' ORDER BY s.value, a.id"
                       " LIMIT 1 OFFSET ?3",
    [FINISH_JOB] = "UPDATE job SET state = ?2, failure = ?3, attempt_id = ?4, due = ?5, losses = 0, aside = 0"
                   " WHERE id = ?1 AND state = 'running'",
    [COUNT_LOSSES] = "SELECT losses FROM job WHERE id = ?",
    [LOSE_JOB] = "UPDATE job SET state = ?2, attempt_id = ?3, due = ?4, losses = ?5, aside = ?6, held = ?7"
                 " WHERE id = ?1 AND state = 'running'",
    [HOLD_JOB] = "UPDATE job SET state = ?2, attempt_id = coalesce(?3, attempt_id), due = NULL, held = ?4"
                 " WHERE id = ?1 AND state = 'running'",
    [INSERT_SAMPLE] = "INSERT OR IGNORE INTO metric VALUES (?1, ?2, ?3, ?4, ?5)",
    [INSERT_SUMMARY] =
        "INSERT OR REPLACE INTO summary (attempt_id, name, value, count, mean, median, minimum, maximum, stddev, p90,"
        " not_finite, reported, kept) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    [DEFINE_DEVICE_MEMORY] = "INSERT OR IGNORE INTO metric_definition (name, unit, better, take, counter, rank)"
                             " VALUES ('" DEVICE_MEMORY_METRIC "', 'bytes', 'min', 'max', 'device', 'largest')",
};

/* The same for jobs of the table "selected" alone. */
static const char *const selected_statements[STATEMENT_COUNT] = {
    [NEXT_PENDING] =
        "SELECT id FROM job JOIN temp.selected ON job_id = id WHERE sweep_id = ?1 AND " MAY_RUN " AND " IS_DUE ORDER,
    [NEXT_DUE] = "SELECT min(due) FROM job JOIN temp.selected ON job_id = id WHERE sweep_id = ?1 AND " WAITS,
};

struct attempt_store {
    struct db *db;
    struct attempt_store_options options;
    struct stmt *statements[STATEMENT_COUNT];
};

/* The name of the state that the event leads to, where it is legal. */
static const char *attempt_next(enum attempt_state state, enum attempt_event event)
{
    struct attempt_transition t = attempt_transition(state, event);
    assert(t.next && t.next < ATTEMPT_STATE_COUNT);
    return attempt_state_names[t.next];
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
    stmt_bind_text(s->statements[SET_RUNNING], 2, job_state_after(JOB_PENDING, JOB_CLAIM));
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
    stmt_bind_text(s->statements[SET_PENDING], 2, job_state_after(JOB_RUNNING, JOB_RELEASE));
    if (stmt_run(s->statements[DELETE_ATTEMPT], e) < 0)
        return -1;
    FAULT(CLAIM_RELEASED);
    return stmt_run(s->statements[SET_PENDING], e);
}

int attempt_hold(struct attempt_store *s, const struct claim *claim, const char *why, struct error *e)
{
    struct stmt *q = s->statements[HOLD_JOB];
    stmt_bind_int(q, 1, claim->job_id);
    stmt_bind_text(q, 2, job_state_after(JOB_RUNNING, JOB_HOLD));
    stmt_bind_null(q, 3);
    stmt_bind_text(q, 4, why);
    /* In this order: without its attempt a running job is made pending by a trigger. */
    if (stmt_run(q, e) < 0)
        return -1;
    stmt_bind_int(s->statements[DELETE_ATTEMPT], 1, claim->attempt_id);
    return stmt_run(s->statements[DELETE_ATTEMPT], e);
}

int attempt_record_start(struct attempt_store *s, const struct attempt_start *start, struct error *e)
{
    struct stmt *q = s->statements[RECORD_START];
    stmt_bind_int(q, 1, start->attempt_id);
    if (start->slot >= 0)
        stmt_bind_int(q, 2, start->slot);
    else
        stmt_bind_null(q, 2);
    stmt_bind_positive_or_null(q, 3, start->pid);
    stmt_bind_positive_or_null(q, 4, start->start_ticks);
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

static void bind_unless_negative(struct stmt *q, int index, int64_t value)
{
    if (value >= 0)
        stmt_bind_int(q, index, value);
    else
        stmt_bind_null(q, index);
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
    bind_unless_negative(q, 7, end->exit_code);
    stmt_bind_positive_or_null(q, 8, end->signal);
    stmt_bind_positive_or_null(q, 9, end->limit_ms);
    stmt_bind_positive_or_null(q, 19, end->stopped_steps);
    bind_unless_negative(q, 10, end->user_ms);
    bind_unless_negative(q, 11, end->system_ms);
    stmt_bind_positive_or_null(q, 12, end->max_rss_bytes);
    stmt_bind_int(q, 13, end->leftovers);
    stmt_bind_text(q, 14, end->directory);
    stmt_bind_int(q, 15, end->log_bytes);
    stmt_bind_text(q, 16, end->log_tail);
    stmt_bind_text(q, 17, end->host);
    stmt_bind_text(q, 18, end->reference);
    stmt_bind_positive_or_null(q, 22, end->unwatched_ms);
    stmt_bind_text(q, 20, end->failure ? blame_names[end->blame] : NULL);
    stmt_bind_text(q, 21, end->consequence);
    stmt_bind_text(q, 23, end->left_out);
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
static int finish_job(struct attempt_store *s, const struct attempt_end *end, enum job_event event, int64_t attempt_id,
                      int64_t due_ms, struct error *e)
{
    struct stmt *q = s->statements[FINISH_JOB];
    bool failed = job_transition(JOB_RUNNING, event).action == JOB_SET_FAILURE;
    stmt_bind_int(q, 1, end->job_id);
    stmt_bind_text(q, 2, job_state_after(JOB_RUNNING, event));
    stmt_bind_text(q, 3, failed ? end->failure : NULL);
    stmt_bind_int(q, 4, attempt_id);
    stmt_bind_positive_or_null(q, 5, due_ms);
    return stmt_run(q, e);
}

/* What its node or the batch system did. After as many losses in a row as the policy has it runs last; lost once
 * more, it is left for another run. */
static int after_loss(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end, struct error *e)
{
    const struct retry_policy *policy = &s->options.policy;
    struct stmt *q = s->statements[LOSE_JOB];
    stmt_bind_int(s->statements[COUNT_LOSSES], 1, end->job_id);
    int64_t losses = count_of(s->statements[COUNT_LOSSES], e), most = retry_allowed(policy, "lost");
    if (losses < 0)
        return -1;
    losses += end->blame != BLAME_PREEMPTION;
    bool held = losses > most;
    int64_t delay_ms = retry_delay_ms(policy, losses > 0 ? losses : 1);
    char *why = held ? xasprintf("lost %lld times in a row; the next run tries it again after all other jobs",
                                 (long long)losses)
                     : NULL;
    *job_end = held ? JOB_END_HELD : JOB_END_AGAIN;
    stmt_bind_int(q, 1, end->job_id);
    stmt_bind_text(q, 2, job_state_after(JOB_RUNNING, held ? JOB_HOLD : JOB_RETRY));
    stmt_bind_int(q, 3, end->attempt_id);
    stmt_bind_positive_or_null(q, 4, held || delay_ms == 0 ? 0 : end->ended_ms + delay_ms);
    stmt_bind_int(q, 5, losses);
    stmt_bind_int(q, 6, losses >= most);
    stmt_bind_text(q, 7, why);
    free(why);
    return stmt_run(q, e);
}

static int after_host_failure(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end,
                              struct error *e)
{
    struct stmt *q = s->statements[HOLD_JOB];
    *job_end = JOB_END_HELD;
    stmt_bind_int(q, 1, end->job_id);
    stmt_bind_text(q, 2, job_state_after(JOB_RUNNING, JOB_HOLD));
    stmt_bind_int(q, 3, end->attempt_id);
    stmt_bind_text(q, 4, end->message ? end->message : end->failure);
    return stmt_run(q, e);
}

static int after_failure(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end, struct error *e)
{
    struct stmt *q = s->statements[COUNT_FAILURES];
    if (end->blame == BLAME_HOST)
        return after_host_failure(s, end, job_end, e);
    if (end->blame != BLAME_JOB)
        return after_loss(s, end, job_end, e);
    stmt_bind_int(q, 1, end->job_id);
    stmt_bind_text(q, 2, end->failure);
    int64_t tried = count_of(q, e);
    if (tried < 0)
        return -1;
    /* What was stopped with the whole run was not tried to its end: it is due again. */
    bool cancelled = strcmp(end->failure, "cancelled") == 0 && !end->cancelled_elsewhere;
    bool again = cancelled || tried < retry_allowed(&s->options.policy, end->failure);
    int64_t delay_ms = again && !cancelled ? retry_delay_ms(&s->options.policy, tried) : 0;
    *job_end = again ? JOB_END_AGAIN : JOB_END_FAILED;
    return finish_job(s, end, again ? JOB_RETRY : JOB_FAIL, end->attempt_id,
                      delay_ms > 0 ? end->ended_ms + delay_ms : 0, e);
}

static int after_success(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end, struct error *e)
{
    if (s->options.repeat <= 1) {
        *job_end = JOB_END_OK;
        return finish_job(s, end, JOB_SUCCEED, end->attempt_id, 0, e);
    }
    stmt_bind_int(s->statements[COUNT_OK], 1, end->job_id);
    int64_t done = count_of(s->statements[COUNT_OK], e);
    /* The attempt with the median objective stands for the job: one that really ran, all its metrics together. */
    struct stmt *q = s->statements[REPRESENTATIVE];
    stmt_bind_int(q, 1, end->job_id);
    stmt_bind_text(q, 2, s->options.objective);
    stmt_bind_int(q, 3, (done - 1) / 2);
    int64_t representative = done < 0 ? -1 : count_of(q, e);
    if (representative < 0)
        return -1;
    *job_end = done >= s->options.repeat ? JOB_END_OK : JOB_END_AGAIN;
    return finish_job(s, end, *job_end == JOB_END_OK ? JOB_SUCCEED : JOB_REPEAT, representative, 0, e);
}

int attempt_record_end(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end, struct error *e)
{
    if (record_attempt_end(s, end, e) < 0)
        return -1;
    FAULT(ATTEMPT_ENDED);
    return end->failure ? after_failure(s, end, job_end, e) : after_success(s, end, job_end, e);
}

static void bind_finite(struct stmt *s, int index, double value)
{
    if (isfinite(value))
        stmt_bind_double(s, index, value);
    else
        stmt_bind_null(s, index);
}

int attempt_record_sample(struct attempt_store *s, int64_t attempt_id, const struct sample_row *row, struct error *e)
{
    struct stmt *q = s->statements[INSERT_SAMPLE];
    stmt_bind_int(q, 1, attempt_id);
    stmt_bind_text(q, 2, row->name);
    stmt_bind_int(q, 3, row->sequence);
    stmt_bind_int(q, 4, row->step);
    bind_finite(q, 5, row->value);
    return stmt_run(q, e);
}

int attempt_record_summary(struct attempt_store *s, int64_t attempt_id, const char *name, const struct summary_row *row,
                           struct error *e)
{
    struct stmt *q = s->statements[INSERT_SUMMARY];
    const double values[] = {row->mean, row->median, row->minimum, row->maximum, row->stddev, row->p90};
    stmt_bind_int(q, 1, attempt_id);
    stmt_bind_text(q, 2, name);
    bind_finite(q, 3, row->value);
    stmt_bind_int(q, 4, row->count);
    for (int i = 0; i < 6; i++)
        bind_finite(q, 5 + i, values[i]);
    stmt_bind_int(q, 11, row->not_finite);
    stmt_bind_int(q, 12, row->reported);
    if (row->kept < row->reported)
        stmt_bind_int(q, 13, row->kept);
    else
        stmt_bind_null(q, 13);
    return stmt_run(q, e);
}

int attempt_define_device_memory(struct attempt_store *s, struct error *e)
{
    return stmt_run(s->statements[DEFINE_DEVICE_MEMORY], e);
}
