#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cli/batch_notice.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "commands/compare_jobs.h"
#include "compare/before_after.h"
#include "compare/comparison.h"
#include "compare/effects.h"
#include "database/open.h"
#include "page/sections.h"
#include "report/effect_words.h"
#include "report/text.h"
#include "results/conditions.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/parse.h"

/* --- two databases, as text, Markdown and JSON --- */

/* All borrowed for the call. */
struct compare_databases_request {
    const char *before, *now; /* paths */
    const char *metric;       /* NULL: the objective */
    const char *by;           /* NULL: one verdict for all */
    const char *fail_slower;  /* "5%"; NULL: the figures without a verdict */
    bool json, markdown;
};

#define SLOWEST_LISTED 5

static const char *const change_names[] =
    {[SLOWDOWN_NONE] = "not slower", [SLOWDOWN_FOUND] = "slower", [SLOWDOWN_UNKNOWN] = "too few repeats"};

static double percent(double ratio)
{
    return (ratio - 1) * 100;
}

/* --- a group in words --- */

/* "3 jobs, 2 runs of each on either side". */
static void add_counts(const struct slowdown *s, struct buffer *out)
{
    OWNED char *repeats = xasprintf("%.3g", s->repeats);
    buffer_printf(out, "%zu job%s, %s run%s of each on each side", s->jobs, s->jobs == 1 ? "" : "s", repeats,
                  strcmp(repeats, "1") == 0 ? "" : "s");
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

static void add_change(const struct slowdown *s, double limit, struct buffer *out)
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
        add_change(&g->slowdown, limit, out);
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
    OWNED_BUFFER name = BUFFER_INIT, verdict = BUFFER_INIT;
    if (r->by)
        add_group_name(r, g, &name);
    else
        buffer_add_text(&name, "all");
    if (r->fail_slower)
        add_change(s, limit, &verdict);
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
}

static void add_markdown_jobs(const struct before_after *b, struct buffer *out)
{
    OWNED struct before_after_job *jobs = slowest_jobs(b);
    buffer_printf(out, "\n| slowest jobs | %s before | now | ratio |\n|--:|--:|--:|--:|\n", b->metric);
    for (size_t i = 0; i < b->job_count && i < SLOWEST_LISTED; i++) {
        buffer_printf(out, "| %lld | ", (long long)jobs[i].now_id);
        text_add_rounded(out, value_of(b, &jobs[i].runs.before));
        buffer_add_text(out, " | ");
        text_add_rounded(out, value_of(b, &jobs[i].runs.now));
        buffer_printf(out, " | %.4g |\n", ratio_of(&jobs[i]));
    }
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
    json_add_text(o, "verdict", r->fail_slower ? change_names[s->verdict] : NULL);
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

static int print_change_json(const struct compare_databases_request *r, const struct before_after *b, double limit,
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

static int print_change(const struct compare_databases_request *r, const struct before_after *b, double limit,
                        struct error *e)
{
    struct buffer out = BUFFER_INIT;
    if (r->json)
        return print_change_json(r, b, limit, e);
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

/* Prints the comparison. Returns an exit status: STATUS_FAILED if a group is slower, else STATUS_JOBS_FAILED if one
 * cannot be decided, else STATUS_OK. -1 with `e` set on an error. */
static int compare_databases(const struct compare_databases_request *r, struct error *e)
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
        rc = print_change(r, &b, limit, e);
    if (rc == 0 && r->fail_slower)
        rc = status_of(&b);
    before_after_free(&b);
    store_close(before);
    store_close(now);
    return rc;
}

/* --- two jobs, or one key --- */

struct compare_options {
    const char *db, *by, *metric, *free, *fail_slower, *scaling;
    int64_t seed;
    bool json, markdown, rank;
};

#define AT(member) offsetof(struct compare_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    OPTION(STRING, "by", AT(by), "KEY[=A,B]",
           "compare pairs of jobs that differ only in this key; `model` compares whole models", .offer = OFFER_KEYS),
    OPTION(STRING, "scaling", AT(scaling), "KEY",
           "speed-up and efficiency over this size (num_devices), against the smallest, of otherwise equal jobs",
           .offer = OFFER_KEYS),
    OPTION(FLAG, "rank", AT(rank), NULL, "which key changes the objective most, from the pairs that differ only in it"),
    OPTION(STRING, "metric", AT(metric), "NAME", "the metric to compare (default: the objective)",
           .offer = OFFER_METRICS),
    OPTION(STRING, "free", AT(free), "KEY,KEY",
           "compare the best over these keys on each side; chosen automatically if pairs are few", .offer = OFFER_KEYS),
    OPTION(INT, "seed", AT(seed), "N", "seed of the halves that choose for each other where keys are free",
           .fallback = "1", .least = 0, .most = INFINITY),
    OPTION(STRING, "fail-slower", AT(fail_slower), "PERCENT",
           "two databases: exit with 1 if the second is slower by more than this, with 3 if there are too few "
           "repeats to tell"),
    OPTION(FLAG, "markdown", AT(markdown), NULL, "two databases: print Markdown"),
    OPTION_JSON(AT(json)),
    {.name = NULL},
};

