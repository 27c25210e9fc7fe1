#include "results/conditions.h"

#include <ctype.h>

#include "util/memory.h"

/* The first is along the index of values, where those without one come first. */
static const char unranked_sql[] =
    "WITH lost (jobs, why) AS (SELECT sum(count(*)) OVER (), m.note"
    "  FROM job_metric AS m CROSS JOIN job AS j ON j.id = m.job_id"
    "  WHERE m.name = ?1 AND m.value IS NULL AND m.note IS NOT NULL AND j.state = 'ok' AND j.id NOT IN excluded_job"
    "  AND j.sweep_id = (SELECT id FROM current_sweep) GROUP BY m.note ORDER BY count(*) DESC, m.note LIMIT 1),"
    " out (jobs, which) AS (SELECT max(n), group_concat('job ' || job_id || ' (' || excluded || ')', ', ') ||"
    "  iif(max(n) > 3, ', …', '') FROM (SELECT n.job_id, n.excluded, count(*) OVER () AS n FROM job_note AS n"
    "  JOIN job AS j ON j.id = n.job_id WHERE ?1 IS NOT NULL AND n.excluded IS NOT NULL"
    "  AND j.sweep_id = (SELECT id FROM current_sweep) ORDER BY n.job_id LIMIT 3))"
    " SELECT 'not compared: ' || lost.jobs || ' ok job' || iif(lost.jobs = 1, '', 's') || ' without a number: ' || "
    "lost.why, out.jobs || ' excluded: ' || which, coalesce(lost.jobs, 0) AS unranked_jobs, lost.why AS unranked_why,"
    " coalesce(out.jobs, 0) AS excluded_jobs FROM out LEFT JOIN lost";

int unranked_read(struct db *db, const char *metric, cJSON *document, cJSON *beside, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, unranked_sql, VALUES(sql_text(metric)), &s, e);
    if (rc > 0) {
        OWNED char *excluded = stmt_copy_text(s, 1);
        for (char *p = excluded; p && *p; p++)
            *p = iscntrl((unsigned char)*p) ? ' ' : *p; /* anybody's words */
        json_add_columns(document, s, 2);
        json_add_text(beside, "unranked", stmt_text(s, 0));
        json_add_text(beside, "excluded", excluded);
    }
    return rc < 0 ? -1 : 0;
}

void unranked_add_text(const cJSON *beside, struct buffer *out)
{
    static const char *const names[] = {"unranked", "excluded"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (json_text_of(beside, names[i]))
            buffer_printf(out, "%s\n", json_text_of(beside, names[i]));
}

/* Preparing the document costs more than all else that `status` of a small sweep does. */
static int read_list(struct db *db, const struct conditions_request *request, cJSON **list, cJSON **beside,
                     struct error *e)
{
    OWNED_STMT *s = NULL;
    bool any = false;
    int rc = request->objective ? db_query_bool(db, "SELECT 1 FROM subject_to", NO_VALUES, &any, e) : 0;
    if (rc < 0 || !any) {
        *list = cJSON_CreateArray();
        return rc;
    }
    if (answer_open(db, "sql/answers/subject_to.sql", NULL,
                    VALUES(sql_text(request->objective), sql_int(request->maximise), sql_real(request->winner)), &s,
                    e) < 0)
        return -1;
    rc = stmt_next(s, e);
    if (rc > 0 && (rc = answer_take(s, 0, list, e)) == 0)
        rc = answer_take(s, 1, beside, e);
    return rc;
}

int conditions_read(struct db *db, const struct conditions_request *request, cJSON *document, cJSON *beside,
                    struct error *e)
{
    cJSON *list = NULL, *told = NULL;
    int rc = read_list(db, request, &list, &told, e);
    if (list && !cJSON_ReplaceItemInObjectCaseSensitive(document, "subject_to", list))
        cJSON_AddItemToObject(document, "subject_to", list);
    json_take_members(beside, told);
    cJSON_Delete(told);
    return rc == 0 ? unranked_read(db, request->objective, document, beside, e) : rc;
}

const cJSON *conditions_nearest(const cJSON *document, const cJSON *beside)
{
    const int64_t nearest = json_count_of(beside, "nearest");
    return nearest < 0 ? NULL
                       : cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(document, "subject_to"), (int)nearest);
}
