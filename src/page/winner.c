/* The winner, or that of each group if configurations compete ([sweep] replicate, group_by): its lead, what limits it,
 * its keys and its command; and the Pareto set of several objectives. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/failure.h"
#include "page/sections.h"
#include "report/hint.h"
#include "report/job_command.h"
#include "report/text.h"
#include "results/best.h"
#include "results/conditions.h"
#include "results/pareto.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/shell.h"
#include "util/string_list.h"

/* --- its lead, and the cost of more runs --- */

/* "3 % ahead of job 12, interval 1 to 5 %" */
static void add_ahead(struct buffer *out, const struct html_data *d, const cJSON *l)
{
    const double ahead = json_real_of(l, "ahead"), low = json_real_of(l, "low"), high = json_real_of(l, "high");
    if (ahead < 0.0001)
        buffer_add_text(out, "<p>Less than 0.01 % from ");
    else {
        buffer_add_text(out, "<p>");
        text_add_figure(out, 2, ahead * 100);
        buffer_printf(out, " %% %s ", d->maximise ? "ahead of" : "below");
    }
    html_link_job(out, "job ", json_count_of(l, "second"));
    if (isnan(low))
        buffer_add_text(out, "; one of the two was measured only once, so the uncertainty is not known");
    else {
        buffer_add_text(out, ", 95 % interval ");
        text_add_figure(out, 2, low * 100);
        buffer_add_text(out, " to ");
        text_add_figure(out, 2, high * 100);
        buffer_printf(out, " %%%s",
                      json_count_of(l, "ran_once")
                          ? " from the samples of single runs, which say nothing about how much runs differ"
                          : "");
    }
    buffer_add_text(out, ".</p>\n");
}

/* The estimated cost of one more run of the winner and these jobs. */
static int add_cost(struct html_page *p, size_t row, const cJSON *alike, struct error *e)
{
    char *jobs = cJSON_PrintUnformatted(alike);
    OWNED_STMT *s = NULL;
    int rc = db_next(p->db,
                     "SELECT say('%t and %.2g', sum(a.duration_ms), sum(1.0 * a.duration_ms * j.devices) / 3600000)"
                     " FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id"
                     " WHERE j.id = ?2 OR j.id IN (SELECT value FROM json_each(?1)) HAVING sum(a.duration_ms) > 0",
                     VALUES(sql_text(jobs), sql_int(p->data->jobs[row].id)), &s, e);
    cJSON_free(jobs);
    if (rc > 0)
        buffer_printf(&p->out, " One more run of each, one after the other, takes %s device-hours.", stmt_text(s, 0));
    return rc < 0 ? -1 : 0;
}

static int add_alike(struct html_page *p, size_t row, const cJSON *l, struct error *e)
{
    struct buffer *out = &p->out;
    const int64_t count = json_count_of(l, "alike_jobs");
    const cJSON *alike = cJSON_GetObjectItemCaseSensitive(l, "alike"), *job;
    buffer_printf(out, "<p>It cannot be told apart from %lld other%s (95 %%): ", (long long)count,
                  count == 1 ? "" : "s");
    cJSON_ArrayForEach(job, alike)
    {
        buffer_add_text(out, job == alike->child ? "" : ", ");
        html_link_job(out, "job ", (int64_t)job->valuedouble);
    }
    buffer_add_text(out, count > cJSON_GetArraySize(alike) ? ", …." : ".");
    int rc = add_cost(p, row, alike, e);
    buffer_add_text(out, "</p>\n");
    return rc;
}

/* --- what limits it --- */

static void add_memory(struct html_page *p, size_t row)
{
    const struct html_data *d = p->data;
    const struct html_column *key = html_column_named(d, "device_memory");
    const double taken = html_memory_bytes(d, row);
    int64_t capacity = 0;
    char one[HTML_SIZE_BYTES], all[HTML_SIZE_BYTES];
    if (!key || isnan(taken) || !key->values[row].text || !parse_size_bytes(key->values[row].text, &capacity) ||
        capacity <= 0)
        return;
    buffer_printf(&p->out, "<p>It uses %s of a device's %s (%.0f %%).</p>\n", html_size(taken, one),
                  html_size((double)capacity, all), 100 * taken / (double)capacity);
}

/* Returns whether a job of the winner's group differs from it in exactly one of the keys. */
static bool is_next(const struct html_data *d, const struct html_column *const *keys, size_t count, size_t winner,
                    size_t row)
{
    size_t different = 0;
    for (size_t k = 0; k < count && different < 2; k++)
        different += keys[k]->levels[row] != keys[k]->levels[winner];
    return different == 1 && d->jobs[row].group == d->jobs[winner].group;
}