static const char *const verdict_names[] =
    {[RATIO_TOO_FEW] = "too few pairs", [RATIO_SAME] = "same", [RATIO_LOWER] = "lower", [RATIO_HIGHER] = "higher"};

static const char *const interval_names[] =
    {[RATIO_INTERVAL_NONE] = NULL, [RATIO_INTERVAL_RANKS] = "ranks", [RATIO_INTERVAL_STUDENT] = "student"};

/* --- as text --- */

static void add_verdict(const struct comparison *c, const struct comparison_pair *p, struct buffer *out)
{
    const struct ratio_summary *s = &p->summary;
    if (s->verdict == RATIO_TOO_FEW) {
        buffer_printf(out, "  too few pairs: %zu; it takes %d to tell a difference from chance\n", s->count,
                      RATIOS_LEAST);
        return;
    }
    if (s->verdict == RATIO_SAME) {
        buffer_add_text(out, "  cannot be told apart: the interval contains 1\n");
        return;
    }
    bool better = (s->verdict == RATIO_HIGHER) == c->maximise;
    buffer_add_text(out, "  ");
    text_add_line(out, p->b);
    buffer_printf(out, " is %s by %.3g %%%s\n", verdict_names[s->verdict], fabs(s->median - 1) * 100,
                  !c->is_objective ? ""
                  : better         ? ": better"
                                   : ": worse");
}

static void add_spread(const struct ratio_summary *s, struct buffer *out)
{
    if (s->count == 0)
        return;
    buffer_printf(out, "  ratio: median %.4g", s->median);
    if (s->interval == RATIO_INTERVAL_NONE)
        buffer_printf(out, ", no interval, which takes %d pairs", RATIOS_INTERVAL_LEAST);
    else
        buffer_printf(out, ", 95 %% interval %.4g to %.4g%s", s->low, s->high,
                      s->interval == RATIO_INTERVAL_STUDENT ? " (Student's t over logarithms)" : "");
    buffer_printf(out, "; smallest %.4g, quartiles %.4g and %.4g, largest %.4g\n", s->minimum, s->quarter,
                  s->three_quarters, s->maximum);
}

static void add_one_sided(const char *value, int64_t pairs, int64_t job, struct buffer *out)
{
    if (pairs == 0)
        return;
    buffer_add_text(out, "  only ");
    text_add_line(out, value);
    buffer_printf(out, " runs: %lld (the other side failed as job %lld)\n", (long long)pairs, (long long)job);
}

