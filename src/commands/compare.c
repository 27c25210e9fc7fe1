#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "answers/compare_databases.h"
#include "cli/batch_notice.h"
#include "cli/command.h"
#include "cli/output.h"
#include "compare/comparison.h"
#include "database/open.h"
#include "report/text.h"
#include "results/conditions.h"
#include "results/json.h"
#include "util/memory.h"

struct compare_options {
    const char *db, *by, *metric, *free, *fail_slower;
    int64_t seed;
    bool json, markdown;
};

#define AT(member) offsetof(struct compare_options, member)

static const struct option options[] = {
    OPTION_DB(AT(db)),
    {.name = "by",
     .offer = OFFER_KEYS,
     .kind = OPTION_STRING,
     .offset = AT(by),
     .value = "KEY[=A,B]",
     .help = "compare pairs of jobs that differ only in this key; `model` compares whole models"},
    {.name = "metric",
     .offer = OFFER_METRICS,
     .kind = OPTION_STRING,
     .offset = AT(metric),
     .value = "NAME",
     .help = "the metric to compare (default: the objective)"},
    {.name = "free",
     .offer = OFFER_KEYS,
     .kind = OPTION_STRING,
     .offset = AT(free),
     .value = "KEY,KEY",
     .help = "compare the best over these keys on each side; chosen automatically if pairs are few"},
    {.name = "seed",
     .kind = OPTION_INT,
     .offset = AT(seed),
     .value = "N",
     .help = "seed of the halves that choose for each other where keys are free",
     .fallback = "1",
     .least = 0,
     .most = INFINITY},
    {.name = "fail-slower",
     .kind = OPTION_STRING,
     .offset = AT(fail_slower),
     .value = "PERCENT",
     .help = "two databases: exit with 1 if the second is slower by more than this, with 3 if there are too few "
             "repeats to tell"},
    {.name = "markdown", .kind = OPTION_FLAG, .offset = AT(markdown), .help = "two databases: print Markdown"},
    {.name = "json", .kind = OPTION_FLAG, .offset = AT(json), .help = "as JSON"},
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

/* What the pairs have in common; steps of different global batches do different work. */
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
    if (unranked->jobs > 0)
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
                         "compare: name the key to compare by: --by KEY or --by KEY=A,B; or two databases: meshsweep "
                         "compare BEFORE.db NOW.db");
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
        return error_set(e, ERROR_USAGE, "compare: name two databases: meshsweep compare BEFORE.db NOW.db");
    const struct compare_databases_request request = {a->words[0],    a->words[1], o->metric,  o->by,
                                                      o->fail_slower, o->json,     o->markdown};
    return compare_databases(&request, e);
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
    free(unranked.why);
    comparison_free(&c);
    store_close(db);
    free(key);
    free(first);
    free(second);
    return rc;
}

const struct command compare_command = {
    .name = "compare",
    .summary = "Compare jobs that differ in only one key, or two databases",
    .usage = "{--by KEY[=A,B] | BEFORE.db NOW.db} [OPTIONS]",
    .example = "meshsweep compare --by zero_stage=1,3\nmeshsweep compare --by micro_batch --metric step_time --json\n"
               "meshsweep compare before.db results.db --fail-slower 5%",
    .options = options,
    .options_bytes = sizeof(struct compare_options),
    .words_most = 2,
    .pages = true,
    .run = compare,
};