/* Returns whether configurations differ in the key; some may not have it. */
static bool tells_apart(const struct html_data *d, const struct html_column *c)
{
    if (c->role != HTML_KEY || c->derived || c->replicated || c->twin || c->level_count == 0)
        return false;
    for (size_t row = 1; row < d->job_count; row++)
        if (c->levels[row] != c->levels[0])
            return true;
    return false;
}

static void add_neighbours(struct html_page *p, size_t winner)
{
    const struct html_data *d = p->data;
    const struct html_column **keys = xcalloc(d->column_count + 1, sizeof(*keys));
    size_t count = 0, next = 0, ended = 0, failed = 0, of[FAILURE_COUNT] = {0};
    for (size_t i = 0; i < d->column_count; i++)
        if (tells_apart(d, &d->columns[i]))
            keys[count++] = &d->columns[i];
    for (size_t row = 0; row < d->job_count; row++) {
        if (!is_next(d, keys, count, winner, row))
            continue;
        next++;
        ended += d->jobs[row].state == HTML_OK || d->jobs[row].state == HTML_FAILED;
        failed += d->jobs[row].state == HTML_FAILED;
        for (size_t c = 1; d->jobs[row].state == HTML_FAILED && c < FAILURE_COUNT; c++)
            of[c] += strcmp(failure_names[c], d->jobs[row].failure) == 0;
    }
    free(keys);
    if (next == 0)
        return;
    buffer_add_text(&p->out, "<p>Of ");
    buffer_add_count(&p->out, (int64_t)next, "job");
    buffer_printf(&p->out, " that differ%s from it in one key, ", next == 1 ? "s" : "");
    if (ended < next)
        buffer_printf(&p->out, ended ? "%zu ended and %zu of these failed" : "none has ended", ended, failed);
    else
        buffer_printf(&p->out, "%zu failed", failed);
    for (size_t c = 1, named = 0; c < FAILURE_COUNT; c++)
        if (of[c])
            buffer_printf(&p->out, "%s%zu %s", named++ ? ", " : ": ", of[c], failure_names[c]);
    buffer_add_text(&p->out, ".</p>\n");
}

static int add_lead(struct html_page *p, size_t row, const cJSON *l, struct error *e)
{
    if (json_count_of(l, "second") >= 0)
        add_ahead(&p->out, p->data, l);
    if (json_count_of(l, "alike_jobs") && add_alike(p, row, l, e) < 0)
        return -1;
    add_memory(p, row);
    add_neighbours(p, row);
    return 0;
}

/* --- its keys and its command --- */

/* With groups, only the keys that vary, since there are many winners. */
static void add_winner_keys(struct html_page *p, size_t row)
{
    const struct html_data *d = p->data;
    buffer_add_text(&p->out, "<dl class=keys>");
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        if (c->role != HTML_KEY || !c->values[row].text || (d->best < 0 && !html_column_varies(c)))
            continue;
        buffer_printf(&p->out, "<div%s><dt>", html_column_varies(c) ? " class=varies" : "");
        html_name(&p->out, "", c->title, "</dt><dd>");
        html_add_key_value(&p->out, c, c->values[row].text);
        buffer_add_text(&p->out, "</dd></div>\n");
    }
    buffer_add_text(&p->out, "</dl>\n");
}

static void add_command(struct html_page *p, int64_t job, const struct job_launch *l)
{
    OWNED char *line = l->command[0] ? job_command_line(l, false) : NULL, *redacted = job_command_redacted(l);
    if (line) {
        buffer_printf(&p->out, "<p>To run it again:</p>\n<div class=command><pre id=command%lld tabindex=0>",
                      (long long)job);
        html_add_lines(&p->out, line, 0);
        buffer_printf(&p->out, "</pre><button type=button data-copy=command%lld hidden>copy</button></div>\n",
                      (long long)job);
    }
    if (l->measured_elsewhere) {
        html_text(&p->out, "<p class=note>It has no command, because it was measured elsewhere (",
                  l->measured_elsewhere, ").</p>\n");
    }
    if (redacted[0])
        html_text(&p->out, "<p class=note>Secrets are left out; fill them in before you run it: ", redacted, "</p>\n");
}

