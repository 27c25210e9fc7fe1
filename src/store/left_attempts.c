#include "store/left_attempts.h"

#include <stdlib.h>

#include "util/memory.h"

void left_attempts_free(struct left_attempts *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].reference);
        free(l->items[i].directory);
    }
    free(l->items);
    *l = (struct left_attempts)LEFT_ATTEMPTS_INIT;
}

static char *text_or_null(struct stmt *s, int column)
{
    return stmt_is_null(s, column) ? NULL : xstrdup(stmt_text(s, column));
}

int left_attempts_read(struct db *db, const char *executor, struct left_attempts *out, struct error *e)
{
    struct stmt *s = NULL;
    struct left_attempts found = LEFT_ATTEMPTS_INIT;
    if (db_prepare(db,
                   "SELECT job_id, id, number, state = 'running', reference, directory FROM attempt"
                   " WHERE state IN ('claimed', 'running') AND executor = ? ORDER BY id",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, executor);
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        found.items = array_grow(found.items, found.count, sizeof *found.items);
        found.items[found.count++] = (struct left_attempt){
            .claim = {stmt_int(s, 0), stmt_int(s, 1), stmt_int(s, 2)},
            .started = stmt_int(s, 3) != 0,
            .reference = text_or_null(s, 4),
            .directory = text_or_null(s, 5),
        };
    }
    stmt_free(s);
    if (rc < 0)
        left_attempts_free(&found);
    else
        *out = found;
    return rc;
}

int left_attempts_none_elsewhere(struct db *db, const char *executor, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT executor, count(*) FROM attempt WHERE state IN ('claimed', 'running')"
                   " AND executor NOT IN ('local', 'slurm-step', ?) GROUP BY executor",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, executor);
    int rc = stmt_next(s, e);
    if (rc > 0)
        rc = error_set(e, ERROR_FAILED,
                       "%lld attempts are with %s: `meshsweep run --executor %s` collects them; then start again",
                       (long long)stmt_int(s, 1), stmt_text(s, 0), stmt_text(s, 0));
    stmt_free(s);
    return rc;
}

int left_attempt_adopt(struct db *db, int64_t attempt_id, int64_t runner_id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "UPDATE attempt SET runner_id = ?2 WHERE id = ?1 AND state IN ('claimed', 'running')", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, attempt_id);
    stmt_bind_int(s, 2, runner_id);
    int rc = stmt_run(s, e);
    stmt_free(s);
    return rc;
}
