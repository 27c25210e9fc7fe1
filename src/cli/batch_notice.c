#include "cli/batch_notice.h"

#include "cli/output.h"
#include "results/json.h"

void batch_notice_say(const cJSON *beside)
{
    const cJSON *batches = cJSON_GetObjectItemCaseSensitive(beside, "batches");
    const long long winner = json_count_of(batches, "winner"), others = json_count_of(batches, "others"),
                    least = json_count_of(batches, "least"), most = json_count_of(batches, "most");
    if (others == 1)
        output_message("the winner's global batch is %lld, but other jobs have %lld; to compare at an equal one, use "
                       "meshsweep results --where",
                       winner, least);
    else if (others > 1)
        output_message("the winner's global batch is %lld, but other jobs have %lld others, from %lld to %lld; to "
                       "compare at an equal one, use meshsweep results --where",
                       winner, others, least, most);
}

int device_notice_say(struct db *db, int64_t job_id, struct error *e)
{
    static const char sql[] =
        "SELECT j.id, a.device_note, count(*) OVER () FROM attempt AS a CROSS JOIN job AS j"
        " ON j.id = a.job_id AND j.attempt_id = a.id WHERE a.device_note IS NOT NULL AND j.state = 'ok'"
        " AND iif(?1, j.id = ?1, j.sweep_id = (SELECT id FROM current_sweep)) ORDER BY j.id LIMIT 1";
    OWNED_STMT *s = NULL;
    int rc = db_next(db, sql, VALUES(sql_int(job_id)), &s, e);
    if (rc > 0 && stmt_int(s, 2) > 1)
        output_message("%lld jobs were measured on slow devices, such as job %lld: %s", (long long)stmt_int(s, 2),
                       (long long)stmt_int(s, 0), stmt_text(s, 1));
    else if (rc > 0)
        output_message("job %lld was measured on a slow device: %s", (long long)stmt_int(s, 0), stmt_text(s, 1));
    return rc < 0 ? -1 : 0;
}
