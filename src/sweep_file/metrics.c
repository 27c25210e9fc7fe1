#include <ctype.h>
#include <string.h>

#include "config/meaning.h"
#include "config/own_metrics.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"

#define MOST_FALLBACKS 16

const char *const take_names[] = {
    [TAKE_MEDIAN] = "median",
    [TAKE_MEAN] = "mean",
    [TAKE_LAST] = "last",
    [TAKE_MAX] = "max",
    [TAKE_MIN] = "min",
    [TAKE_P90] = "p90",
    NULL,
};

static const char *const directions[] = {"max", "min", NULL};

/* How many keys say how a metric is read: they are the keys of a fallback too. */
#define METRIC_READER_COUNT 10

#define AT(member) offsetof(struct metric, member)

static const struct schema schema_fallback;

static const struct schema_key metric_keys[] = {
    {.name = "regex", TYPE_STRING, DEFAULTS},
    {.name = "key", TYPE_STRING, DEFAULTS},
    {.name = "json", TYPE_STRING, DEFAULTS},
    {.name = "jsonl", TYPE_STRING, DEFAULTS},
    {.name = "csv", TYPE_STRING, DEFAULTS},
    {.name = "file", TYPE_STRING, DEFAULTS},
    {.name = "scale", TYPE_NUMBER, DEFAULTS},
    {.name = "written_unit", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(written_unit)},
    {.name = "numerator", TYPE_STRING, DEFAULTS},
    {.name = "sum", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(sum)},
    {.name = "fallback", TYPE_TABLE | TYPE_TABLES, DEFAULTS, .of = &schema_fallback},
    {.name = "unit", TYPE_STRING, DEFAULTS, FORM_STRING, AT(unit)},
    {.name = "better", TYPE_STRING, DEFAULTS, FORM_EITHER, AT(maximise), 0, .choices = directions},
    {.name = "warmup", TYPE_INT, DEFAULTS, FORM_COUNT, AT(warmup), 0, 1e9},
    {.name = "take", TYPE_STRING, DEFAULTS, FORM_CHOICE, AT(take), 1, .choices = take_names + 1},
    {.name = "means", TYPE_STRING, DEFAULTS, FORM_CHOICE, AT(means), 1, .choices = metric_meaning_names},
    {.name = "rank", TYPE_STRING | TYPE_INT, DEFAULTS, FORM_CONSTANT, AT(rank)},
    {.name = "per", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(per)},
};

static const struct schema_key derived_metric_keys[] = {
    {.name = "expression", TYPE_STRING | TYPE_NUMBER, DEFAULTS, .required = true},
    {.name = "unit", TYPE_STRING, DEFAULTS, FORM_STRING, AT(unit)},
    {.name = "better", TYPE_STRING, DEFAULTS, FORM_EITHER, AT(maximise), 0, .choices = directions},
    {.name = "take", TYPE_STRING, DEFAULTS, FORM_CHOICE, AT(take), 1, .choices = take_names + 1},
};

static bool is_dotted_path(const char *path)
{
    size_t length = strlen(path);
    return length > 0 && path[0] != '.' && path[length - 1] != '.' && !strstr(path, "..");
}

/* --- how a number is read --- */

/* "step time" as a regular expression for "step_time: 12.5 ms" and its like, up to where the number begins. */
static char *key_pattern(const char *key)
{
    struct buffer b = BUFFER_INIT;
    if (isalnum((unsigned char)*key) || *key == '_')
        buffer_add_text(&b, "\\<");
    for (const char *p = key; *p;) {
        size_t blanks = strspn(p, " _-");
        if (blanks > 0)
            buffer_add_text(&b, "[ _-]+");
        else if (strchr("^.[]$()|*+?{}\\", *p))
            buffer_printf(&b, "\\%c", *p);
        else
            buffer_add_char(&b, *p);
        p += blanks ? blanks : 1;
    }
    buffer_add_text(&b, "[\"']?[ \t]*[:=][ \t]*([-+]?([.0-9]|[nN][aA][nN]|[iI][nN][fF]))");
    return buffer_take(&b);
}

