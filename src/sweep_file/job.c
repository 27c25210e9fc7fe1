#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/meaning.h"
#include "config/own_metrics.h"
#include "config/template.h"
#include "files/document.h"
#include "sweep_file/schema.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/unit.h"

/* Returns whether a path is relative and leads out of nothing. */
static bool is_inside_path(const char *path)
{
    if (!*path || *path == '/')
        return false;
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || !p[2]))
            return false;
    }
    return true;
}

/* --- command, environment, directory --- */

char **shell_command(const struct reading *r, const char *line)
{
    char **argv = arena_keep(r->arena, xcalloc(4, sizeof *argv));
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = arena_text(r->arena, line);
    return argv;
}

void read_command(const struct reading *r, const struct toml_node *node, struct command_words *out)
{
    const bool is_line = node->kind == NODE_STRING;
    size_t count;
    const struct toml_node *texts = toml_texts(node, &count);
    if (count == 0) {
        problem_at_value(r, node, "command is empty; give the program and its arguments");
        return;
    }
    check_not_blank(r, texts, "command");
    for (size_t i = 0; i < count; i++)
        check_template(r, &texts[i]);
    out->words = is_line ? shell_command(r, node->text) : toml_strings(r->arena, node);
    out->is_line = is_line;
    out->at = reading_at_value(r, node);
}

static bool is_variable_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return !*name;
}

static bool check_variable_name(const struct reading *r, const struct toml_node *node, const char *name)
{
    const bool good = is_variable_name(name);
    if (!good)
        problem_at_key(r, node, "\"%s\" cannot be the name of an environment variable", name);
    return good;
}

static void *read_variable(const struct reading *r, const struct toml_node *node, const char *name)
{
    const bool good = schema_expect(r, node, name, TYPE_STRING | TYPE_NUMBER | TYPE_BOOL) && check_finite(r, node) &&
                      (node->kind != NODE_STRING || check_template(r, node));
    return good ? constant_text(r, node) : NULL;
}

static const struct entries variable_entries = {ENTRIES(sweep, job.environment, job.environment_count, struct setting),
                                                .good_name = check_variable_name, .value = read_variable};
static const struct entries version_entries = {ENTRIES(sweep, job.versions, job.version_count, struct setting),
                                               .value = read_sentence};

/* "*" and "HF_*": a name so far. */
static bool is_name_pattern(const char *text)
{
    OWNED char *beginning = xstrndup(text, strcspn(text, "*"));
    return strcmp(text + strlen(beginning), "*") == 0 && (!*beginning || is_variable_name(beginning));
}

static void read_variable_names(const struct reading *r, const struct toml_node *list)
{
    const bool patterns = strcmp(list->key, "pass_env") == 0;
    size_t count;
    const struct toml_node *names = toml_texts(list, &count);
    for (size_t i = 0; i < count; i++)
        if (!is_variable_name(names[i].text) && !(patterns && is_name_pattern(names[i].text)))
            problem_at_value(r, &names[i], "\"%s\" cannot be the name of an environment variable", names[i].text);
    *(patterns ? &r->sweep->job.pass_environment : &r->sweep->job.secrets) = toml_strings(r->arena, list);
}

/* --- times --- */

/* "ten minutes": a word for a time after another word, and no sign of SQL. */
static bool is_time_in_words(const char *text)
{
    if (text[strspn(text, " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")] != '\0')
        return false;
    const struct toml_node *words = known("job", "times");
    for (size_t i = 0; i < words->child_count; i++) {
        const char *at = strcasestr(text, words->children[i].text);
        if (at && at != text && strchr(at + 1, ' ') == NULL)
            return true;
    }
    return false;
}

/* "5 minutes" and "10x" are durations gone wrong; "2 * layers" and "CASE …" are expressions. */
static bool is_expression(const char *text)
{
    if (is_time_in_words(text))
        return false;
    const char *p = text + strspn(text, " +-");
    if (!isdigit((unsigned char)*p))
        return text[strspn(text, " \t\r\n")] != '\0';
    while (isalnum((unsigned char)*p) || *p == '.' || *p == ' ')
        p++;
    return *p != '\0';
}

