/* What the section "Winner" asks of elsewhere (sql/page/winner.sql). */
#include <cjson/cJSON.h>

#include "page/sections.h"
#include "report/hint.h"
#include "report/job_command.h"
#include "results/best.h"
#include "results/conditions.h"
#include "util/memory.h"
#include "util/shell.h"

#define GROUPS_MOST 100

/* Adds how a winner is run, unless it is not on this page. */
static int add_run(struct html_page *p, cJSON *winner, struct error *e)
{
    const int64_t job = json_count_of(winner, "job");
    const long row = html_row_of(p->data, job);
    struct job_launch l;
    if (row < 0)
        return 0;
    if (job_launch_read(p->db, job, &l, e) < 0)
        return -1;
    job_command_train(&l);
    OWNED char *line = l.command[0] ? job_command_line(&l, false) : NULL, *redacted = job_command_redacted(&l);
    OWNED_BUFFER best = BUFFER_INIT;
    buffer_add_text(&best, "meshsweep best");
    hint_add_db(&best, p->database);
    buffer_add_text(&best, " --group ");
    shell_add_word(&best, json_text_or(winner, "group", ""));
    JSON_ADD(winner, JSON_COUNT("row", row), JSON_TEXT("line", line), JSON_TEXT("redacted", redacted),
             JSON_TEXT("elsewhere", l.measured_elsewhere), JSON_TEXT("best", buffer_text(&best)));
    job_launch_free(&l);
    return 0;
}

/* Adds a winner to each group of configurations that compete. */
static int add_groups(struct html_page *p, cJSON *parts, struct error *e)
{
    struct best best = {NULL, NULL};
    int rc = best_read(p->db, NULL, &best, e);
    if (rc == 0 && best_job(&best) >= 0)
        json_take_members(parts, cJSON_GetObjectItemCaseSensitive(best.beside, "groups"));
    best_free(&best);
    return rc;
}

static int add_winner(struct html_page *p, cJSON *parts, struct error *e)
{
    const struct html_job *best = &p->data->jobs[p->data->best];
    cJSON *pareto = NULL;
    JSON_ITEM(cJSON_AddArrayToObject(parts, "groups"), JSON_COUNT("job", best->id),
              JSON_REAL("value", best->objective));
    const int rc = pareto_read(p->db, &pareto, e);
    cJSON_AddItemToObject(parts, "pareto", pareto);
    return rc;
}

static int read_parts(struct html_page *p, cJSON *parts, struct error *e)
{
    const struct html_data *d = p->data;
    const bool compete = d->competition.replicates || d->competition.groups;
    OWNED_JSON *unranked = cJSON_CreateObject();
    cJSON *leads = NULL, *winner;
    int shown = 0, rc = unranked_read(p->db, d->objective, unranked, parts, e);
    if (rc < 0 || (!compete && d->best < 0))
        return rc;
    if (leads_read(p->db, d->objective, d->maximise, &d->competition, &leads, e) < 0)
        return -1;
    cJSON_AddItemToObject(parts, "leads", leads);
    rc = compete ? add_groups(p, parts, e) : add_winner(p, parts, e);
    cJSON_ArrayForEach(winner, cJSON_GetObjectItemCaseSensitive(parts, "groups")) if (rc == 0 && shown++ < GROUPS_MOST)
        rc = add_run(p, winner, e);
    return rc;
}

int html_winner(struct html_page *p, struct error *e)
{
    OWNED_JSON *parts = cJSON_CreateObject();
    if (p->data->objective && read_parts(p, parts, e) < 0)
        return -1;
    OWNED char *text = cJSON_PrintUnformatted(parts);
    return html_add_document(&p->out, p->db, "winner", VALUES(sql_text(text)), e);
}
