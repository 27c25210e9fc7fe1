#include "store/trials.h"

#include <math.h>

#include "store/states.h"
#include "util/clock.h"
#include "util/fault.h"

/* --- searches --- */

int search_find(struct db *db, int64_t sweep_id, const char *strategy, const char *options_json, int64_t *id,
                struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT max(id) FROM search WHERE sweep_id = ? AND strategy = ? AND options = ?", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, sweep_id);
    stmt_bind_text(s, 2, strategy);
    stmt_bind_text(s, 3, options_json);
    int rc = stmt_next(s, e);
    *id = rc > 0 ? stmt_int(s, 0) : 0;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int search_record(struct db *db, int64_t sweep_id, const char *strategy, const char *options_json, int64_t *id,
                  struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "INSERT INTO search (sweep_id, strategy, options, started) VALUES (?, ?, ?, ?)", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, sweep_id);
    stmt_bind_text(s, 2, strategy);
    stmt_bind_text(s, 3, options_json);
    stmt_bind_int(s, 4, clock_wall_ms());
    int rc = stmt_run(s, e);
    *id = db_last_id(db);
    stmt_free(s);
    return rc;
}

int search_record_end(struct db *db, int64_t id, const char *reason, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "UPDATE search SET finished = ?2 WHERE id = ?1 AND finished IS NOT ?2", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    stmt_bind_text(s, 2, reason);
    return stmt_run_once(s, e);
}

/* --- columns --- */

/* --- trials --- */

int trials_read(struct db *db, int64_t search_id, trial_each each, void *context, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT id, asked, told, resource, lineage, draw, reason, job_id, attempt_id, outcome, failure,"
                   " objective, steps, seconds, bytes, device_seconds FROM trial WHERE search_id = ? ORDER BY id",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, search_id);
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        const struct trial_row row = {stmt_int(s, 0),
                                      stmt_int(s, 1),
                                      stmt_int(s, 2),
                                      stmt_double_or_nan(s, 3),
                                      stmt_text(s, 4),
                                      stmt_int(s, 5),
                                      stmt_text(s, 6),
                                      {stmt_int(s, 7), stmt_int(s, 8), stmt_text(s, 9), stmt_text(s, 10), false,
                                       stmt_double_or_nan(s, 11), stmt_double_or_nan(s, 12), stmt_double_or_nan(s, 13),
                                       stmt_double_or_nan(s, 14), stmt_double_or_nan(s, 15)}};
        if (each(context, &row, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_free(s);
    return rc;
}

int trial_record(struct db *db, int64_t search_id, const struct trial_row *row, int64_t *id, struct error *e)
{
    const struct job_outcome *o = &row->outcome;
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "INSERT INTO trial (search_id, job_id, attempt_id, asked, told, resource, lineage, draw, reason, "
                   "outcome,"
                   " failure, objective, steps, seconds, bytes, device_seconds)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, search_id);
    stmt_bind_int(s, 2, o->job_id);
    stmt_bind_positive_or_null(s, 3, o->attempt_id);
    stmt_bind_positive_or_null(s, 4, row->asked);
    stmt_bind_positive_or_null(s, 5, row->told);
    stmt_bind_double(s, 6, row->resource);
    stmt_bind_text(s, 7, row->lineage);
    stmt_bind_int(s, 8, row->draw);
    stmt_bind_text(s, 9, row->reason);
    stmt_bind_text(s, 10, row->told ? o->state : NULL);
    stmt_bind_text(s, 11, row->told ? o->failure : NULL);
    stmt_bind_double(s, 12, row->told ? o->objective : NAN);
    stmt_bind_double(s, 13, row->told ? o->steps : NAN);
    stmt_bind_double(s, 14, row->told ? o->seconds : NAN);
    stmt_bind_double(s, 15, row->told ? o->bytes : NAN);
    stmt_bind_double(s, 16, row->told ? o->device_seconds : NAN);
    int rc = stmt_run(s, e);
    *id = db_last_id(db);
    stmt_free(s);
    FAULT(TRIAL_ASKED);
    return rc;
}

int trial_attach(struct db *db, int64_t id, int64_t attempt_id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "UPDATE trial SET attempt_id = ?2 WHERE id = ?1", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    stmt_bind_positive_or_null(s, 2, attempt_id);
    return stmt_run_once(s, e);
}

int trial_record_outcome(struct db *db, int64_t id, int64_t told, const struct job_outcome *o, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "UPDATE trial SET told = ?2, outcome = ?3, failure = ?4, objective = ?5, steps = ?6, seconds = ?7,"
                   " bytes = ?8, device_seconds = ?9, attempt_id = ?10 WHERE id = ?1",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    stmt_bind_int(s, 2, told);
    stmt_bind_text(s, 3, o->state);
    stmt_bind_text(s, 4, o->failure);
    stmt_bind_double(s, 5, o->objective);
    stmt_bind_double(s, 6, o->steps);
    stmt_bind_double(s, 7, o->seconds);
    stmt_bind_double(s, 8, o->bytes);
    stmt_bind_double(s, 9, o->device_seconds);
    stmt_bind_positive_or_null(s, 10, o->attempt_id);
    int rc = stmt_run_once(s, e);
    FAULT(TRIAL_TOLD);
    return rc;
}

int trial_reopen_job(struct db *db, int64_t job_id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "UPDATE job SET state = ?2 WHERE id = ?1 AND state = ?3", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, job_id);
    stmt_bind_text(s, 2, job_state_names[job_transition(JOB_OK, JOB_REOPEN).next]);
    stmt_bind_text(s, 3, job_state_names[JOB_OK]);
    return stmt_run_once(s, e);
}