static void add_pair(const struct comparison *c, const struct comparison_pair *p, struct buffer *out)
{
    buffer_add_char(out, '\n');
    text_add_line(out, p->b);
    buffer_add_text(out, " against ");
    text_add_line(out, p->a);
    buffer_printf(out, ": %zu pair%s ran on both sides\n", p->summary.count, p->summary.count == 1 ? "" : "s");
    add_spread(&p->summary, out);
    add_verdict(c, p, out);
    add_one_sided(p->a, p->only_a, p->example_only_a, out);
    add_one_sided(p->b, p->only_b, p->example_only_b, out);
    if (p->neither)
        buffer_printf(out, "  neither side runs: %lld\n", (long long)p->neither);
    if (p->open)
        buffer_printf(out, "  not finished yet: %lld\n", (long long)p->open);
    if (p->without_ratio)
        buffer_printf(out, "  no ratio, because a value is missing, infinite, zero or negative: %lld\n",
                      (long long)p->without_ratio);
    if (p->without_choice)
        buffer_printf(out, "  no choice, because the other half of the pairs has none of the free settings: %lld\n",
                      (long long)p->without_choice);
}

/* Returns what the pairs have in common; steps of different global batches do different work. */
static const char *common_ground(const struct comparison *c)
{
    static const char *const batches[] = {"global_batch", "train_batch_size", NULL};
    static const char *const factors[] = {"micro_batch", "micro_batch_size",      "train_micro_batch_size_per_gpu",
                                          "dp",          "gradient_accumulation", "gradient_accumulation_steps",
                                          "num_hosts",   "num_devices_per_host",  "cluster_spec",
                                          NULL};
    const char *by = c->key ? c->key : c->section;
    for (size_t i = 0; batches[i]; i++)
        if (strcmp(batches[i], by) == 0)
            return "everything else; their global batches differ, so their steps do different amounts of work";
    for (size_t i = 0; !c->says_batch && factors[i]; i++)
        if (strcmp(factors[i], by) == 0)
            return "everything else; no key gives the global batch, so it may differ";
    return "everything else and in the global batch";
}

/* "too few pairs that differ in it alone (2 of 6), so best against best with dp free, …". */
static void add_free(const struct comparison *c, struct buffer *out)
{
    if (!c->free.count)
        return;
    if (c->free_was_found)
        buffer_printf(out, ": too few pairs differ in it alone (%zu, at least %d are needed), so it compares",
                      c->pairs_alone, RATIOS_LEAST);
    else
        buffer_add_char(out, ',');
    buffer_add_text(out, " the best of each side over: ");
    for (size_t i = 0; i < c->free.count; i++) {
        buffer_add_text(out, i ? ", " : "");
        text_add_line(out, c->free.items[i]);
    }
    buffer_add_text(out, c->free_was_found ? " (tied to it by rules and derived keys)" : "");
}

static bool is_chosen(const struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->pairs[i].chosen_a || c->pairs[i].chosen_b)
            return true;
    return false;
}

static int print_text(const struct comparison *c, size_t together, const struct unranked *unranked, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    buffer_printf(&out, "%s%s by ", c->metric,
                  !c->is_objective ? ""
                  : c->maximise    ? " (higher is better)"
                                   : " (lower is better)");
    text_add_line(&out, c->key ? c->key : c->section);
    add_free(c, &out);
    buffer_printf(&out, ": pairs equal in %s\n", common_ground(c));
    for (size_t i = 0; i < c->count; i++)
        add_pair(c, &c->pairs[i], &out);
    if (is_chosen(c))
        buffer_add_text(&out, "\nThe best of several was chosen by the other half of the pairs, not by what is "
                              "compared.\n");
    if (together > 1)
        buffer_printf(&out, "\nThe %zu intervals hold together: with 95 %% probability no verdict is by chance.\n",
                      together);
    if (unranked->jobs + unranked->excluded > 0)
        buffer_add_char(&out, '\n');
    unranked_add_text(unranked, &out);
    return output_people_take(&out, e);
}

/* --- as JSON --- */

