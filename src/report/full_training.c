#include "report/full_training.h"

#include <string.h>

#include "results/status.h"

int full_trainings_read(struct db *db, int64_t job_id, cJSON **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = status_part(db, "SELECT list FROM full_trainings",
                         VALUES(sql_null(), sql_null(), sql_null(), sql_int(job_id)), &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, out, NULL, e);
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
