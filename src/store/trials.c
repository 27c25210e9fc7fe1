#include "store/trials.h"

#include <math.h>

#include "store/states.h"
#include "util/clock.h"
#include "util/fault.h"

/* --- searches --- */

int search_open(struct db *db, int64_t sweep_id, const char *strategy, const char *options_json, int64_t *id,
                struct error *e)
{
    int rc = db_query_int(db, "SELECT max(id) FROM search WHERE sweep_id = ? AND strategy = ? AND options = ?",
                          VALUES(sql_int(sweep_id), sql_text(strategy), sql_text(options_json)), 0, id, e);
    if (rc < 0 || *id > 0)
        return rc;
    return db_insert(db, "INSERT INTO search (sweep_id, strategy, options, started) VALUES (?, ?, ?, ?)",
                     VALUES(sql_int(sweep_id), sql_text(strategy), sql_text(options_json), sql_int(clock_wall_ms())),
                     id, e);
}

/* --- trials --- */

int trial_next(struct db *db, int64_t search_id, struct stmt **s, struct trial_row *out, struct error *e)
{
    static const char sql[] =
        "SELECT id, asked, told, resource, lineage, draw, reason, job_id, attempt_id,"
        " iif(outcome IS NOT NULL AND job_id IN excluded_job, 'failed', outcome),"
        " iif(outcome IS NOT NULL AND job_id IN excluded_job, 'excluded', failure),"
        " objective, steps, seconds, bytes, device_seconds FROM trial WHERE search_id = ? ORDER BY id";
    int rc = db_next(db, sql, VALUES(sql_int(search_id)), s, e);
    if (rc > 0)
        *out = (struct trial_row){stmt_int(*s, 0),
                                  stmt_int(*s, 1),
                                  stmt_int(*s, 2),
                                  stmt_double_or_nan(*s, 3),
                                  stmt_text(*s, 4),
                                  stmt_int(*s, 5),
                                  stmt_text(*s, 6),
                                  {stmt_int(*s, 7), stmt_int(*s, 8), stmt_text(*s, 9), stmt_text(*s, 10), false,
                                   stmt_double_or_nan(*s, 11), stmt_double_or_nan(*s, 12), stmt_double_or_nan(*s, 13),
                                   stmt_double_or_nan(*s, 14), stmt_double_or_nan(*s, 15)}};
    return rc;
}

int trial_record(struct db *db, int64_t search_id, const struct trial_row *row, int64_t *id, struct error *e)
{
    static const struct job_outcome untold = {.objective = NAN,
                                              .steps = NAN,
                                              .seconds = NAN,
                                              .bytes = NAN,
                                              .device_seconds = NAN};
    const struct job_outcome *o = row->told ? &row->outcome : &untold;
    int rc = db_insert(db,
                       "INSERT INTO trial (search_id, job_id, attempt_id, asked, told, resource, lineage, draw, reason,"
                       " outcome, failure, objective, steps, seconds, bytes, device_seconds)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       VALUES(sql_int(search_id), sql_int(row->outcome.job_id), sql_positive(row->outcome.attempt_id),
                              sql_positive(row->asked), sql_positive(row->told), sql_real(row->resource),
                              sql_text(row->lineage), sql_int(row->draw), sql_text(row->reason), sql_text(o->state),
                              sql_text(o->failure), sql_real(o->objective), sql_real(o->steps), sql_real(o->seconds),
                              sql_real(o->bytes), sql_real(o->device_seconds)),
                       id, e);
    FAULT(TRIAL_ASKED);
    return rc;
}