static cJSON *pair_json(const struct comparison_pair *p)
{
    cJSON *o = cJSON_CreateObject(), *ratios = cJSON_CreateArray();
    const struct ratio_summary *s = &p->summary;
    cJSON_AddStringToObject(o, "a", p->a);
    cJSON_AddStringToObject(o, "b", p->b);
    cJSON_AddNumberToObject(o, "pairs", (double)s->count);
    json_add_real(o, "median", s->median);
    json_add_real(o, "low", s->low);
    json_add_real(o, "high", s->high);
    json_add_real(o, "confidence", s->confidence);
    json_add_text(o, "interval", interval_names[s->interval]);
    json_add_text(o, "no_interval", s->interval == RATIO_INTERVAL_NONE ? "fewer than 3 pairs" : NULL);
    json_add_real(o, "minimum", s->minimum);
    json_add_real(o, "quarter", s->quarter);
    json_add_real(o, "three_quarters", s->three_quarters);
    json_add_real(o, "maximum", s->maximum);
    cJSON_AddStringToObject(o, "verdict", verdict_names[s->verdict]);
    cJSON_AddBoolToObject(o, "told_apart", s->verdict == RATIO_HIGHER || s->verdict == RATIO_LOWER);
    cJSON_AddNumberToObject(o, "only_a", (double)p->only_a);
    cJSON_AddNumberToObject(o, "only_b", (double)p->only_b);
    cJSON_AddNumberToObject(o, "neither", (double)p->neither);
    cJSON_AddNumberToObject(o, "open", (double)p->open);
    cJSON_AddNumberToObject(o, "without_ratio", (double)p->without_ratio);
    cJSON_AddNumberToObject(o, "without_choice", (double)p->without_choice);
    for (size_t i = 0; i < s->count; i++)
        cJSON_AddItemToArray(ratios, cJSON_CreateNumber(p->ratios[i]));
    cJSON_AddItemToObject(o, "ratios", ratios);
    return o;
}

static int print_json(const struct comparison *c, size_t together, const struct unranked *unranked, struct error *e)
{
    cJSON *root = json_document();
    cJSON_AddStringToObject(root, "metric", c->metric);
    json_add_text(root, "unit", c->unit);
    json_add_text(root, "better", !c->is_objective ? NULL : c->maximise ? "max" : "min");
    cJSON_AddStringToObject(root, "section", c->section);
    cJSON_AddStringToObject(root, "by", c->key ? c->key : c->section);
    cJSON *free = cJSON_AddArrayToObject(root, "free");
    for (size_t i = 0; i < c->free.count; i++)
        cJSON_AddItemToArray(free, cJSON_CreateString(c->free.items[i]));
    cJSON_AddBoolToObject(root, "free_was_found", c->free_was_found);
    cJSON_AddNumberToObject(root, "together", (double)together);
    cJSON *pairs = cJSON_AddArrayToObject(root, "comparisons");
    for (size_t i = 0; i < c->count; i++)
        cJSON_AddItemToArray(pairs, pair_json(&c->pairs[i]));
    unranked_add_json(unranked, root);
    return output_json_take(root, e);
}

/* --- the command --- */

/* "KEY" or "KEY=A,B" taken apart; the texts are the caller's. */
static int read_by(const char *by, char **key, char **a, char **b, struct error *e)
{
    if (!by)
        return error_set(e, ERROR_USAGE,
                         "compare: name the key to compare by: --by KEY or --by KEY=A,B; or two jobs, or two "
                         "databases: "
                         "meshsweep compare BEFORE.db NOW.db");
    size_t length = strcspn(by, "=");
    const char *values = by[length] ? by + length + 1 : NULL, *comma = values ? strchr(values, ',') : NULL;
    if (length == 0 || (values && (!comma || comma == values || !comma[1])))
        return error_set(e, ERROR_USAGE, "--by %s: must be of the form KEY or KEY=A,B", by);
    *key = xstrndup(by, length);
    *a = values ? xstrndup(values, (size_t)(comma - values)) : NULL;
    *b = values ? xstrdup(comma + 1) : NULL;
    return 0;
}

static bool has_pairs(const struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct comparison_pair *p = &c->pairs[i];
        if (p->summary.count +
                (size_t)(p->only_a + p->only_b + p->neither + p->open + p->without_ratio + p->without_choice) >
            0)
            return true;
    }
    return false;
}