void read_limit(const struct reading *r, const struct toml_node *node, char **out)
{
    if (!check_finite(r, node))
        return;
    char *text = constant_text(r, node);
    int64_t ms;
    if (parse_duration_ms(text, &ms) || (node->kind == NODE_STRING && is_expression(text)))
        *out = text;
    else
        problem_at_value(r, node,
                         "%s: \"%s\" is neither a duration (such as \"90s\" or \"1h30m\", at most 10 years) nor an "
                         "expression",
                         node->key, text);
}

/* --- [[job.file]] --- */

static struct file_change *add_change(const struct reading *r, const struct toml_node *node, const char *path,
                                      enum doc_change_kind kind)
{
    struct job_file *f = r->into;
    if (!document_path_is_good(path)) {
        problem_at_key(r, node, "\"%s\" is no path, such as \"data.batch_size\" or \"layers.0.size\"", path);
        return NULL;
    }
    for (size_t i = 0; i < f->change_count; i++)
        if (strcmp(f->changes[i].path, path) == 0) {
            problem_at_key(r, node, "\"%s\" is given twice (first on line %d)", path, f->changes[i].at.line);
            return NULL;
        }
    struct file_change *c = arena_add(r->arena, f->changes, f->change_count);
    *c = (struct file_change){.kind = kind, .path = arena_text(r->arena, path), .at = reading_at_key(r, node)};
    return c;
}

/* A text that SQL would only repeat. */
static bool is_literal(const char *sql)
{
    const size_t length = strlen(sql);
    return length >= 2 && sql[0] == '\'' && strcspn(sql + 1, "'") == length - 2;
}

static void read_value(const struct reading *r, const struct toml_node *node, const char *path,
                       enum doc_change_kind kind)
{
    if (!check_finite(r, node) || (node->kind == NODE_STRING && !check_not_blank(r, node, path)))
        return;
    struct file_change *c = add_change(r, node, path, kind);
    if (!c)
        return;
    if (node->kind != NODE_STRING || is_literal(node->text))
        c->value = plain_value(r, node);
    else
        c->expression = arena_text(r->arena, node->text);
    if (c->value.kind == VALUE_STRING) {
        c->value.text++;
        c->value.text[strlen(c->value.text) - 1] = '\0';
    }
}

static void read_set(const struct reading *r, const struct toml_node *node, const char *path)
{
    read_value(r, node, path, DOC_SET);
}

static void read_added(const struct reading *r, const struct toml_node *node, const char *path)
{
    read_value(r, node, path, DOC_ADD);
}

static void read_unset(const struct reading *r, const struct toml_node *list)
{
    for (size_t i = 0; i < list->child_count; i++)
        add_change(r, &list->children[i], list->children[i].text, DOC_UNSET);
}

/* Names of its own in the job's directory, one file each. */
static void check_path(const struct reading *r, const struct toml_node *node, struct job_file *f)
{
    const struct job_config *job = &r->sweep->job;
    const size_t length = strlen(f->path);
    if (!f->name)
        f->name = arena_text(r->arena, path_name(f->path));
    if (!is_inside_path(f->path) || f->path[length - 1] == '/' || strncmp(f->path, "./", 2) == 0 ||
        strstr(f->path, "//") || strstr(f->path, "/./") || (length > 1 && strcmp(f->path + length - 2, "/.") == 0)) {
        problem_at_value(r, node, "path must be that of a file inside the job directory, such as \"config.yaml\"");
        return;
    }
    if (known_has(known("job", "writes"), f->path) ||
        (r->sweep->deepspeed.given && known_has(known("job", "writes_for_deepspeed"), f->path)))
        problem_at_value(r, node, "\"%s\" is a file that meshsweep writes there itself", f->path);
    for (size_t i = 0; i < job->file_count; i++) {
        if (strcmp(job->files[i].path, f->path) == 0)
            problem_at_value(r, node, "two files have the path \"%s\" (the first on line %d)", f->path,
                             job->files[i].at.line);
        else if (strcmp(job->files[i].name, f->name) == 0)
            problem_at_value(r, node,
                             "two files have the name \"%s\" (the first on line %d); give one a name of its own",
                             f->name, job->files[i].at.line);
    }
}

