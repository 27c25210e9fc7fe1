#include "store/witnesses.h"

int witnesses_clear(struct db *db, int64_t sweep_id, struct error *e)
{
    return db_exec_int(db, "UPDATE job SET witness_id = NULL WHERE witness_id IS NOT NULL AND sweep_id = ?", sweep_id,
                       e);
}

static int has_row(struct db *db, const char *sql, int64_t id, bool *yes, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, sql, &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, id);
    int rc = stmt_next(s, e);
    *yes = rc > 0;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int witnesses_any(struct db *db, int64_t sweep_id, bool *yes, struct error *e)
{
    return has_row(db, "SELECT 1 FROM job WHERE sweep_id = ? AND state = 'failed' AND failure = 'oom' LIMIT 1",
                   sweep_id, yes, e);
}

int witnesses_covers(struct db *db, int64_t job_id, bool *yes, struct error *e)
{
    return has_row(db, "SELECT 1 FROM job WHERE id = ? AND witness_id IS NOT NULL", job_id, yes, e);
}

int witnesses_walk(struct db *db, int64_t sweep_id, witness_each each, void *context, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT id, rank, 1 FROM job WHERE sweep_id = ?1 AND state = 'failed' AND failure = 'oom'"
                   " UNION ALL SELECT id, rank, 0 FROM job WHERE sweep_id = ?1 AND state IN ('pending', 'running')",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, sweep_id);
    int rc;
    while ((rc = stmt_next(s, e)) > 0)
        if ((rc = each(context, stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2), e)) < 0)
            break;
    stmt_free(s);
    return rc;
}

int witnesses_walk_elsewhere(struct db *db, int64_t sweep_id, witness_elsewhere_each each, void *context,
                             struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   /* + keeps to the index of the failed ones: a table may be long. */
                   "SELECT " JOB_SPECS_COLUMNS " FROM job AS j" JOB_SPECS_JOINS
                   " WHERE j.sweep_id <> ?1 AND j.state = 'failed' AND j.failure = 'oom' ORDER BY +j.id DESC LIMIT ?2",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, sweep_id);
    stmt_bind_int(s, 2, WITNESSES_MOST);
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        struct job_specs row;
        job_specs_read(s, &row);
        if ((rc = each(context, &row, e)) < 0)
            break;
    }
    stmt_free(s);
    return rc;
}

int witnesses_set(struct db *db, int64_t job_id, int64_t witness_id, bool *pruned, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "UPDATE job SET witness_id = ?2 WHERE id = ?1 AND state = 'pending' AND witness_id IS NULL", &s,
                   e) < 0)
        return -1;
    stmt_bind_int(s, 1, job_id);
    stmt_bind_int(s, 2, witness_id);
    int rc = stmt_run(s, e);
    *pruned = rc == 0 && db_changes(db) > 0;
    stmt_free(s);
    return rc;
}