static int add_winner_details(struct html_page *p, size_t row, const cJSON *l, struct error *e)
{
    const int64_t job = p->data->jobs[row].id;
    struct job_launch launch;
    if (add_lead(p, row, l, e) < 0 || job_launch_read(p->db, job, &launch, e) < 0)
        return -1;
    add_winner_keys(p, row);
    job_command_train(&launch);
    add_command(p, job, &launch);
    job_launch_free(&launch);
    return 0;
}

#define GROUPS_MOST 100
#define PARETO_MOST 50

/* --- groups --- */

struct group {
    const cJSON *winner; /* results/best.h */
    const cJSON *lead;   /* results/best.h */
    long row;            /* of the winner's job; -1: not on this page */
};

/* --- the table --- */

static void add_share_cell(struct buffer *out, double share)
{
    buffer_add_text(out, "<td class=n>");
    if (isfinite(share)) {
        text_add_figure(out, 3, share * 100);
        buffer_add_text(out, " %");
    }
}

static void add_header(struct html_page *p)
{
    const struct competition *c = &p->data->competition;
    buffer_add_text(&p->out, "<div class=scroll tabindex=0><table class=plain><thead><tr>");
    if (c->groups)
        buffer_add_text(&p->out, "<th scope=col>group");
    buffer_printf(&p->out, "<th scope=col>%s ", p->data->maximise ? "highest" : "lowest");
    html_add(&p->out, p->data->objective, HTML_NAME_MOST);
    html_add_unit(&p->out, p->data->unit);
    if (p->data->maximise)
        buffer_add_text(&p->out, "<th scope=col>per device");
    if (c->replicates)
        buffer_add_text(&p->out, "<th scope=col>replicates<th scope=col>failed<th scope=col>median<th scope=col>from "
                                 "(95 %)<th scope=col>to<th scope=col>cannot be told apart from it");
    buffer_add_text(&p->out, "<th scope=col>ahead of the next<th scope=col>by at least (95 %)<th scope=col>at most"
                             "<th scope=col>job</thead><tbody>\n");
}

/* The key of `row` that `text` begins with ("KEY=VALUE") and that is shown as a size; NULL: none. */
static const struct html_column *size_at(const struct html_data *d, size_t row, const char *text)
{
    char size[HTML_SIZE_BYTES];
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        const char *value = c->values[row].text, *name = html_column_name(c);
        const size_t length = strlen(name);
        if (c->role == HTML_KEY && value && html_key_text(c, value, size) != value &&
            strncmp(text, name, length) == 0 && text[length] == '=' &&
            strncmp(text + length + 1, value, strlen(value)) == 0 && strchr(",", text[length + 1 + strlen(value)]))
            return c;
    }
    return NULL;
}

/* "num_hosts=1, device_memory=16 MiB" */
static void add_group_name(struct html_page *p, const struct group *g)
{
    const char *text = json_text_or(g->winner, "group", ""), *end;
    for (; g->row >= 0 && *text; text = end) {
        const struct html_column *c = size_at(p->data, (size_t)g->row, text);
        end = strstr(text, ", ");
        end = end ? end + 2 : text + strlen(text);
        OWNED char *part = xasprintf("%.*s", (int)((c ? strchr(text, '=') + 1 : end) - text), text);
        html_add(&p->out, part, HTML_NAME_MOST);
        if (c)
            html_add_key_value(&p->out, c, c->values[g->row].text);
        buffer_add_text(&p->out, c && *end ? ", " : "");
    }
    html_add(&p->out, text, HTML_TEXT_MOST);
}

static void add_row(struct html_page *p, const struct group *g)
{
    const struct html_data *d = p->data;
    const cJSON *r = cJSON_GetObjectItemCaseSensitive(g->winner, "replicates");
    static const char *const amounts[] = {"median", "low", "high"}, *const shares[] = {"ahead", "low", "high"};
    buffer_add_text(&p->out, "<tr>");
    if (d->competition.groups) {
        buffer_add_text(&p->out, "<td>");
        add_group_name(p, g);
    }
    html_add_amount_cell(&p->out, json_real_of(g->winner, "value"), d->unit);
    if (d->maximise)
        html_add_amount_cell(&p->out, json_real_of(g->winner, "per_device"), d->unit);
    if (d->competition.replicates) {
        buffer_printf(&p->out, "<td class=n>%lld<td class=n>%lld", (long long)json_count_of(r, "ok"),
                      (long long)json_count_of(r, "failed"));
        for (size_t i = 0; i < LENGTH(amounts); i++)
            html_add_amount_cell(&p->out, json_real_of(r, amounts[i]), d->unit);
        buffer_printf(&p->out, "<td class=n>%lld", (long long)json_count_of(g->lead, "alike_jobs"));
    }
    for (size_t i = 0; i < LENGTH(shares); i++)
        add_share_cell(&p->out, json_real_of(g->lead, shares[i]));
    buffer_add_text(&p->out, "<td>");
    html_link_job(&p->out, "", json_count_of(g->winner, "job"));
    buffer_add_char(&p->out, '\n');
}