static void read_how(const struct reading *r, const struct toml_node *node, enum reader_kind kind, struct metric *m)
{
    const bool is_key = strcmp(node->key, "key") == 0;
    if ((is_key || kind == READER_CSV) && !check_not_blank(r, node, node->key))
        return;
    if (kind == READER_REGEX && !is_key)
        check_regex(r, node, m->written_unit || m->per ? 2 : 1);
    else if ((kind == READER_JSON || kind == READER_JSONL) && !is_dotted_path(node->text))
        problem_at_value(r, node, "%s must be a dotted path, such as \"results.0.value\"", node->key);
    m->reader = kind;
    m->is_key = is_key;
    *(kind == READER_REGEX ? &m->pattern : &m->path) =
        is_key ? arena_keep(r->arena, key_pattern(node->text)) : arena_text(r->arena, node->text);
}

/* At most one of regex, key, json, jsonl and csv says how it is read. */
static bool read_reader(const struct reading *r, const struct found *found, struct metric *m)
{
    static const struct {
        const char *key;
        enum reader_kind kind;
    } readers[] = {{"regex", READER_REGEX},
                   {"key", READER_REGEX},
                   {"json", READER_JSON},
                   {"jsonl", READER_JSONL},
                   {"csv", READER_CSV}};
    const struct toml_node *given = NULL;
    m->reader = READER_FILE;
    for (size_t i = 0; i < LENGTH(readers); i++) {
        const struct toml_node *node = found_key(found, readers[i].key);
        if (node && given) {
            problem_at_key(r, node, "a metric can have only one reader, and %s is given already", given->key);
            return false;
        }
        if (node)
            read_how(r, node, readers[i].kind, m);
        given = node ? node : given;
    }
    return true;
}

static void read_numerator(const struct reading *r, const struct toml_node *node, struct metric *m)
{
    const char *colon = strchr(node->text, ':');
    OWNED char *file = xstrndup(node->text, colon ? (size_t)(colon - node->text) : 0);
    if (!colon || !is_inside_path(file) || !is_dotted_path(colon + 1))
        problem_at_value(r, node,
                         "numerator must be a JSON file inside the job directory and a dotted path, such as "
                         "\"config.json:batch.size\"");
    m->numerator = arena_text(r->arena, node->text);
}

static bool says_how(const struct found *found)
{
    return ANY(k, METRIC_READER_COUNT, found->nodes[k]);
}

static void read_source(const struct reading *r, const struct found *found, struct metric *m)
{
    const struct toml_node *file = found_key(found, "file"), *scale = found_key(found, "scale");
    const struct toml_node *numerator = found_key(found, "numerator"), *sum = found_key(found, "sum");
    const struct toml_node *converted = scale ? scale : found_key(found, "written_unit");
    if (!read_reader(r, found, m))
        return;
    if (file && m->reader == READER_FILE)
        problem_at_key(r, file, "file needs one of regex, key, json, jsonl and csv");
    else if (file && !is_inside_path(file->text))
        problem_at_value(r, file, "file must be a path inside the job directory");
    if (file)
        m->file = arena_text(r->arena, file->text);
    else if (m->reader == READER_CSV)
        problem_at_key(r, found_key(found, "csv"), "csv needs file, because the job's output is not a table");
    m->scale = scale ? number_of(scale) : m->scale;
    if (scale && !(m->scale > 0 && m->scale < 1e300))
        problem_at_value(r, scale, "scale must be a number above 0");
    if (numerator)
        read_numerator(r, numerator, m);
    if (sum && (m->reader != READER_REGEX || m->is_key || m->written_unit))
        problem_at_key(r, sum, "it needs regex, and cannot be combined with written_unit");
    if (m->reader == READER_FILE && numerator)
        problem_at_key(r, numerator, "it needs one of regex, key, json, jsonl and csv");
    if (m->reader == READER_FILE && converted)
        problem_at_key(r, converted, "it needs one of regex, key, json, jsonl and csv");
}

