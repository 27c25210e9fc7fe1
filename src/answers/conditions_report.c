#include "answers/conditions_report.h"

#include <math.h>

#include "report/text.h"
#include "results/json.h"

static void add_first(const struct win_condition *c, struct buffer *out)
{
    buffer_printf(out, "excludes %lld better job%s", (long long)c->better, c->better == 1 ? "" : "s");
    buffer_printf(out, ", the best of them job %lld with ", (long long)c->first.job_id);
    text_add_rounded(out, c->first.objective);
    if (c->first.note) {
        buffer_printf(out, " (unknown: %s)", c->first.note);
    } else if (!isnan(c->first.value) && !isnan(c->first.bound)) {
        buffer_add_text(out, " (");
        text_add_rounded(out, c->first.value);
        buffer_add_text(out, ", the bound is ");
        text_add_rounded(out, c->first.bound);
        buffer_add_char(out, ')');
    }
}

void conditions_add_text(const struct conditions *c, struct buffer *out)
{
    if (c->count > 0)
        buffer_add_text(out, "\nsubject to\n");
    for (size_t i = 0; i < c->count; i++) {
        const struct win_condition *item = &c->items[i];
        buffer_add_text(out, "  ");
        text_add_line(out, item->text);
        if (item->better > 0) {
            buffer_add_text(out, ": binds, ");
            add_first(item, out);
        } else {
            buffer_printf(out, ": not binding, %s",
                          item->broken ? "the jobs that do not meet it are no better" : "every job meets it");
        }
        buffer_add_char(out, '\n');
    }
    if (c->unranked > 0)
        buffer_add_char(out, '\n');
    conditions_add_unranked(c, out);
}

void conditions_add_binding(const struct conditions *c, struct buffer *out)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->items[i].better == 0)
            continue;
        buffer_add_text(out, "bound by ");
        text_add_line(out, c->items[i].text);
        buffer_printf(out, ", which excludes %lld better job%s (see meshsweep best)\n", (long long)c->items[i].better,
                      c->items[i].better == 1 ? "" : "s");
    }
    conditions_add_unranked(c, out);
}

void conditions_add_nearest(const struct conditions *c, struct buffer *out)
{
    buffer_printf(out, "no job meets all conditions of [sweep] subject_to; the nearest is job %lld: ",
                  (long long)c->nearest.job_id);
    conditions_add_miss(&c->items[c->missed], &c->nearest, out);
}

/* `job` may be NULL. */
static void add_job(cJSON *item, const struct kept_out *job)
{
    json_add_count(item, "job", job ? job->job_id : -1);
    json_add_real(item, "objective_value", job ? job->objective : NAN);
    json_add_real(item, "value", job ? job->value : NAN);
    json_add_real(item, "bound", job ? job->bound : NAN);
}

void conditions_add_json(const struct conditions *c, cJSON *root)
{
    json_add_count(root, "unranked_jobs", c->unranked);
    json_add_text(root, "unranked_why", c->why_unranked);
}

cJSON *conditions_json(const struct conditions *c)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < c->count; i++) {
        const struct win_condition *condition = &c->items[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "condition", condition->text);
        cJSON_AddBoolToObject(item, "binds", condition->better > 0);
        cJSON_AddNumberToObject(item, "broken", (double)condition->broken);
        cJSON_AddNumberToObject(item, "better_jobs", (double)condition->better);
        const bool is_nearest = c->none_meets && c->missed == i;
        add_job(item, condition->better > 0 ? &condition->first : is_nearest ? &c->nearest : NULL);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}
