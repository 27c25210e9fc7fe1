#include "answers/compare_databases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/command.h"
#include "cli/output.h"
#include "database/open.h"
#include "report/text.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/parse.h"

#define SLOWEST_LISTED 5

static const char *const verdict_names[] =
    {[SLOWDOWN_NONE] = "not slower", [SLOWDOWN_FOUND] = "slower", [SLOWDOWN_UNKNOWN] = "too few repeats"};

static double percent(double ratio)
{
    return (ratio - 1) * 100;
}

/* --- a group in words --- */

/* "3 jobs, 2 runs of each on either side". */
static void add_counts(const struct slowdown *s, struct buffer *out)
{
    char *repeats = xasprintf("%.3g", s->repeats);
    buffer_printf(out, "%zu job%s, %s run%s of each on each side", s->jobs, s->jobs == 1 ? "" : "s", repeats,
                  strcmp(repeats, "1") == 0 ? "" : "s");
    free(repeats);
}

static void add_interval(const struct slowdown *s, size_t groups, struct buffer *out)
{
    buffer_printf(out, "ratio %.4g (above 1 is slower)", s->ratio);
    if (isfinite(s->least))
        buffer_printf(out, ", at least %.4g (%.4g %% sure), at most %.4g (%g %% sure)", s->least,
                      100 - 100 * SLOWDOWN_FALSE_ALARMS / (double)groups, s->most, 100 - 100 * SLOWDOWN_MISSED);
}

static void add_wanted(const struct slowdown *s, double limit, struct buffer *out)
{
    buffer_printf(out, "too few repeats to tell whether it is more than %.3g %% slower: ", percent(limit));
    if (s->repeats_wanted)
        buffer_printf(out, "about %lld runs of each job are needed on each side ([job] repeat = %lld)",
                      (long long)s->repeats_wanted, (long long)s->repeats_wanted);
    else
        buffer_add_text(out, "one run on each side does not show how much runs vary; set [job] repeat = 3");
}

static void add_verdict(const struct slowdown *s, double limit, struct buffer *out)
{
    if (s->verdict == SLOWDOWN_UNKNOWN)
        add_wanted(s, limit, out);
    else if (s->verdict == SLOWDOWN_NONE)
        buffer_printf(out, "not slower by %.3g %%", percent(limit));
    else
        buffer_printf(out, "slower by %.3g %%%s", percent(s->ratio),
                      s->least >= limit ? ", and certainly by more than the limit" : "");
}

/* --- what stands beside the groups --- */

static void add_left_out(const struct before_after *b, const char *start, struct buffer *out)
{
    if (b->failed_now)
        buffer_printf(out, "%sok before, failed now: %lld (for example job %lld)\n", start, (long long)b->failed_now,
                      (long long)b->example_failed_now);
    if (b->failed_before)
        buffer_printf(out, "%sok now but not before: %lld\n", start, (long long)b->failed_before);
    if (b->not_measured)
        buffer_printf(out, "%snot measured to the end on both sides, or not a positive value: %lld\n", start,
                      (long long)b->not_measured);
    if (b->breached_now)
        buffer_printf(out, "%smet [sweep] subject_to before, but not now: %lld (for example job %lld)\n", start,
                      (long long)b->breached_now, (long long)b->example_breached_now);
    if (b->before_only + b->now_only)
        buffer_printf(out, "%sin only one database: %lld before, %lld now\n", start, (long long)b->before_only,
                      (long long)b->now_only);
}

static double ratio_of(const struct before_after_job *j)
{
    return exp(j->runs.now.mean - j->runs.before.mean);
}

static int by_ratio(const void *a, const void *b)
{
    double x = ratio_of(a), y = ratio_of(b);
    return (x < y) - (x > y);
}

/* The jobs, slowest first; the caller frees them. */
static struct before_after_job *slowest_jobs(const struct before_after *b)
{
    struct before_after_job *jobs = xcalloc(b->job_count, sizeof *jobs);
    memcpy(jobs, b->jobs, b->job_count * sizeof *jobs);
    qsort(jobs, b->job_count, sizeof *jobs, by_ratio);
    return jobs;
}

/* The geometric mean in the metric's own unit. */
static double value_of(const struct before_after *b, const struct slowdown_runs *r)
{
    return exp(b->maximise ? -r->mean : r->mean);
}

static const char *direction(const struct before_after *b)
{
    return b->maximise ? "higher is better" : "lower is better";
}