/* --- one below the other --- */

static int add_details(struct html_page *p, const struct group *g, struct error *e)
{
    const bool named = p->data->competition.groups;
    const long long job = json_count_of(g->winner, "job");
    if (g->row < 0)
        return 0;
    buffer_printf(&p->out, "<details class=winner data-job=%lld%s><summary>", job, named ? "" : " open");
    if (named) {
        add_group_name(p, g);
        buffer_add_text(&p->out, ": ");
    }
    html_add_amount(&p->out, json_real_of(g->winner, "value"), p->data->unit);
    buffer_printf(&p->out, ", job %lld</summary>\n", job);
    if (add_winner_details(p, (size_t)g->row, g->lead, e) < 0)
        return -1;
    if (named) {
        OWNED_BUFFER command = BUFFER_INIT;
        buffer_add_text(&command, "meshsweep best");
        hint_add_db(&command, p->database);
        buffer_add_text(&command, " --group ");
        shell_add_word(&command, json_text_or(g->winner, "group", ""));
        html_text(&p->out, "<p class=note>Files to use it: <code>", buffer_text(&command), " --out DIR</code></p>\n");
    }
    buffer_add_text(&p->out, "</details>\n");
    return 0;
}

static int add_winners(struct html_page *p, const cJSON *winners, const cJSON *leads, struct error *e)
{
    struct group shown[GROUPS_MOST];
    const cJSON *winner = winners->child, *lead = leads->child;
    const int all = cJSON_GetArraySize(winners);
    int count = 0, rc = 0;
    add_header(p);
    for (; winner && lead && count < GROUPS_MOST; winner = winner->next, lead = lead->next) {
        shown[count] = (struct group){winner, lead, html_row_of(p->data, json_count_of(winner, "job"))};
        add_row(p, &shown[count++]);
    }
    buffer_add_text(&p->out, "</tbody></table></div>\n<p class=note>");
    if (count < all)
        buffer_printf(&p->out, "The first %d of %d groups are shown. ", count, all);
    if (p->data->competition.groups)
        buffer_add_text(&p->out, "Groups are not compared with each other. ");
    if (p->data->competition.replicates)
        buffer_add_text(&p->out, "Values are means over replicates; the job shown is the median one.");
    buffer_add_text(&p->out, "</p>\n");
    for (int g = 0; rc == 0 && g < count; g++)
        rc = add_details(p, &shown[g], e);
    return rc;
}

static int add_winning_configurations(struct html_page *p, const cJSON *leads, struct error *e)
{
    struct best best = {NULL, NULL};
    int rc = best_read(p->db, NULL, &best, e);
    const cJSON *groups = cJSON_GetObjectItemCaseSensitive(best.beside, "groups");
    if (rc == 0 && best_job(&best) >= 0)
        rc = add_winners(p, cJSON_GetObjectItemCaseSensitive(groups, "groups"), leads, e);
    else if (rc == 0)
        html_add_none(&p->out, "No configuration has a finite objective yet.");
    best_free(&best);
    return rc;
}

/* --- one winner --- */

/* Begins the table; the units, NULL-terminated, are the caller's. */
static int begin_pareto_set(struct html_page *p, int jobs, struct string_list *units, struct error *e)
{
    static const char sql[] =
        "SELECT metric, maximise, coalesce(unit, ''), count(*) OVER () FROM ("
        " SELECT 0 AS n, objective AS metric, maximise FROM current_sweep UNION ALL SELECT position, metric, maximise"
        " FROM further_objective WHERE sweep_id = (SELECT id FROM current_sweep))"
        " LEFT JOIN metric_definition ON name = metric ORDER BY n";
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(p->db, sql, NO_VALUES, &s, e)) > 0) {
        if (!units->count)
            buffer_printf(&p->out,
                          "<div class=scroll tabindex=0><table class=plain><caption>Of %lld objectives: the %d jobs "
                          "that no other job beats in all of them (Pareto set)%s</caption><thead><tr><th scope=col>job",
                          (long long)stmt_int(s, 3), jobs, jobs > PARETO_MOST ? ", the first 50" : "");
        buffer_printf(&p->out, "<th scope=col>%s ", stmt_int(s, 1) ? "highest" : "lowest");
        html_add(&p->out, stmt_text(s, 0), HTML_NAME_MOST);
        html_add_unit(&p->out, stmt_text(s, 2));
        string_list_add(units, stmt_copy_text(s, 2));
    }
    buffer_add_text(&p->out, "</thead><tbody>\n");
    return rc;
}