static void check_content(const struct reading *r, const struct toml_node *table, struct job_file *f)
{
    if (f->base && f->text)
        problems_add(r->problems, f->text_at, "a file has either base or text");
    else if (!f->base && !f->text && f->change_count == 0)
        problem_at_value(r, table, "a file needs base, text or [job.file.add]");
    if (!f->format && f->text && !f->change_count)
        f->format = FORMAT_TEXT;
    if (!f->format)
        f->format = (int)file_format_of(f->path);
    if (!f->format && f->base)
        f->format = (int)file_format_of(f->base);
    if (!f->format)
        problem_at_value(r, table, "the format of \"%s\" cannot be told by its name; give it as format", f->path);
    if (f->change_count > 0 && (f->text || f->format == FORMAT_TEXT))
        problems_add(r->problems, f->changes[0].at,
                     "values are set in YAML, TOML and JSON that a base has; a text has {placeholders}");
}

/* Deletions come last, the later elements of a list before the earlier ones. */
static int by_change(const void *a, const void *b)
{
    const struct file_change *left = a, *right = b;
    const bool is_last = left->kind == DOC_UNSET, other_is = right->kind == DOC_UNSET;
    const int order = strverscmp(left->path, right->path);
    return is_last != other_is ? is_last - other_is : is_last ? -order : order;
}

static void read_job_file(const struct reading *r, struct found *found)
{
    struct job_config *job = &r->sweep->job;
    struct job_file f = {.at = reading_at_value(r, found->table)};
    const struct toml_node *path = found_key(found, "path");
    if (!schema_take(r, found, &f) || !f.path) {
        if (path)
            problems_excuse(r->problems, f.name ? f.name : path_name(path->text));
        return;
    }
    check_path(r, path, &f);
    check_content(r, found->table, &f);
    array_sort(f.changes, f.change_count, by_change);
    *arena_add(r->arena, job->files, job->file_count) = f;
}

static const struct schema schema_job_file = {SCHEMA("[[job.file]]", KEYS_OF_JOB_FILE), read_job_file};

BY_TEXT(by_path, struct job_file, ->path)

/* --- all of it --- */

static bool names_job_dir(const char *text)
{
    return strstr(text, "{job_dir}") || strstr(text, "MESHSWEEP_JOB_DIR");
}

/* A directory that is named must be there; so must one that a metric is read from, or that files are put into. */
static bool needs_job_dir(const struct job_config *job)
{
    if (job->separate_streams || job->file_count > 0)
        return true;
    for (char **word = job->command.words; word && *word; word++)
        if (names_job_dir(*word))
            return true;
    for (size_t i = 0; i < job->environment_count; i++)
        if (names_job_dir(job->environment[i].value))
            return true;
    for (size_t i = 0; i < job->metric_count; i++)
        for (const struct metric *m = &job->metrics[i]; m; m = m->fallback)
            if (m->file || m->numerator)
                return true;
    return job->directory && names_job_dir(job->directory);
}

static const char *const profiled[] = {"best", NULL};

static const struct schema schema_job_profile = {SCHEMA("[job.profile]", KEYS_OF_JOB_PROFILE)};

const struct schema schema_job = {SCHEMA("[job]", KEYS_OF_JOB)};

void finish_job(struct job_config *job)
{
    job->make_job_dir |= needs_job_dir(job);
    array_sort(job->files, job->file_count, by_path);
}

/* --- [[fixture]] --- */

#define DEFAULT_TIMEOUT_MS 600000 /* a large model takes minutes to load */
#define DEVICES_OF_ITS_OWN_MOST 1024

static const struct schema schema_ready = {SCHEMA("[fixture.ready]", KEYS_OF_READY)};

static void read_ready(const struct reading *r, const struct toml_node *node)
{
    struct fixture *f = r->into;
    f->is_server = true;
    if (node->kind != NODE_TABLE) {
        read_command(r, node, &f->ready);
        return;
    }
    struct found found = schema_match(&schema_ready, r, node);
    if (schema_take(r, &found, f) && !f->ready_port && !f->ready_regex && !f->ready.words)
        problem_at_value(r, node, "ready says nothing to wait for; give port = true, a regex or a command");
}