static int print(struct comparison *c, const struct compare_options *o, const struct unranked *unranked,
                 struct error *e)
{
    const size_t together = comparisons_judge(c, 1);
    if (o->json)
        return print_json(c, together, unranked, e);
    if (c->values < 2)
        return error_set(e, ERROR_NOTHING, "--by %s: all jobs have the same value, so there is nothing to compare",
                         o->by);
    if (!has_pairs(c))
        return error_set(e, ERROR_NOTHING,
                         "--by %s: no two jobs differ only in it; the effects of keys that change together cannot be "
                         "separated",
                         o->by);
    return print_text(c, together, unranked, e);
}

static int compare_two(const struct arguments *a, struct error *e)
{
    const struct compare_options *o = a->options;
    if (a->word_count != 2)
        return error_set(e, ERROR_USAGE,
                         "compare: name two jobs, or two databases: meshsweep compare 4 7, meshsweep "
                         "compare BEFORE.db NOW.db");
    if (o->scaling || o->rank)
        return error_set(e, ERROR_USAGE, "compare: --%s is of one database, which -d names",
                         o->rank ? "rank" : "scaling");
    if (compare_names_jobs(a->words[0]) && compare_names_jobs(a->words[1]) && !store_exists(a->words[0]))
        return o->by || o->metric || o->free || o->fail_slower || o->markdown
                   ? error_set(e, ERROR_USAGE,
                               "compare: two jobs are compared in everything; give no option but -d and "
                               "--json")
                   : compare_jobs(o->db, a->words, o->json, e);
    const struct compare_databases_request request = {a->words[0],    a->words[1], o->metric,  o->by,
                                                      o->fail_slower, o->json,     o->markdown};
    return compare_databases(&request, e);
}

/* --- all keys --- */

static int print_ranked(const struct key_effects *x, const struct html_data *d, struct error *e)
{
    struct buffer out = BUFFER_INIT;
    buffer_printf(&out,
                  "%s (%s is better), by what it surely changes between two values, over pairs equal in all else\n\n",
                  d->objective, d->maximise ? "higher" : "lower");
    for (size_t i = 0; i < x->count; i++) {
        buffer_printf(&out, "%2zu. ", i + 1);
        key_effect_add_line(&out, &x->items[i]);
        buffer_add_char(&out, '\n');
    }
    if (x->together > 1)
        buffer_printf(&out, "\nThe %zu intervals of all values hold together; compare --by KEY shows those of a key.\n",
                      x->together);
    if (x->apart.length)
        buffer_printf(&out, "\nno two successful jobs differ only in: %s\n", buffer_text(&x->apart));
    if (x->freed.length)
        buffer_printf(&out, "\nthe best of each side counts, over keys tied to it: %s\n", buffer_text(&x->freed));
    return output_people_take(&out, e);
}

static int print_ranked_json(const struct key_effects *x, const struct html_data *d, struct error *e)
{
    cJSON *root = json_document();
    cJSON_AddStringToObject(root, "metric", d->objective);
    json_add_text(root, "unit", d->unit);
    cJSON_AddStringToObject(root, "better", d->maximise ? "max" : "min");
    cJSON_AddNumberToObject(root, "together", (double)x->together);
    cJSON *ranked = cJSON_AddArrayToObject(root, "ranked");
    for (size_t i = 0; i < x->count; i++) {
        const struct comparison *c = &x->items[i];
        const struct comparison_pair *p = key_effect_most(c);
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(ranked, o);
        cJSON_AddStringToObject(o, "by", c->key ? c->key : c->section);
        cJSON_AddStringToObject(o, "a", p->a);
        cJSON_AddStringToObject(o, "b", p->b);
        cJSON_AddNumberToObject(o, "pairs", (double)p->summary.count);
        json_add_real(o, "median", p->summary.median);
        json_add_real(o, "low", p->summary.low);
        json_add_real(o, "high", p->summary.high);
        cJSON_AddStringToObject(o, "verdict", verdict_names[p->summary.verdict]);
        cJSON_AddBoolToObject(o, "told_apart", p->summary.verdict == RATIO_HIGHER || p->summary.verdict == RATIO_LOWER);
    }
    return output_json_take(root, e);
}

