#include "store/imports.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/jobs.h"
#include "util/hash_set.h"
#include "util/memory.h"

enum import_statement { INSERT, INSERT_SAMPLE, INSERT_SUMMARY, TOUCH, STATEMENT_COUNT };

static const char *const statements[STATEMENT_COUNT] = {
    [INSERT] = "INSERT INTO attempt (job_id, number, runner_id, state, failure, message, executor, reference, log_tail,"
               " duration_ms) VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE job_id = ?1), ?2,"
               " iif(?3 IS NULL, 'ok', 'failed'), ?3, ?4, '" IMPORT_EXECUTOR "', ?5, ?6, ?7)",
    [INSERT_SAMPLE] = "INSERT INTO metric VALUES (?1, ?2, 0, NULL, ?3)",
    [INSERT_SUMMARY] = "INSERT INTO summary VALUES (?1, ?2, ?3, 1, ?3, ?3, ?3, ?3, 0, ?3, 0, 1, NULL, NULL,"
                       " (SELECT definition_id FROM metric_definition WHERE name = ?2))",
    [TOUCH] = "INSERT OR IGNORE INTO temp.imported_job VALUES (?)",
};

/* The steps by which a job may go (store/states.h): done or failed → pending → running → done or failed. */
static const char *const finish_statements[] = {
    "UPDATE job SET state = 'pending', failure = NULL WHERE state IN ('ok', 'failed') AND id IN temp.imported_job",
    "UPDATE job SET state = 'running' WHERE state = 'pending' AND id IN temp.imported_job",
    "UPDATE job SET state = 'failed', (failure, attempt_id) = (SELECT failure, id FROM attempt WHERE job_id = job.id"
    " AND kind = 'trial' ORDER BY number DESC LIMIT 1) WHERE state = 'running' AND id IN temp.imported_job"
    " AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = job.id AND state = 'ok' AND kind = 'trial')",
};
static const char finish_ok[] =
    "UPDATE job SET state = 'ok', attempt_id = " REPRESENTATIVE_SQL("job.id", "?1") " WHERE state = 'running' AND id "
                                                                                    "IN temp.imported_job";

struct import_store {
    struct db *db;
    int64_t runner_id;
    char *objective;
    struct hash_set rows; /* hashes of the references of those that are there */
    struct stmt *statements[STATEMENT_COUNT];
};

static int load_rows(struct import_store *s, struct error *e)
{
    struct stmt *q = NULL;
    struct hash128 row;
    int rc = db_prepare(s->db, "SELECT reference FROM attempt WHERE executor = '" IMPORT_EXECUTOR "'", &q, e);
    while (rc == 0 && (rc = stmt_next(q, e)) > 0) {
        const char *reference = stmt_is_null(q, 0) ? "" : stmt_text(q, 0);
        row = hash_bytes(reference, strlen(reference));
        hash_set_add(&s->rows, &row);
        rc = 0;
    }
    stmt_free(q);
    return rc;
}

int import_store_create(struct db *db, int64_t runner_id, const char *objective, struct import_store **out,
                        struct error *e)
{
    struct import_store *s = xcalloc(1, sizeof *s);
    s->db = db;
    s->runner_id = runner_id;
    s->objective = objective ? xstrdup(objective) : NULL;
    int rc = db_exec(db,
                     "DROP TABLE IF EXISTS temp.imported_job;"
                     " CREATE TEMP TABLE imported_job (id INTEGER PRIMARY KEY)",
                     e);
    for (int i = 0; rc == 0 && i < STATEMENT_COUNT; i++)
        rc = db_prepare(db, statements[i], &s->statements[i], e);
    if (rc == 0)
        rc = load_rows(s, e);
    if (rc < 0)
        import_store_free(s);
    else
        *out = s;
    return rc;
}

void import_store_free(struct import_store *s)
{
    if (!s)
        return;
    for (int i = 0; i < STATEMENT_COUNT; i++)
        stmt_free(s->statements[i]);
    hash_set_free(&s->rows);
    free(s->objective);
    free(s);
}

int import_store_put(struct import_store *s, const struct imported_attempt *attempt, int64_t *id, struct error *e)
{
    char row[HASH_HEX_BYTES];
    const struct hash128 reference = hash_bytes(hash_hex(attempt->row, row), HASH_HEX_BYTES - 1);
    *id = 0;
    if (!hash_set_add(&s->rows, &reference))
        return 0;
    const double duration_s = attempt->duration_s;
    if (stmt_run_with(s->statements[INSERT],
                      VALUES(sql_int(attempt->job_id), sql_int(s->runner_id), sql_text(attempt->failure),
                             sql_text(attempt->message), sql_text(row), sql_text(attempt->source),
                             isnan(duration_s) ? sql_null() : sql_int(llround(duration_s * 1000))),
                      e) < 0)
        return -1;
    *id = db_last_id(s->db);
    return stmt_run_with(s->statements[TOUCH], VALUES(sql_int(attempt->job_id)), e);
}

int import_store_metric(struct import_store *s, int64_t attempt_id, const char *name, double value, struct error *e)
{
    const struct sql_values values = VALUES(sql_int(attempt_id), sql_text(name), sql_real(value));
    return stmt_run_with(s->statements[INSERT_SAMPLE], values, e) < 0
               ? -1
               : stmt_run_with(s->statements[INSERT_SUMMARY], values, e);
}

int import_store_finish(struct import_store *s, struct error *e)
{
    for (size_t i = 0; i < sizeof finish_statements / sizeof *finish_statements; i++)
        if (db_exec(s->db, finish_statements[i], e) < 0)
            return -1;
    return db_run(s->db, finish_ok, VALUES(sql_text(s->objective)), e);
}