/* Behind those that `into` has. */
static void read_fallback(const struct reading *r, struct found *found)
{
    struct metric *m = arena_keep(r->arena, xcalloc(1, sizeof *m)), *last = r->into;
    while (last->fallback)
        last = last->fallback;
    last->fallback = m;
    m->at = reading_at_value(r, found->table);
    schema_take(r, found, m);
    read_source(r, found, m);
    if (m->reader == READER_FILE)
        problem_at_value(r, found->table, "a fallback needs one of regex, key, json, jsonl and csv");
}

static const struct schema schema_fallback = {"a fallback", metric_keys, METRIC_READER_COUNT, read_fallback};

static void read_fallbacks(const struct reading *r, const struct toml_node *node, struct metric *m)
{
    if (node->child_count > MOST_FALLBACKS)
        problem_at_value(r, node, "more than %d fallbacks", MOST_FALLBACKS);
    else if (node->kind == NODE_TABLE)
        schema_read(&schema_fallback, r, node, m);
    else
        for (size_t i = 0; i < node->child_count; i++)
            schema_read(&schema_fallback, r, &node->children[i], m);
}

/* --- what it is --- */

/* The metric of that name, made when there is none. One that is there comes from a profile: it is emptied when the
 * table says anew how it is read. */
static struct metric *metric_slot(const struct reading *r, const char *name, bool anew)
{
    struct job_config *job = &r->sweep->job;
    struct metric *m = job_find_metric(job, name);
    if (m && !anew)
        return m;
    if (!m)
        m = arena_add(r->arena, job->metrics, job->metric_count);
    *m = (struct metric){.name = arena_text(r->arena, name), .reader = READER_FILE, .unit = "", .take = TAKE_MEDIAN};
    return m;
}

/* A sample of a curve is of a point of it, and all points count. */
static void check_curve(const struct reading *r, const struct found *found, const struct metric *m)
{
    static const char *const others[] = {"key", "sum", "written_unit", "warmup", "fallback"};
    for (size_t i = 0; m->per && i < LENGTH(others); i++)
        if (found_key(found, others[i]))
            problem_at_key(r, found_key(found, "per"), "per cannot be combined with %s", others[i]);
}

static void read_metric(const struct reading *r, struct found *found)
{
    const bool anew = says_how(found) || found_key(found, "fallback");
    struct metric *m = metric_slot(r, found->table->key, anew);
    m->at = reading_at_key(r, found->table);
    schema_take(r, found, m);
    m->better_given |= found_key(found, "better") != NULL;
    check_curve(r, found, m);
    if (!anew)
        return;
    read_source(r, found, m);
    if (found_key(found, "fallback"))
        read_fallbacks(r, found_key(found, "fallback"), m);
}

const struct schema schema_metric = {"[job.metrics]", SCHEMA_KEYS(metric_keys), read_metric};

/* --- what is not read but reckoned --- */

/* NULL: the name is taken. */
static struct metric *derived_metric_slot(const struct reading *r, const struct toml_node *node)
{
    const struct metric *known = job_find_metric(&r->sweep->job, node->key);
    if (own_metric_by_name(node->key)) {
        problem_at_key(r, node, "every attempt has a built-in metric \"%s\"; choose another name", node->key);
        return NULL;
    }
    if (known && !check_replaces(r, node, node->key, &known->at))
        return NULL;
    return metric_slot(r, node->key, true);
}

static void read_derived_metric(const struct reading *r, struct found *found)
{
    const struct toml_node *given = found_key(found, "expression");
    char *expression = given ? read_expression(r, given, given->key) : NULL;
    struct metric *m = expression ? derived_metric_slot(r, found->table) : NULL;
    if (!m) {
        problems_excuse(r->problems, found->table->key);
        return;
    }
    m->reader = READER_EXPRESSION;
    m->expression = expression;
    m->at = reading_at_value(r, given);
    schema_take(r, found, m);
    m->better_given = found_key(found, "better") != NULL;
}

const struct schema schema_derived_metric = {"[metrics]", SCHEMA_KEYS(derived_metric_keys), read_derived_metric};