/* --- outcomes of jobs --- */

/* Why an ok job cannot win; NULL: it can. */
#define INFEASIBLE                                                                                                     \
    "(SELECT iif(s.quantity = 'memory', '" FAILURE_INFEASIBLE_MEMORY "', '" FAILURE_INFEASIBLE "')"                    \
    " FROM breach AS k JOIN subject_to AS s ON s.position = k.position"                                                \
    " WHERE k.attempt_id = j.attempt_id AND j.state = 'ok' ORDER BY s.quantity DESC LIMIT 1)"
#define JOB_OUTCOMES                                                                                                   \
    "SELECT j.id, j.attempt_id, iif(j.witness_id IS NULL AND " INFEASIBLE " IS NULL, j.state, 'failed'),"              \
    " CASE WHEN j.witness_id IS NULL THEN coalesce(j.failure, " INFEASIBLE ") ELSE 'oom' END,"                         \
    " a.stopped_steps IS NOT NULL, m.value, a.stopped_steps, t.measured,"                                              \
    " b.measured, j.devices * a.duration_ms / 1000.0"                                                                  \
    " FROM job AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id"                                                     \
    " LEFT JOIN summary AS m ON m.attempt_id = j.attempt_id AND m.name = ?2"                                           \
    " LEFT JOIN observation AS t ON t.attempt_id = j.attempt_id AND t.quantity = 'time' AND t.kind = 'measured'"       \
    " LEFT JOIN observation AS b ON b.attempt_id = j.attempt_id AND b.quantity = 'memory' AND b.kind = 'measured'"     \
    " WHERE "

int job_outcomes_read(struct db *db, const struct job_outcome_query *query, job_outcome_each each, void *context,
                      struct error *e)
{
    struct stmt *s = NULL;
    const char *sql = query->job_id ? JOB_OUTCOMES "j.id = ?1"
                                    : JOB_OUTCOMES
                          "j.sweep_id = ?1 AND (j.state IN ('ok', 'failed') OR j.witness_id IS NOT NULL) ORDER BY j.id";
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, query->job_id ? query->job_id : query->sweep_id);
    stmt_bind_text(s, 2, query->objective);
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        const struct job_outcome o = {stmt_int(s, 0),           stmt_int(s, 1),           stmt_text(s, 2),
                                      stmt_text(s, 3),          stmt_int(s, 4) != 0,      stmt_double_or_nan(s, 5),
                                      stmt_double_or_nan(s, 6), stmt_double_or_nan(s, 7), stmt_double_or_nan(s, 8),
                                      stmt_double_or_nan(s, 9)};
        if (each(context, &o, e) < 0) {
            rc = -1;
            break;
        }
    }
    stmt_free(s);
    return rc;
}
