#include <cjson/cJSON.h>

#include "cli/result_output.h"
#include "commands/commands.h"
#include "database/open.h"
#include "report/job_command.h"
#include "results/job_record.h"
#include "results/status.h"
#include "util/memory.h"

/* Reads the document, and what the text has beside it. */
static int read_job(struct db *db, const char *word, cJSON *root, cJSON *beside, struct error *e)
{
    OWNED_BY(job_launch_free) struct job_launch launch = {0};
    cJSON *full_trainings = NULL;
    int64_t job;
    if (job_named(db, word, &job, e) < 0 || job_launch_read(db, job, &launch, e) < 0 ||
        job_part_add_json(root, db, JOB_PART_JOB, job, e) < 0 || json_add_keys(root, db, job, e) < 0)
        return -1;
    for (enum job_part p = JOB_PART_METRICS; p < JOB_PART_COUNT; p++)
        if (job_part_add_json(root, db, p, job, e) < 0)
            return -1;
    if (full_trainings_read(db, job, &full_trainings, e) < 0)
        return -1;
    OWNED char *line = launch.command[0] ? job_command_line(&launch, false) : NULL,
               *redacted = launch.command[0] ? job_command_redacted(&launch) : NULL;
    cJSON_AddItemToObject(root, "full_trainings", full_trainings);
    json_add_text(root, "shell", line);
    JSON_ADD(beside, JSON_TEXT("redacted", redacted), JSON_TEXT("measured_elsewhere", launch.measured_elsewhere));
    return 0;
}

int command_show(const struct show_options *o, const struct arguments *a, struct error *e)
{
    OWNED_DB *db = NULL;
    OWNED_JSON *root = json_document(), *beside = cJSON_CreateObject();
    if (a->word_count == 0)
        return error_set(e, ERROR_USAGE,
                         "show: name a job by its number, or by the beginning of its key; meshsweep results lists "
                         "them");
    /* One transaction: a runner may be at work. */
    if (store_open_read_only(o->db, &db, e) < 0 || db_read_begin(db, e) < 0)
        return -1;
    int rc = read_job(db, a->words[0], root, beside, e);
    db_read_end(db);
    return rc < 0 ? -1 : output_answer(o->json, "sql/texts/show.sql", root, beside, e);
}
