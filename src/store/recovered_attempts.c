#include "store/recovered_attempts.h"

#include <stdlib.h>

#include "util/memory.h"

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
                         "reference, "
                         "directory FROM attempt"
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
