#include "store/attempts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/states.h"
#include "util/clock.h"
#include "util/embedded.h"
#include "util/fault.h"
#include "util/memory.h"

struct attempt_store {
    struct db *db;
    struct attempt_store_options options;
    char *next_pending, *next_due; /* questions */
    struct stmt *insert_sample;
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
    const char *selected = options->only_selected ? " JOIN temp.selected ON job_id = id" : "";
    s->db = db;
    s->options = *options;
    s->next_pending =
        xasprintf("SELECT id FROM %s%s%s%s WHERE %s" JOB_MAY_RUN(
                      "") " AND " RETRY_IS_DUE("?3", "?4") " ORDER BY aside, priority, %srank LIMIT ?2",
                  options->places ? "(" : "", options->places ? options->places : "job", options->places ? ")" : "",
                  selected, options->places ? "" : "sweep_id = ?1 AND ", options->places ? "place, " : "");
    s->next_due = xasprintf("SELECT min(due) FROM job%s WHERE sweep_id = ?1 AND " JOB_MAY_RUN(
                                "") " AND due > ?2 AND due <= ?2 + ?3",
                            selected);
    if (db_prepare(db, "INSERT OR IGNORE INTO metric VALUES (?1, ?2, ?3, ?4, ?5)", &s->insert_sample, e) < 0) {
        attempt_store_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

void attempt_store_free(struct attempt_store *s)
{
    if (!s)
        return;
    stmt_free(s->insert_sample);
    free_all(s->next_pending, s->next_due, s);
}

/* A count of one row; -1 on error. */
static int64_t count(struct attempt_store *s, const char *sql, struct sql_values values, struct error *e)
{
    int64_t n;
    return db_query_int(s->db, sql, values, 0, &n, e) < 0 ? -1 : n;
}

static int set_job_running(struct attempt_store *s, int64_t job_id, struct error *e)
{
    const char *state = job_state_after(JOB_PENDING, JOB_CLAIM);
    if (db_run(s->db, "UPDATE job SET state = ?2 WHERE id = ?1 AND state = 'pending'",
               VALUES(sql_int(job_id), sql_text(state)), e) < 0)
        return -1;
    return db_changes(s->db) == 1 ? 0 : error_set(e, ERROR_FAILED, "job %lld is not pending", (long long)job_id);
}

int attempts_pending(struct attempt_store *s, int64_t *job_ids, size_t room, size_t *count, struct error *e)
{
    const struct sql_values values = VALUES(sql_int(s->options.sweep_id), sql_int((int64_t)room),
                                            sql_int(clock_wall_ms()), sql_int(s->options.policy.backoff_max_ms));
    struct stmt *next = NULL;
    size_t n = 0;
    int rc;
    while ((rc = db_next(s->db, s->next_pending, values, &next, e)) > 0)
        job_ids[n++] = stmt_int(next, 0);
    if (rc == 0)
        *count = n;
    return rc;
}

int attempt_claim(struct attempt_store *s, int64_t job_id, const char *kind, struct claim *out, struct error *e)
{
    /* Apart, because RETURNING makes and drops a table. */
    static const char next_number[] = "SELECT coalesce(max(number), 0) + 1, count(*) FILTER (WHERE kind <> 'trial')"
                                      " FROM attempt WHERE job_id = ?1";
    static const char insert[] = "INSERT INTO attempt (job_id, number, runner_id, state, executor, kind)"
                                 " VALUES (?1, ?2, ?3, 'claimed', ?4, coalesce(?5, 'trial'))";
    const struct attempt_store_options *o = &s->options;
    struct stmt *q = NULL;
    int64_t number = 0, full_trainings = 0, id;
    int rc;
    while ((rc = db_next(s->db, next_number, VALUES(sql_int(job_id)), &q, e)) > 0) {
        number = stmt_int(q, 0);
        full_trainings = stmt_int(q, 1);
    }
    if (rc < 0 || db_insert(s->db, insert,
                            VALUES(sql_int(job_id), sql_int(number), sql_int(o->runner_id), sql_text(o->executor),
                                   sql_text(kind)),
                            &id, e) < 0)
        return -1;
    const bool full = kind != NULL;
    const struct claim claim = {job_id, id,
                                number, number - full_trainings,
                                full,   full && strcmp(kind, "profile") == 0};
    FAULT(ATTEMPT_CLAIMED);
    if (!full && set_job_running(s, job_id, e) < 0)
        return -1;
    FAULT(JOB_CLAIMED);
    *out = claim;
    return 0;
}

static int delete_attempt(struct attempt_store *s, const struct claim *claim, struct error *e)
{
    return db_run(s->db, "DELETE FROM attempt WHERE id = ? AND state IN ('claimed', 'running')",
                  VALUES(sql_int(claim->attempt_id)), e);
}

int attempt_release(struct attempt_store *s, const struct claim *claim, struct error *e)
{
    const char *state = job_state_after(JOB_RUNNING, JOB_RELEASE);
    if (delete_attempt(s, claim, e) < 0)
        return -1;
    FAULT(CLAIM_RELEASED);
    return claim->full ? 0
                       : db_run(s->db, "UPDATE job SET state = ?2 WHERE id = ?1 AND state = 'running'",
                                VALUES(sql_int(claim->job_id), sql_text(state)), e);
}

/* `attempt_id` NULL: the job keeps the one that represents it. */
static int hold_job(struct attempt_store *s, int64_t job_id, struct sql_value attempt_id, const char *why,
                    struct error *e)
{
    const char *state = job_state_after(JOB_RUNNING, JOB_HOLD);
    return db_run(s->db,
                  "UPDATE job SET state = ?2, attempt_id = coalesce(?3, attempt_id), due = NULL, held = ?4"
                  " WHERE id = ?1 AND state = 'running'",
                  VALUES(sql_int(job_id), sql_text(state), attempt_id, sql_text(why)), e);
}

int attempt_hold(struct attempt_store *s, const struct claim *claim, const char *why, struct error *e)
{
    /* In this order: without its attempt a running job is made pending by a trigger. */
    if (!claim->full && hold_job(s, claim->job_id, sql_null(), why, e) < 0)
        return -1;
    return delete_attempt(s, claim, e);
}

static struct sql_value unless_negative(int64_t value)
{
    return value >= 0 ? sql_int(value) : sql_null();
}

static int record_file(struct attempt_store *s, int64_t attempt_id, const struct given_file *f, struct error *e)
{
    const struct hash128 hash = hash_bytes(f->text, strlen(f->text));
    if (db_run(s->db, "INSERT OR IGNORE INTO given_text (hash, text) VALUES (?1, ?2)",
               VALUES(sql_hash(&hash), sql_text(f->text)), e) < 0)
        return -1;
    return db_run(s->db,
                  "INSERT INTO attempt_file SELECT a.id, ?2, t.id FROM attempt AS a, given_text AS t"
                  " WHERE a.id = ?1 AND t.hash = ?3",
                  VALUES(sql_int(attempt_id), sql_text(f->path), sql_hash(&hash)), e);
}

int attempt_record_start(struct attempt_store *s, const struct attempt_start *start, struct error *e)
{
    static const char record[] =
        "UPDATE attempt SET state = ?9, slot = ?2, pid = ?3, start_ticks = ?4, started = ?5, command = ?6,"
        " environment = ?7, directory = ?8, reference = ?10, host = ?11, waits = ?14, devices = ?12, scripts = ?13,"
        " given = ?15 WHERE id = ?1 AND state = 'claimed'";
    static const char use_fixture[] =
        "INSERT INTO attempt_fixture (attempt_id, fixture_id) SELECT ?1, id FROM fixture_start WHERE id = ?2"
        " AND EXISTS (SELECT 1 FROM attempt WHERE id = ?1)";
    for (size_t i = 0; i < start->files.count; i++)
        if (record_file(s, start->attempt_id, &start->files.items[i], e) < 0)
            return -1;
    int rc = db_run(s->db, record,
                    VALUES(sql_int(start->attempt_id), unless_negative(start->slot), sql_positive(start->pid),
                           sql_positive(start->start_ticks), sql_int(start->started_ms), sql_text(start->command_json),
                           sql_text(start->environment_json), sql_text(start->directory),
                           sql_text(attempt_next(ATTEMPT_CLAIMED, ATTEMPT_START)), sql_text(start->reference),
                           sql_text(start->host), sql_text(start->devices), sql_text(start->scripts_json),
                           sql_text(start->waits), sql_text(start->given)),
                    e);
    for (const int64_t *id = start->fixtures; rc == 0 && id && *id; id++)
        rc = db_run(s->db, use_fixture, VALUES(sql_int(start->attempt_id), sql_int(*id)), e);
    return rc;
}

int attempt_record_reference(struct attempt_store *s, const struct attempt_start *start, struct error *e)
{
    return db_run(s->db,
                  "UPDATE attempt SET reference = ?2, waits = ?3 WHERE id = ?1 AND state IN ('claimed', 'running')",
                  VALUES(sql_int(start->attempt_id), sql_text(start->reference), sql_text(start->waits)), e);
}

static int record_attempt_end(struct attempt_store *s, const struct attempt_end *end, struct error *e)
{
    const char *state = attempt_next(ATTEMPT_RUNNING, end->failure ? ATTEMPT_FAIL : ATTEMPT_SUCCEED);
    return db_run(s->db, embedded_text("src/store/end_attempt.sql"),
                  VALUES(sql_int(end->attempt_id), sql_text(state), sql_text(end->failure), sql_text(end->message),
                         sql_int(end->ended_ms), sql_int(end->duration_ms), unless_negative(end->exit_code),
                         sql_positive(end->signal), sql_positive(end->limit_ms), unless_negative(end->user_ms),
                         unless_negative(end->system_ms), sql_positive(end->max_rss_bytes), sql_int(end->leftovers),
                         sql_text(end->directory), sql_int(end->log_bytes), sql_text(end->log_tail),
                         sql_text(end->host), sql_text(end->reference), sql_positive(end->stopped_steps),
                         sql_text(end->failure ? blame_names[end->blame] : NULL), sql_text(end->consequence),
                         sql_positive(end->unwatched_ms), sql_text(end->left_out), sql_text(end->device_model),
                         sql_text(end->device_condition), sql_text(end->device_note), sql_text(end->files)),
                  e);
}

int attempts_next_due(struct attempt_store *s, int64_t since_ms, int64_t *due_ms, struct error *e)
{
    return db_query_int(s->db, s->next_due,
                        VALUES(sql_int(s->options.sweep_id), sql_int(since_ms),
                               sql_int(s->options.policy.backoff_max_ms)),
                        0, due_ms, e);
}

int attempts_is_due(struct attempt_store *s, int64_t job_id, bool *yes, struct error *e)
{
    return db_query_bool(s->db, "SELECT 1 FROM job WHERE id = ?1 AND held IS NULL AND " RETRY_IS_DUE("?2", "?3"),
                         VALUES(sql_int(job_id), sql_int(clock_wall_ms()), sql_int(s->options.policy.backoff_max_ms)),
                         yes, e);
}

int attempts_count_timeouts(struct attempt_store *s, int64_t job_id, int64_t *out, struct error *e)
{
    return db_query_int(s->db,
                        "SELECT count(*) FROM attempt WHERE job_id = ?1 AND failure = 'timeout' AND kind = 'trial'",
                        VALUES(sql_int(job_id)), 0, out, e);
}

/* `due_ms` 0: at any time. */
static int finish_job(struct attempt_store *s, const struct attempt_end *end, enum job_event event, int64_t attempt_id,
                      int64_t due_ms, struct error *e)
{
    bool failed = job_transition(JOB_RUNNING, event).action == JOB_SET_FAILURE;
    return db_run(s->db,
                  "UPDATE job SET state = ?2, failure = ?3, attempt_id = ?4, due = ?5, losses = 0, aside = 0"
                  " WHERE id = ?1 AND state = 'running'",
                  VALUES(sql_int(end->job_id), sql_text(job_state_after(JOB_RUNNING, event)),
                         sql_text(failed ? end->failure : NULL), sql_int(attempt_id), sql_positive(due_ms)),
                  e);
}

/* Deals with what its node or the batch system did. After as many losses in a row as the policy has it runs last; lost
 * once more, it is left for another run. */
static int after_loss(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end, struct error *e)
{
    const struct retry_policy *policy = &s->options.policy;
    int64_t losses = count(s, "SELECT losses FROM job WHERE id = ?", VALUES(sql_int(end->job_id)), e);
    const int64_t most = retry_allowed(policy, "lost");
    if (losses < 0)
        return -1;
    losses += end->blame != BLAME_PREEMPTION;
    bool held = losses > most;
    int64_t delay_ms = retry_delay_ms(policy, losses > 0 ? losses : 1);
    OWNED char *why = held ? xasprintf("lost %lld times in a row; the next run tries it again after all other jobs",
                                       (long long)losses)
                           : NULL;
    *job_end = held ? JOB_END_HELD : JOB_END_AGAIN;
    return db_run(s->db,
                  "UPDATE job SET state = ?2, attempt_id = ?3, due = ?4, losses = ?5, aside = ?6, held = ?7"
                  " WHERE id = ?1 AND state = 'running'",
                  VALUES(sql_int(end->job_id), sql_text(job_state_after(JOB_RUNNING, held ? JOB_HOLD : JOB_RETRY)),
                         sql_int(end->attempt_id), sql_positive(held || delay_ms == 0 ? 0 : end->ended_ms + delay_ms),
                         sql_int(losses), sql_int(losses >= most), sql_text(why)),
                  e);
}

static int after_failure(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end, struct error *e)
{
    if (end->elsewhere) {
        *job_end = JOB_END_AGAIN;
        return finish_job(s, end, JOB_RETRY, end->attempt_id, 0, e);
    }
    if (end->blame == BLAME_HOST) {
        *job_end = JOB_END_HELD;
        return hold_job(s, end->job_id, sql_int(end->attempt_id), end->message ? end->message : end->failure, e);
    }
    if (end->blame != BLAME_JOB)
        return after_loss(s, end, job_end, e);
    int64_t tried =
        count(s, "SELECT count(*) FROM attempt WHERE job_id = ? AND failure = ? AND blame IS NULL AND kind = 'trial'",
              VALUES(sql_int(end->job_id), sql_text(end->failure)), e);
    if (tried < 0)
        return -1;
    /* An attempt that was stopped with the whole run was not tried to its end: it is due again. */
    bool cancelled = strcmp(end->failure, "cancelled") == 0 && !end->cancelled_elsewhere;
    bool again = cancelled || tried < retry_allowed(&s->options.policy, end->failure);
    int64_t delay_ms = again && !cancelled ? retry_delay_ms(&s->options.policy, tried) : 0;
    *job_end = again ? JOB_END_AGAIN : JOB_END_FAILED;
    return finish_job(s, end, again ? JOB_RETRY : JOB_FAIL, end->attempt_id,
                      delay_ms > 0 ? end->ended_ms + delay_ms : 0, e);
}

static int after_success(struct attempt_store *s, const struct attempt_end *end, enum job_end *job_end, struct error *e)
{
    if (s->options.repeat <= 1 && !(end->device_note && s->options.repeat_slowed > 0)) {
        *job_end = JOB_END_OK;
        return finish_job(s, end, JOB_SUCCEED, end->attempt_id, 0, e);
    }
    int64_t done = count(s,
                         "SELECT count(*) - min(count(device_note), ?2) FROM attempt WHERE job_id = ?1 AND state = 'ok'"
                         " AND superseded IS NULL AND kind = 'trial'",
                         VALUES(sql_int(end->job_id), sql_int(s->options.repeat_slowed)), e);
    int64_t representative = done < 0 ? -1
                                      : count(s, "SELECT " REPRESENTATIVE_SQL("?1", "?2"),
                                              VALUES(sql_int(end->job_id), sql_text(s->options.objective)), e);
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
    *job_end = JOB_END_FULL;
    if (end->full)
        return 0;
    return end->failure ? after_failure(s, end, job_end, e) : after_success(s, end, job_end, e);
}

int attempt_record_sample(struct attempt_store *s, int64_t attempt_id, const struct sample_row *row, struct error *e)
{
    return stmt_run_with(s->insert_sample,
                         VALUES(sql_int(attempt_id), sql_text(row->name), sql_int(row->sequence), sql_int(row->step),
                                sql_finite(row->value)),
                         e);
}

int attempt_record_summary(struct attempt_store *s, int64_t attempt_id, const char *name, const struct summary *row,
                           struct error *e)
{
    static const char sql[] =
        "INSERT OR REPLACE INTO summary (attempt_id, name, value, count, mean, median, minimum, maximum, stddev, p90,"
        " not_finite, reported, kept, definition_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
        " (SELECT definition_id FROM metric_definition WHERE name = ?2))";
    return db_run(s->db, sql,
                  VALUES(sql_int(attempt_id), sql_text(name), sql_finite(row->value), sql_int(row->count),
                         sql_finite(row->mean), sql_finite(row->median), sql_finite(row->minimum),
                         sql_finite(row->maximum), sql_finite(row->stddev), sql_finite(row->p90),
                         sql_int(row->not_finite), sql_int(row->reported),
                         row->kept < row->reported ? sql_int(row->kept) : sql_null()),
                  e);
}

/* --- given files --- */

void given_files_add(struct given_files *files, const char *path, char *text)
{
    *array_add(files->items, files->count) = (struct given_file){xstrdup(path), text};
}

void given_files_free(struct given_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free_all(files->items[i].path, files->items[i].text);
    free(files->items);
    *files = (struct given_files){NULL, 0};
}

/* --- recovered attempts --- */

void recovered_attempts_free(struct recovered_attempts *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free_all(l->items[i].reference, l->items[i].directory);
    }
    free(l->items);
    *l = RECOVERED_ATTEMPTS_INIT;
}

int recovered_attempts_read(struct db *db, const char *executor, struct recovered_attempts *out, struct error *e)
{
    struct stmt *s = NULL;
    struct recovered_attempts found = RECOVERED_ATTEMPTS_INIT;
    int rc;
    while ((rc = db_next(db,
                         "SELECT job_id, id, number, number - (SELECT count(*) FROM attempt AS f WHERE f.job_id = "
                         "attempt.job_id"
                         " AND f.number <= attempt.number AND f.kind <> 'trial'), kind <> 'trial', state = 'running', "
                         "reference, directory FROM attempt"
                         " WHERE state IN ('claimed', 'running') AND executor = ? ORDER BY id",
                         VALUES(sql_text(executor)), &s, e)) > 0) {
        *array_add(found.items, found.count) = (struct recovered_attempt){
            .claim = {stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2), stmt_int(s, 3), stmt_int(s, 4) != 0, false},
            .started = stmt_int(s, 5) != 0,
            .reference = stmt_copy_text(s, 6),
            .directory = stmt_copy_text(s, 7),
        };
    }
    if (rc < 0)
        recovered_attempts_free(&found);
    else
        *out = found;
    return rc;
}

