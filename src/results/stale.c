#include "results/stale.h"

#include <stdlib.h>

#define ANSWER "sql/answers/stale.sql"

/* What is there now of the files that commands named: {path: content}. The caller's. */
static int read_present(struct db *db, const struct stale_today *today, char **json, struct error *e)
{
    struct stmt *s = NULL;
    cJSON *present = cJSON_CreateObject();
    int rc = answer_open(db, ANSWER, "SELECT DISTINCT path FROM named", NO_VALUES, &s, e);
    while (rc >= 0 && (rc = stmt_next(s, e)) > 0)
        cJSON_AddStringToObject(present, stmt_text(s, 0), today->content(today->context, stmt_text(s, 0)));
    stmt_free(s);
    *json = rc < 0 ? NULL : cJSON_PrintUnformatted(present);
    cJSON_Delete(present);
    return rc;
}

int stale_read(struct db *db, const struct stale_today *today, cJSON **out, cJSON **beside, struct error *e)
{
    struct stmt *s = NULL;
    char *present;
    cJSON *document = NULL;
    if (read_present(db, today, &present, e) < 0)
        return -1;
    int rc = answer_open(db, ANSWER, NULL, VALUES(sql_text(today->provenance), sql_text(present)), &s, e);
    if (rc == 0 && (rc = stmt_next(s, e)) > 0 && (rc = answer_take(s, 0, &document, e)) == 0)
        rc = answer_take(s, 1, beside, e);
    stmt_free(s);
    free(present);
    if (rc < 0)
        cJSON_Delete(document);
    else
        *out = document;
    return rc;
}

int stale_environment(struct db *db, const char *environment, char **words, struct error *e)
{
    struct stmt *s = NULL;
    if (answer_open(db, ANSWER, "SELECT words FROM environment", VALUES(sql_null(), sql_null(), sql_text(environment)),
                    &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    *words = rc > 0 ? stmt_copy_text(s, 0) : NULL;
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

static int list_jobs(struct db *db, const cJSON *stale, struct error *e)
{
    char *json = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(stale, "differences"));
    int rc = db_exec(db, "CREATE TEMP TABLE stale (job_id INTEGER PRIMARY KEY)", e);
    if (rc == 0)
        rc = db_run(db, "INSERT OR IGNORE INTO temp.stale SELECT value ->> 'job' FROM json_each(?1)",
                    VALUES(sql_text(json)), e);
    free(json);
    return rc;
}

int stale_reopen(struct db *db, const cJSON *stale, const struct requeue_request *request, int64_t *count,
                 struct error *e)
{
    *count = 0;
    if (json_count_of(stale, "stale") == 0)
        return 0;
    if (db_begin(db, e) < 0)
        return -1;
    if (list_jobs(db, stale, e) == 0 && jobs_requeue_listed(db, request, "temp.stale", count, e) == 0 &&
        db_exec(db,
                "UPDATE attempt SET superseded = 'made with another script, commit or device than a later one'"
                " WHERE state = 'ok' AND job_id IN (SELECT job_id FROM temp.stale) AND EXISTS"
                " (SELECT 1 FROM job WHERE id = attempt.job_id AND state = 'pending'); DROP TABLE temp.stale",
                e) == 0)
        return db_commit(db, e);
    db_rollback(db);
    return -1;
}