/* With several objectives, the first one ranks; this is the Pareto set of all. */
static int add_pareto_set(struct html_page *p, struct error *e)
{
    OWNED_LIST units = STRING_LIST_INIT;
    cJSON *list = NULL;
    const cJSON *point = NULL;
    int rc = pareto_read(p->db, &list, e), listed = 0;
    if (rc == 0 && list && list->child)
        rc = begin_pareto_set(p, cJSON_GetArraySize(list), &units, e);
    for (point = list ? list->child : NULL; rc == 0 && point && listed < PARETO_MOST; point = point->next, listed++) {
        size_t i = 0;
        const cJSON *value;
        figures_job(&p->out, json_count_of(point, "job"));
        cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(point, "values"))
        {
            html_add_amount_cell(&p->out, value->valuedouble, i < units.count ? units.items[i] : "");
            i++;
        }
        if (json_count_of(point, "tie") >= 0)
            buffer_printf(&p->out, "<td>as job %lld", (long long)json_count_of(point, "tie"));
        buffer_add_char(&p->out, '\n');
    }
    buffer_add_text(&p->out, listed ? "</tbody></table></div>\n" : "");
    cJSON_Delete(list);
    return rc;
}

static void add_no_winner(struct html_page *p)
{
    const struct html_data *d = p->data;
    const long long failed = d->counts[HTML_FAILED];
    if (d->counts[HTML_OK])
        html_add_none(&p->out, "Some jobs succeeded, but none has a finite objective.");
    else if (failed == 0)
        html_add_none(&p->out, "No job has succeeded yet.");
    else
        buffer_printf(&p->out,
                      "<p class=none>No job has succeeded%s: %lld failed (<a href=\"#failures\">why</a>)."
                      "</p>\n",
                      failed == d->jobs_in_all ? "" : " yet", failed);
}

static int add_winner(struct html_page *p, const cJSON *lead, struct error *e)
{
    const struct html_data *d = p->data;
    const struct html_job *best = &d->jobs[d->best];
    buffer_add_text(&p->out, "<p class=best><b title=\"");
    html_add_number(&p->out, best->objective);
    buffer_add_text(&p->out, "\">");
    html_add_amount(&p->out, best->objective, d->unit);
    html_name(&p->out, "</b> ", d->objective, ", ");
    html_link_job(&p->out, "job ", best->id);
    buffer_add_text(&p->out, "</p>\n");
    if (html_add_document(&p->out, p->db, "statement", VALUES(sql_int(best->id), sql_text(d->objective)), e) < 0)
        return -1;
    return add_winner_details(p, (size_t)d->best, lead, e);
}

/* Jobs that cannot win for want of a number that can be compared. */
static int add_unranked(struct html_page *p, struct error *e)
{
    cJSON *document = cJSON_CreateObject(), *beside = cJSON_CreateObject();
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = unranked_read(p->db, p->data->objective, document, beside, e);
    unranked_add_text(beside, &text);
    if (text.length) {
        buffer_add_text(&p->out, "<p class=note>");
        html_add(&p->out, buffer_text(&text), HTML_TEXT_MOST);
        buffer_add_text(&p->out, "</p>\n");
    }
    cJSON_Delete(document);
    cJSON_Delete(beside);
    return rc;
}

static int add_result(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    const bool compete = d->competition.replicates || d->competition.groups;
    cJSON *leads = NULL;
    if (!compete && d->best < 0) {
        add_no_winner(p);
        return 0;
    }
    int rc = leads_read(p->db, d->objective, d->maximise, &d->competition, &leads, e);
    if (rc == 0)
        rc = compete                              ? add_winning_configurations(p, leads, e)
             : add_winner(p, leads->child, e) < 0 ? -1
                                                  : add_pareto_set(p, e);
    cJSON_Delete(leads);
    return rc;
}

int html_winner(struct html_page *p, struct error *e)
{
    if (!p->data->objective) {
        html_add_none(&p->out,
                      "The sweep declares no objective: add objective = \"max:METRIC\" or \"min:METRIC\" under "
                      "[sweep] and run it once more.");
        return 0;
    }
    return add_result(p, e) < 0 ? -1 : add_unranked(p, e);
}