static void add_group_name(const struct compare_databases_request *r, const struct before_after_group *g,
                           struct buffer *out)
{
    text_add_line(out, r->by);
    buffer_add_char(out, ' ');
    text_add_line(out, g->value ? g->value : "(none)");
}

/* --- as text --- */

static void add_text(const struct compare_databases_request *r, const struct before_after *b, double limit,
                     struct buffer *out)
{
    buffer_printf(out, "%s (%s), ", b->metric, direction(b));
    text_add_line(out, r->now);
    buffer_add_text(out, " against ");
    text_add_line(out, r->before);
    buffer_printf(out, ": %zu job%s in common\n", b->job_count, b->job_count == 1 ? "" : "s");
    for (size_t i = 0; i < b->group_count; i++) {
        const struct before_after_group *g = &b->groups[i];
        buffer_add_char(out, '\n');
        if (r->by) {
            add_group_name(r, g, out);
            buffer_add_text(out, ": ");
        }
        add_counts(&g->slowdown, out);
        buffer_add_text(out, "\n  ");
        add_interval(&g->slowdown, b->group_count, out);
        buffer_add_text(out, "\n");
        if (!r->fail_slower)
            continue;
        buffer_add_text(out, "  ");
        add_verdict(&g->slowdown, limit, out);
        buffer_add_char(out, '\n');
    }
    add_left_out(b, "\n", out);
}

/* --- as Markdown --- */

/* Adds a table cell: a bar would end it. */
static void add_cell(struct buffer *out, const struct buffer *text)
{
    for (size_t i = 0; i < text->length; i++)
        buffer_printf(out, "%s%c", text->data[i] == '|' ? "\\" : "", text->data[i]);
    buffer_add_text(out, " | ");
}

static void add_markdown_group(const struct compare_databases_request *r, const struct before_after_group *g,
                               double limit, struct buffer *out)
{
    const struct slowdown *s = &g->slowdown;
    struct buffer name = BUFFER_INIT, verdict = BUFFER_INIT;
    if (r->by)
        add_group_name(r, g, &name);
    else
        buffer_add_text(&name, "all");
    if (r->fail_slower)
        add_verdict(s, limit, &verdict);
    buffer_add_text(out, "| ");
    add_cell(out, &name);
    buffer_printf(out, "%zu | %.3g | %.4g | ", s->jobs, s->repeats, s->ratio);
    if (isfinite(s->least))
        buffer_printf(out, "%.4g | %.4g | ", s->least, s->most);
    else
        buffer_add_text(out, " | | ");
    add_cell(out, &verdict);
    out->length--;
    buffer_add_char(out, '\n');
    buffer_free(&name);
    buffer_free(&verdict);
}

static void add_markdown_jobs(const struct before_after *b, struct buffer *out)
{
    struct before_after_job *jobs = slowest_jobs(b);
    buffer_printf(out, "\n| slowest jobs | %s before | now | ratio |\n|--:|--:|--:|--:|\n", b->metric);
    for (size_t i = 0; i < b->job_count && i < SLOWEST_LISTED; i++) {
        buffer_printf(out, "| %lld | ", (long long)jobs[i].now_id);
        text_add_rounded(out, value_of(b, &jobs[i].runs.before));
        buffer_add_text(out, " | ");
        text_add_rounded(out, value_of(b, &jobs[i].runs.now));
        buffer_printf(out, " | %.4g |\n", ratio_of(&jobs[i]));
    }
    free(jobs);
}

static void add_markdown(const struct compare_databases_request *r, const struct before_after *b, double limit,
                         struct buffer *out)
{
    buffer_printf(out, "### %s (%s%s%s): ", b->metric, b->unit, b->unit[0] ? ", " : "", direction(b));
    text_add_line(out, r->now);
    buffer_add_text(out, " against ");
    text_add_line(out, r->before);
    buffer_printf(out,
                  "\n\n| | jobs | runs of each | ratio (above 1 is slower) | at least (%.4g %% sure) | at most (%g %% "
                  "sure) | |\n|---|--:|--:|--:|--:|--:|---|\n",
                  100 - 100 * SLOWDOWN_FALSE_ALARMS / (double)b->group_count, 100 - 100 * SLOWDOWN_MISSED);
    for (size_t i = 0; i < b->group_count; i++)
        add_markdown_group(r, &b->groups[i], limit, out);
    add_markdown_jobs(b, out);
    add_left_out(b, "\n- ", out);
}

/* --- as JSON --- */

