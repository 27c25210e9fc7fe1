#include "results/status.h"

int status_part(struct db *db, const char *select, struct sql_values values, struct stmt **out, struct error *e)
{
    return answer_open(db, "sql/answers/status.sql", select, values, out, e);
}

/* The number of that name, or the value of the object; null stays. */
static void set_exactly(cJSON *document, const struct stmt *s, int column)
{
    cJSON *number = cJSON_GetObjectItemCaseSensitive(document, stmt_column_name(s, column));
    if (cJSON_IsObject(number))
        number = cJSON_GetObjectItemCaseSensitive(number, "value");
    if (cJSON_IsNumber(number))
        cJSON_SetNumberValue(number, stmt_double(s, column));
}

int status_read(struct db *db, bool runner_alive, int64_t now_ms, cJSON **out, cJSON **beside, struct error *e)
{
    OWNED_STMT *s = NULL;
    if (status_part(db, NULL, VALUES(sql_null(), sql_int(now_ms), sql_int(runner_alive)), &s, e) < 0 ||
        answer_documents(s, 0, out, beside, e) < 0)
        return -1;
    if (!*out)
        return error_set(e, ERROR_NOTHING, "this database has no sweep yet; `meshsweep run` records one");
    for (int i = 2; i < stmt_column_count(s); i++)
        set_exactly(*out, s, i);
    return 0;
}

int status_search_read(struct db *db, int64_t sweep_id, cJSON **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    *out = NULL;
    int rc = status_part(db, "SELECT json_set(document, '$.lifting', lifting) FROM search_document, the_search",
                         VALUES(sql_int(sweep_id)), &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, out, NULL, e);
}

int full_trainings_read(struct db *db, int64_t job_id, cJSON **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = status_part(db, "SELECT list FROM full_trainings",
                         VALUES(sql_null(), sql_null(), sql_null(), sql_int(job_id)), &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, out, NULL, e);
}

int status_expected_ms(struct db *db, int64_t waiting, double *mean_ms, double *attempts, struct error *e)
{
    OWNED_STMT *s = NULL;
    if (status_part(db,
                    waiting ? "SELECT ms, attempts FROM expected_waiting, each_takes"
                            : "SELECT (SELECT avg(ms) FROM expected_running), attempts FROM each_takes",
                    VALUES(sql_null(), sql_null(), sql_null(), sql_null(), sql_int(waiting)), &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    *mean_ms = rc > 0 ? stmt_double_or_nan(s, 0) : (double)NAN;
    *attempts = rc > 0 ? stmt_double(s, 1) : 1;
    return rc < 0 ? -1 : 0;
}