static int compare_keys(const struct compare_options *o, struct error *e)
{
    struct db *db = NULL;
    struct html_data d = {0};
    struct key_effects x = {0};
    const char *keys[EFFECTS_KEYS_MOST];
    if (o->by || o->metric || o->free || o->scaling)
        return error_set(e, ERROR_USAGE, "compare: --rank is of all keys and the objective; give only -d and --json");
    int rc = store_open_read_only(o->db, &db, e);
    /* One transaction: a runner may be at work. */
    if (rc == 0 && (rc = db_read_begin(db, e)) == 0) {
        rc = html_data_read(db, &d, e);
        if (rc == 0 && !d.objective)
            rc = error_set(e, ERROR_USAGE,
                           "--rank: the sweep has no objective; add objective = \"max:METRIC\" or "
                           "\"min:METRIC\" under [sweep]");
        if (rc == 0)
            rc = key_effects_read(db, d.objective, keys, html_effect_keys(&d, keys, EFFECTS_KEYS_MOST), &x, e);
        db_read_end(db);
    }
    if (rc == 0 && x.count == 0 && !o->json)
        rc = error_set(e, ERROR_NOTHING, "--rank: no two successful jobs differ in one key only");
    if (rc == 0)
        rc = o->json ? print_ranked_json(&x, &d, e) : print_ranked(&x, &d, e);
    key_effects_free(&x);
    html_data_free(&d);
    store_close(db);
    return rc;
}

static int compare_sizes(const struct compare_options *o, struct error *e)
{
    struct db *db = NULL;
    if (o->by)
        return error_set(e, ERROR_USAGE, "compare: give only one of --by and --scaling");
    int rc = store_open_read_only(o->db, &db, e);
    if (rc == 0)
        rc = result_answer(db, "sql/answers/scaling.sql",
                           VALUES(sql_text(o->scaling), sql_text(o->metric), sql_text(o->free)), o->json, e);
    store_close(db);
    return rc;
}

static int compare(const struct arguments *a, struct error *e)
{
    const struct compare_options *o = a->options;
    char *key = NULL, *first = NULL, *second = NULL;
    struct db *db = NULL;
    struct comparison c = {0};
    struct unranked unranked = {0};
    if (a->word_count)
        return compare_two(a, e);
    if (o->fail_slower || o->markdown)
        return error_set(e, ERROR_USAGE, "compare: %s is for two databases: meshsweep compare BEFORE.db NOW.db",
                         o->fail_slower ? "--fail-slower" : "--markdown");
    if (o->rank)
        return compare_keys(o, e);
    if (o->scaling)
        return compare_sizes(o, e);
    if (read_by(o->by, &key, &first, &second, e) < 0)
        return -1;
    const struct comparison_request request =
        {.key = key, .a = first, .b = second, .metric = o->metric, .free = o->free, .seed = (uint64_t)o->seed};
    int rc = store_open_read_only(o->db, &db, e);
    if (rc == 0)
        rc = comparison_read(db, &request, &c, e);
    if (rc == 0)
        rc = unranked_read(db, c.metric, &unranked, e);
    if (rc == 0)
        rc = device_notice_say(db, 0, e);
    if (rc == 0)
        rc = print(&c, o, &unranked, e);
    unranked_free(&unranked);
    comparison_free(&c);
    store_close(db);
    free_all(key, first, second);
    return rc;
}

const struct command compare_command = {
    .name = "compare",
    .summary = "Compare jobs that differ in one key, two jobs or two databases",
    .usage = "[OPTIONS] [JOB JOB | BEFORE.db NOW.db]",
    .example = "meshsweep compare --by zero_stage=1,3\nmeshsweep compare 4 7\nmeshsweep compare --by micro_batch "
               "--metric step_time --json\n"
               "meshsweep compare before.db results.db --fail-slower 5%\n"
               "meshsweep compare --rank\nmeshsweep compare --scaling num_devices",
    .options = options,
    .options_bytes = sizeof(struct compare_options),
    .words_most = 2,
    .pages = true,
    .run = compare,
};