int recovered_attempts_none_elsewhere(struct db *db, const char *executor, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db,
                     "SELECT executor, count(*) FROM attempt WHERE state IN ('claimed', 'running')"
                     " AND executor NOT IN ('local', 'slurm-step', ?) GROUP BY executor",
                     VALUES(sql_text(executor)), &s, e);
    if (rc > 0)
        rc =
            error_set(e, ERROR_FAILED,
                      "%lld attempt%s submitted to %s; collect %s with `meshsweep run --executor %s`, then start again",
                      (long long)stmt_int(s, 1), stmt_int(s, 1) == 1 ? " was" : "s were", stmt_text(s, 0),
                      stmt_int(s, 1) == 1 ? "it" : "them", stmt_text(s, 0));
    return rc;
}

int recovered_attempt_adopt(struct db *db, int64_t attempt_id, int64_t runner_id, struct error *e)
{
    return db_run(db, "UPDATE attempt SET runner_id = ?2 WHERE id = ?1 AND state IN ('claimed', 'running')",
                  VALUES(sql_int(attempt_id), sql_int(runner_id)), e);
}

/* --- where a job failed --- */

void places_free(struct places *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free_all(p->items[i].host, p->items[i].devices);
    }
    free(p->items);
    *p = PLACES_INIT;
}

int places_of_failures(struct db *db, int64_t job_id, struct places *out, struct error *e)
{
    static const char sql[] =
        "SELECT coalesce(a.host, r.host), a.devices, max(a.host IS NOT NULL), max(a.failure IS 'lost')"
        " FROM attempt AS a JOIN runner AS r ON r.id = a.runner_id"
        " WHERE a.job_id = ? AND a.kind = 'trial' AND iif(a.state = 'failed', a.failure <> 'cancelled', "
        "a.device_note IS NOT NULL) GROUP BY 1, 2 ORDER BY max(a.number) DESC";
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_int(job_id)), &s, e)) > 0) {
        *array_add(out->items, out->count) =
            (struct place){xstrdup(stmt_text(s, 0)), stmt_copy_text(s, 1), stmt_int(s, 2) != 0, stmt_int(s, 3) != 0};
    }
    return rc;
}