static cJSON *group_json(const struct compare_databases_request *r, const struct before_after_group *g)
{
    const struct slowdown *s = &g->slowdown;
    cJSON *o = cJSON_CreateObject();
    json_add_text(o, "group", g->value);
    cJSON_AddNumberToObject(o, "jobs", (double)s->jobs);
    json_add_real(o, "repeats", s->repeats);
    json_add_real(o, "ratio", s->ratio);
    json_add_real(o, "least", s->least);
    json_add_real(o, "most", s->most);
    json_add_text(o, "verdict", r->fail_slower ? verdict_names[s->verdict] : NULL);
    json_add_count(o, "repeats_wanted", s->repeats_wanted ? (int64_t)s->repeats_wanted : -1);
    return o;
}

static cJSON *jobs_json(const struct before_after *b)
{
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; i < b->job_count; i++) {
        const struct before_after_job *j = &b->jobs[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(all, o);
        cJSON_AddNumberToObject(o, "job_before", (double)j->before_id);
        cJSON_AddNumberToObject(o, "job", (double)j->now_id);
        json_add_real(o, "before", value_of(b, &j->runs.before));
        json_add_real(o, "now", value_of(b, &j->runs.now));
        json_add_real(o, "ratio", ratio_of(j));
    }
    return all;
}

static int print_json(const struct compare_databases_request *r, const struct before_after *b, double limit,
                      struct error *e)
{
    cJSON *root = json_document();
    cJSON_AddStringToObject(root, "metric", b->metric);
    json_add_text(root, "unit", b->unit);
    cJSON_AddStringToObject(root, "better", b->maximise ? "max" : "min");
    json_add_text(root, "by", r->by);
    json_add_real(root, "limit", r->fail_slower ? limit : NAN);
    cJSON *groups = cJSON_AddArrayToObject(root, "groups");
    for (size_t i = 0; i < b->group_count; i++)
        cJSON_AddItemToArray(groups, group_json(r, &b->groups[i]));
    cJSON_AddItemToObject(root, "job_ratios", jobs_json(b));
    cJSON_AddNumberToObject(root, "failed_now", (double)b->failed_now);
    cJSON_AddNumberToObject(root, "failed_before", (double)b->failed_before);
    cJSON_AddNumberToObject(root, "breached_now", (double)b->breached_now);
    cJSON_AddNumberToObject(root, "not_measured", (double)b->not_measured);
    cJSON_AddNumberToObject(root, "before_only", (double)b->before_only);
    cJSON_AddNumberToObject(root, "now_only", (double)b->now_only);
    return output_json_take(root, e);
}

/* --- the command --- */

static int print(const struct compare_databases_request *r, const struct before_after *b, double limit, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    if (r->json)
        return print_json(r, b, limit, e);
    (r->markdown ? add_markdown : add_text)(r, b, limit, &out);
    return output_people_take(&out, e);
}

/* "5%" is the ratio 1.05. */
static int read_limit(const char *text, double *out, struct error *e)
{
    size_t length = text ? strlen(text) : 0;
    double value = 5;
    char *number = length && text[length - 1] == '%' ? xstrndup(text, length - 1) : NULL;
    bool wrong = text && (!number || !parse_double(number, &value) || !(value > 0) || value > 1000);
    free(number);
    if (wrong)
        return error_set(e, ERROR_USAGE, "--fail-slower %s: must be a percentage above 0, such as 5%%", text);
    *out = 1 + value / 100;
    return 0;
}

static int status_of(const struct before_after *b)
{
    bool unknown = false;
    for (size_t i = 0; i < b->group_count; i++) {
        if (b->groups[i].slowdown.verdict == SLOWDOWN_FOUND)
            return STATUS_FAILED;
        unknown |= b->groups[i].slowdown.verdict == SLOWDOWN_UNKNOWN;
    }
    return unknown ? STATUS_JOBS_FAILED : STATUS_OK;
}

int compare_databases(const struct compare_databases_request *r, struct error *e)
{
    struct db *before = NULL, *now = NULL;
    struct before_after b = {0};
    double limit = 1;
    if (read_limit(r->fail_slower, &limit, e) < 0)
        return -1;
    int rc = store_open_read_only(r->before, &before, e);
    if (rc == 0)
        rc = store_open_read_only(r->now, &now, e);
    const struct before_after_request request = {r->metric, r->by, limit};
    if (rc == 0)
        rc = before_after_read(before, now, &request, &b, e);
    if (rc == 0)
        rc = print(r, &b, limit, e);
    if (rc == 0 && r->fail_slower)
        rc = status_of(&b);
    before_after_free(&b);
    store_close(before);
    store_close(now);
    return rc;
}