static const struct entries fixture_variables = {ENTRIES(fixture, environment, environment_count, struct setting),
                                                 .good_name = check_variable_name, .value = read_variable};

/* It is part of a placeholder, {fixture.NAME.port}. */
static void check_fixture_name(const struct reading *r, const struct toml_node *node)
{
    const struct sweep *s = r->sweep;
    if ((*node->text && !template_is_name(node->text)) || strchr(node->text, '.'))
        problem_at_value(r, node,
                         "\"%s\" cannot be the name of a fixture; take letters, digits, \"_\" and \"-\", with a "
                         "letter first",
                         node->text);
    for (size_t i = 0; i < s->fixture_count; i++)
        if (strcmp(s->fixtures[i].name, node->text) == 0)
            problem_at_value(r, node, "there is a fixture \"%s\" already (%s:%d)", node->text, s->fixtures[i].at.file,
                             s->fixtures[i].at.line);
}

/* Refuses what only a server has. */
static void check_kind(const struct reading *r, const struct found *found, const struct fixture *f)
{
    static const char *const of_servers[] = {"between", "stop", "keep"};
    for (size_t i = 0; i < LENGTH(of_servers); i++) {
        const struct toml_node *node = found_key(found, of_servers[i]);
        if (node && !f->is_server)
            problem_at_key(r, node,
                           "%s is for a fixture that stays up; without ready this one is a set-up step, which ends "
                           "before its jobs",
                           node->key);
    }
}

static void read_fixture(const struct reading *r, struct found *found)
{
    struct sweep *s = r->sweep;
    struct fixture f = {.timeout_ms = DEFAULT_TIMEOUT_MS, .devices = -1, .at = reading_at_value(r, found->table)};
    schema_take(r, found, &f);
    if (found_key(found, "name"))
        check_fixture_name(r, found_key(found, "name"));
    check_kind(r, found, &f);
    if (f.name && f.start.words)
        *arena_add(r->arena, s->fixtures, s->fixture_count) = f;
}

const struct schema schema_fixture = {SCHEMA("[[fixture]]", KEYS_OF_FIXTURE), read_fixture};

/* --- [deepspeed] --- */

#define STEPS_MOST 1000000000

static const char *const auto_modes[] = {"keep", "resolve", NULL};

static void read_sections_of_user(const struct reading *r, const struct toml_node *list)
{
    struct deepspeed_settings *d = &r->sweep->deepspeed;
    for (size_t i = 0; i < list->child_count; i++)
        check_not_blank(r, &list->children[i], "sections");
    d->sections = toml_strings(r->arena, list);
}

/* A flag with or without its dashes, as it stands in files that DeepSpeed reads; without a value of its own. */
static bool is_flag(const char *text)
{
    text += strspn(text, "-");
    return *text && !strpbrk(text, " \t\r\n=");
}

static void *read_argument(const struct reading *r, const struct toml_node *node, const char *name)
{
    if (!schema_expect(r, node, name, TYPE_STRING))
        return NULL;
    if (is_flag(node->text))
        return arena_text(r->arena, node->text);
    problem_at_value(r, node, "\"%s\" is not a flag, such as \"per_device_train_batch_size\" or \"--lr\"", node->text);
    return NULL;
}

static const struct entries argument_entries = {ENTRIES(sweep, deepspeed.arguments, deepspeed.argument_count,
                                                        struct setting),
                                                .value = read_argument, .is_dotted = true};

static void read_profile_steps(const struct reading *r, const struct toml_node *list)
{
    int64_t *out = r->sweep->deepspeed.profile_steps;
    const size_t count = list->child_count;
    bool good = count == 2 || count == 3;
    for (size_t i = 0; good && i < count; i++)
        good = list->children[i].kind == NODE_INT && list->children[i].integer >= (i == 0 ? 0 : 1) &&
               list->children[i].integer <= STEPS_MOST &&
               (i == 0 || list->children[i].integer >= list->children[i - 1].integer);
    if (!good) {
        problem_at_value(r, list,
                         "profile_steps must be the first and the last step to measure, such as [3, 5]; an optional "
                         "third number is the limit of the last step if steps are short, such as [3, 8, 53]");
        return;
    }
    out[2] = 0;
    for (size_t i = 0; i < count; i++)
        out[i] = list->children[i].integer;
}

