#include "report/full_training.h"

#include <string.h>

#include "report/text.h"
#include "results/status.h"
#include "util/parse.h"

int full_trainings_read(struct db *db, int64_t job_id, cJSON **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    if (status_part(db, "SELECT list FROM full_trainings", VALUES(sql_null(), sql_null(), sql_null(), sql_int(job_id)),
                    &s, e) < 0)
        return -1;
    int rc = stmt_next(s, e);
    if (rc > 0)
        rc = answer_take(s, 0, out, e);
    return rc;
}

const cJSON *full_training_last(const cJSON *all)
{
    return cJSON_GetArrayItem(all, cJSON_GetArraySize(all) - 1);
}

const char *full_training_state(const cJSON *training)
{
    return json_text_of(training, "state");
}

bool full_training_is_done(const cJSON *all)
{
    const cJSON *training;
    cJSON_ArrayForEach(training, all) if (strcmp(full_training_state(training), "ok") == 0) return true;
    return false;
}

void full_training_add_text(const cJSON *training, struct buffer *out)
{
    const char *failure = json_text_of(training, "failure"), *message = json_text_of(training, "message");
    const cJSON *duration = cJSON_GetObjectItemCaseSensitive(training, "duration_ms");
    char text[32];
    buffer_printf(out, "full training of job %.0f (attempt %.0f): %s", json_real_of(training, "job"),
                  json_real_of(training, "attempt"), full_training_state(training));
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
