#include "store/witnesses.h"

/* Nobody knows whose memory ran out on a device that others had as well. */
#define ALONE(job)                                                                                                     \
    " AND NOT EXISTS (SELECT 1 FROM attempt AS a WHERE a.id = " job                                                    \
    ".attempt_id AND a.device_condition ->> '$.shared_with' > 0)"

int witnesses_clear(struct db *db, int64_t sweep_id, struct error *e)
{
    return db_run(db, "UPDATE job SET witness_id = NULL WHERE witness_id IS NOT NULL AND sweep_id = ?",
                  VALUES(sql_int(sweep_id)), e);
}

int witnesses_any(struct db *db, int64_t sweep_id, bool *yes, struct error *e)
{
    return db_query_bool(db, "SELECT 1 FROM job WHERE sweep_id = ? AND state = 'failed' AND failure = 'oom' LIMIT 1",
                         VALUES(sql_int(sweep_id)), yes, e);
}

int witnesses_covers(struct db *db, int64_t job_id, bool *yes, struct error *e)
{
    return db_query_bool(db, "SELECT 1 FROM job WHERE id = ? AND witness_id IS NOT NULL", VALUES(sql_int(job_id)), yes,
                         e);
}

int witnesses_walk(struct db *db, int64_t sweep_id, witness_each each, void *context, struct error *e)
{
    static const char sql[] =
        "SELECT id, rank, 1 FROM job WHERE sweep_id = ?1 AND state = 'failed' AND failure = 'oom'" ALONE(
            "job") " UNION ALL SELECT id, rank, 0 FROM job WHERE sweep_id = ?1 AND state IN ('pending', 'running')";
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_int(sweep_id)), &s, e)) > 0)
        if ((rc = each(context, stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2), e)) < 0)
            break;
    return rc;
}

int witnesses_walk_elsewhere(struct db *db, int64_t sweep_id, witness_elsewhere_each each, void *context,
                             struct error *e)
{
    OWNED_STMT *s = NULL;
    /* + keeps to the index of the failed ones: a table may be long. */
    int rc;
    while ((rc = db_next(db,
                         "SELECT " JOB_SPECS_COLUMNS " FROM job AS j" JOB_SPECS_JOINS
                         " WHERE j.sweep_id <> ?1 AND j.state = 'failed' AND j.failure = 'oom'" ALONE(
                             "j") " ORDER BY +j.id DESC "
                                  "LIMIT ?2",
                         VALUES(sql_int(sweep_id), sql_int(WITNESSES_MOST)), &s, e)) > 0) {
        struct job_specs row;
        job_specs_read(s, &row);
        if ((rc = each(context, &row, e)) < 0)
            break;
    }
    return rc;
}

int witnesses_set(struct db *db, int64_t job_id, int64_t witness_id, bool *pruned, struct error *e)
{
    int rc = db_run(db, "UPDATE job SET witness_id = ?2 WHERE id = ?1 AND state = 'pending' AND witness_id IS NULL",
                    VALUES(sql_int(job_id), sql_int(witness_id)), e);
    *pruned = rc == 0 && db_changes(db) > 0;
    return rc;
}