static void read_release(const struct reading *r, const struct toml_node *node)
{
    if (!parse_release(node->text, true, &r->sweep->deepspeed.version))
        problem_at_value(r, node, "version must be a release of DeepSpeed, such as \"0.14\" or \"0.14.5\"");
}

/* Each of the first ones asks for it in a profile, too; its arg_mappings wait for a sweep file that has its jobs run by
 * DeepSpeed. */
enum { KEYS_THAT_ASK = 3 };

static void read_deepspeed(const struct reading *r, struct found *found)
{
    struct deepspeed_settings *d = &r->sweep->deepspeed;
    bool asks = r->role != FILE_PROFILE;
    for (int k = 0; k < KEYS_THAT_ASK; k++)
        asks |= found->nodes[k] != NULL;
    if (asks) {
        d->given = true;
        d->at = reading_at_key(r, found->table);
    }
    schema_take(r, found, r->sweep);
}

const struct schema schema_deepspeed = {SCHEMA("[deepspeed]", KEYS_OF_DEEPSPEED), read_deepspeed};

/* The engine's timers print from the first step on, and the flops profiler slows down the step after the first one that
 * is profiled (runtime/engine.py counts from 0). A warm-up that the user chose stays. */
void finish_profile_steps(struct sweep *s)
{
    static const char *const timers[] = {"fwd", "bwd", "step"};
    const int64_t first = s->deepspeed.profile_steps[1] ? s->deepspeed.profile_steps[0] + 1 : 0;
    for (size_t i = 0; i < LENGTH(timers); i++) {
        struct metric *m = (struct metric *)job_find_metric(&s->job, timers[i]);
        const bool is_own = m && m->at.file && strcmp(m->at.file, s->path) == 0;
        if (m && !is_own && m->warmup < first)
            m->warmup = first;
    }
}

/* --- [job.metrics], [metrics] --- */

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

static const struct schema schema_fallback;

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
    return ANY(k, schema_fallback.count, found->nodes[k]);
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

static const struct schema schema_fallback = {SCHEMA("a fallback", KEYS_OF_HOW_READ), read_fallback};

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

/* What meshsweep measures comes in its own unit, also where a reader finds nothing. */
static void check_own_unit(const struct reading *r, const struct found *found, const struct metric *m)
{
    const char *own = own_metrics[own_metric_by_name(m->name)].unit;
    const struct toml_node *unit = found_key(found, "unit");
    double factor = 1;
    const bool alike = unit_is_known(own) && unit_is_known(m->unit) && unit_convert(1, own, m->unit, &factor);
    if (unit && own_metric_by_name(m->name) && strcmp(own, m->unit) != 0 && !(alike && factor == 1))
        problem_at_value(r, unit,
                         "every attempt has a built-in metric \"%s\"%s%s; one in another unit needs another name",
                         m->name, *own ? " in " : "", own);
}

static void read_metric(const struct reading *r, struct found *found)
{
    const bool anew = says_how(found) || found_key(found, "fallback");
    struct metric *m = metric_slot(r, found->table->key, anew);
    m->at = reading_at_key(r, found->table);
    schema_take(r, found, m);
    m->better_given |= found_key(found, "better") != NULL;
    check_curve(r, found, m);
    check_own_unit(r, found, m);
    if (!anew)
        return;
    read_source(r, found, m);
    if (found_key(found, "fallback"))
        read_fallbacks(r, found_key(found, "fallback"), m);
}

const struct schema schema_metric = {SCHEMA("[job.metrics]", KEYS_OF_METRIC), read_metric};

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

const struct schema schema_derived_metric = {SCHEMA("[metrics]", KEYS_OF_DERIVED_METRIC), read_derived_metric};
