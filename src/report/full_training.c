#include "report/full_training.h"

#include <string.h>

#include "report/text.h"
#include "results/json.h"
#include "util/parse.h"

int full_trainings_read(struct db *db, int64_t job_id, cJSON **out, struct error *e)
{
    static const char sql[] =
        "SELECT a.job_id AS job, a.number AS attempt, a.state, a.failure, a.message,"
        " strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch') AS started,"
        " strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended,"
        " a.duration_ms, a.exit_code, a.directory AS files,"
        " (SELECT json_group_object(name, value) FROM (SELECT m.name, m.value, max(m.sequence) FROM metric AS m"
        "   WHERE m.attempt_id = a.id GROUP BY m.name)) AS \"values\""
        " FROM attempt AS a WHERE a.kind = 'full' AND (a.job_id = ?1"
        " OR ?1 = 0 AND a.job_id IN (SELECT id FROM job WHERE sweep_id = (SELECT id FROM current_sweep)))"
        " ORDER BY a.id";
    struct stmt *s = NULL;
    if (db_query(db, sql, VALUES(sql_int(job_id)), &s, e) < 0)
        return -1;
    cJSON *all = cJSON_CreateArray();
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        cJSON *training = cJSON_CreateObject();
        json_add_columns(training, s, 0);
        cJSON_AddItemToArray(all, training);
    }
    stmt_free(s);
    if (rc < 0)
        cJSON_Delete(all);
    else
        *out = all;
    return rc;
}

static const char *text_of(const cJSON *training, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(training, name));
}

static double number_of(const cJSON *training, const char *name)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(training, name));
}

const cJSON *full_training_last(const cJSON *all)
{
    return cJSON_GetArrayItem(all, cJSON_GetArraySize(all) - 1);
}

const char *full_training_state(const cJSON *training)
{
    return text_of(training, "state");
}

bool full_training_is_done(const cJSON *all)
{
    const cJSON *training;
    cJSON_ArrayForEach(training, all) if (strcmp(full_training_state(training), "ok") == 0) return true;
    return false;
}

void full_training_add_text(const cJSON *training, struct buffer *out)
{
    const char *failure = text_of(training, "failure"), *message = text_of(training, "message");
    const cJSON *duration = cJSON_GetObjectItemCaseSensitive(training, "duration_ms");
    char text[32];
    buffer_printf(out, "full training of job %.0f (attempt %.0f): %s", number_of(training, "job"),
                  number_of(training, "attempt"), full_training_state(training));
    if (failure)
        buffer_printf(out, " (%s)", failure);
    if (cJSON_IsNumber(duration))
        buffer_printf(out, " after %s", format_duration_ms((int64_t)duration->valuedouble, text, sizeof text));
    if (message) {
        buffer_add_text(out, ": ");
        text_add_line(out, message);
    }
    buffer_add_char(out, '\n');
}
