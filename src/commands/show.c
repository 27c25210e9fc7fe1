#include <cjson/cJSON.h>

#include "cli/result_output.h"
#include "commands/commands.h"
#include "database/open.h"
#include "report/job_command.h"
#include "results/job_record.h"
#include "results/status.h"
#include "util/memory.h"

struct job_view {
    struct db *db;
    int64_t job;
    struct job_launch launch;
};

static int make_document(const struct job_view *v, cJSON *root, struct error *e)
{
    cJSON *full_trainings = NULL;
    int rc = job_part_add_json(root, v->db, JOB_PART_JOB, v->job, e);
    if (rc == 0)
        rc = json_add_keys(root, v->db, v->job, e);
    for (enum job_part p = JOB_PART_METRICS; rc == 0 && p < JOB_PART_COUNT; p++)
        rc = job_part_add_json(root, v->db, p, v->job, e);
    if (rc == 0)
        rc = full_trainings_read(v->db, v->job, &full_trainings, e);
    OWNED char *line = v->launch.command[0] ? job_command_line(&v->launch, false) : NULL;
    cJSON_AddItemToObject(root, "full_trainings", full_trainings);
    json_add_text(root, "shell", line);
    return rc;
}

static int read_and_print(struct job_view *v, const char *job, bool json, struct error *e)
{
    if (job_named(v->db, job, &v->job, e) < 0 || job_launch_read(v->db, v->job, &v->launch, e) < 0)
        return -1;
    cJSON *root = json_document(), *beside = cJSON_CreateObject();
    OWNED char *redacted = v->launch.command[0] ? job_command_redacted(&v->launch) : NULL;
    JSON_ADD(beside, JSON_TEXT("redacted", redacted), JSON_TEXT("measured_elsewhere", v->launch.measured_elsewhere));
    if (make_document(v, root, e) == 0)
        return output_answer_take(json, "sql/texts/show.sql", root, beside, e);
    cJSON_Delete(root);
    cJSON_Delete(beside);
    return -1;
}

int command_show(const struct show_options *o, const struct arguments *a, struct error *e)
{
    struct job_view v = {0};
    if (a->word_count == 0)
        return error_set(e, ERROR_USAGE,
                         "show: name a job by its number, or by the beginning of its key; meshsweep results lists "
                         "them");
    if (store_open_read_only(o->db, &v.db, e) < 0)
        return -1;
    /* One transaction: a runner may be at work. */
    int rc = db_read_begin(v.db, e);
    if (rc == 0)
        rc = read_and_print(&v, a->words[0], o->json, e);
    db_read_end(v.db);
    job_launch_free(&v.launch);
    store_close(v.db);
    return rc;
}