int trial_record_outcome(struct db *db, int64_t id, int64_t told, const struct job_outcome *o, struct error *e)
{
    int rc = db_run(db,
                    "UPDATE trial SET told = ?2, outcome = ?3, failure = ?4, objective = ?5, steps = ?6, seconds = ?7,"
                    " bytes = ?8, device_seconds = ?9, attempt_id = ?10 WHERE id = ?1",
                    VALUES(sql_int(id), sql_int(told), sql_text(o->state), sql_text(o->failure), sql_real(o->objective),
                           sql_real(o->steps), sql_real(o->seconds), sql_real(o->bytes), sql_real(o->device_seconds),
                           sql_positive(o->attempt_id)),
                    e);
    FAULT(TRIAL_TOLD);
    return rc;
}

int trial_reopen_job(struct db *db, int64_t job_id, int64_t *reopened, struct error *e)
{
    const enum job_state next = job_transition(JOB_OK, JOB_REOPEN).next;
    int rc = db_run(db,
                    "UPDATE job SET state = ?2 WHERE id = ?1 AND state = ?3"
                    " AND attempt_id IN (SELECT id FROM attempt WHERE stopped_steps IS NOT NULL)",
                    VALUES(sql_int(job_id), sql_text(job_state_names[next]), sql_text(job_state_names[JOB_OK])), e);
    *reopened += rc == 0 ? db_changes(db) : 0;
    return rc;
}

/* --- outcomes of jobs --- */

/* Why an ok job cannot win; NULL: it can. */
#define INFEASIBLE                                                                                                     \
    "(SELECT iif(s.quantity = 'memory', '" FAILURE_INFEASIBLE_MEMORY "', '" FAILURE_INFEASIBLE "')"                    \
    " FROM breach AS k JOIN subject_to AS s ON s.position = k.position"                                                \
    " WHERE k.attempt_id = j.attempt_id AND j.state = 'ok' ORDER BY s.quantity DESC LIMIT 1)"
#define JOB_OUTCOMES                                                                                                   \
    "SELECT j.id, j.attempt_id, iif(j.witness_id IS NULL AND j.id NOT IN excluded_job AND " INFEASIBLE                 \
    " IS NULL, j.state, 'failed'),"                                                                                    \
    " CASE WHEN j.witness_id IS NULL THEN coalesce(j.failure, iif(j.id IN excluded_job, 'excluded', " INFEASIBLE       \
    ")) ELSE 'oom' END,"                                                                                               \
    " a.stopped_steps IS NOT NULL, m.value, a.stopped_steps, t.measured,"                                              \
    " b.measured, j.devices * a.duration_ms / 1000.0"                                                                  \
    " FROM job AS j LEFT JOIN attempt AS a ON a.id = j.attempt_id"                                                     \
    " LEFT JOIN job_metric AS m ON m.job_id = j.id AND m.name = ?2"                                                    \
    " LEFT JOIN observation AS t ON t.attempt_id = j.attempt_id AND t.quantity = 'time' AND t.kind = 'measured'"       \
    " LEFT JOIN observation AS b ON b.attempt_id = j.attempt_id AND b.quantity = 'memory' AND b.kind = 'measured'"     \
    " WHERE "

int job_outcome_next(struct db *db, const struct job_outcome_query *query, struct stmt **s, struct job_outcome *out,
                     struct error *e)
{
    const char *sql = query->job_id ? JOB_OUTCOMES "j.id = ?1"
                                    : JOB_OUTCOMES
                          "j.sweep_id = ?1 AND (j.state IN ('ok', 'failed') OR j.witness_id IS NOT NULL) ORDER BY j.id";
    int rc =
        db_next(db, sql, VALUES(sql_int(query->job_id ? query->job_id : query->sweep_id), sql_text(query->objective)),
                s, e);
    if (rc > 0)
        *out = (struct job_outcome){stmt_int(*s, 0),           stmt_int(*s, 1),           stmt_text(*s, 2),
                                    stmt_text(*s, 3),          stmt_int(*s, 4) != 0,      stmt_double_or_nan(*s, 5),
                                    stmt_double_or_nan(*s, 6), stmt_double_or_nan(*s, 7), stmt_double_or_nan(*s, 8),
                                    stmt_double_or_nan(*s, 9)};
    return rc;
}
