#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "files/document.h"
#include "sweep_file/schema.h"
#include "toml/known.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

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

static void *read_version(const struct reading *r, const struct toml_node *node, const char *name)
{
    if (!schema_expect(r, node, name, TYPE_STRING))
        return NULL;
    check_not_blank(r, node, name);
    return arena_text(r->arena, node->text);
}

static const struct entries variable_entries = {ENTRIES(sweep, job.environment, job.environment_count, struct setting),
                                                .good_name = check_variable_name, .value = read_variable};
static const struct entries version_entries = {ENTRIES(sweep, job.versions, job.version_count, struct setting),
                                               .value = read_version};

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

#define AT(member) offsetof(struct job_file, member)

static const struct schema_key file_keys[] = {
    {.name = "path", TYPE_STRING, FILE_SWEEP, FORM_TEXT, AT(path), .where = AT(at), .required = true},
    {.name = "name", TYPE_STRING, FILE_SWEEP, FORM_TEXT, AT(name)},
    {.name = "base", TYPE_STRING, FILE_SWEEP, FORM_TEXT, AT(base), .where = AT(base_at)},
    {.name = "text", TYPE_STRING, FILE_SWEEP, FORM_TEMPLATE, AT(text), .where = AT(text_at)},
    {.name = "format", TYPE_STRING, FILE_SWEEP, FORM_CHOICE, AT(format), 1, .choices = file_format_names},
    {.name = "set", TYPE_TABLE, FILE_SWEEP, .walk = read_set},
    {.name = "unset", TYPE_STRINGS, FILE_SWEEP, .read = read_unset},
    {.name = "add", TYPE_TABLE, FILE_SWEEP, .walk = read_added},
};

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
    if (f.change_count)
        qsort(f.changes, f.change_count, sizeof *f.changes, by_change);
    *arena_add(r->arena, job->files, job->file_count) = f;
}

static const struct schema schema_job_file = {"[[job.file]]", SCHEMA_KEYS(file_keys), read_job_file};

static int by_path(const void *a, const void *b)
{
    const struct job_file *left = a, *right = b;
    return strcmp(left->path, right->path);
}

static void finish_job_files(struct job_config *job)
{
    if (job->file_count)
        qsort(job->files, job->file_count, sizeof *job->files, by_path);
}

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

#undef AT
#define AT(member) offsetof(struct sweep, job.member)

static const char *const profiled[] = {"best", NULL};

static const struct schema_key job_profile_keys[] = {
    {.name = "command_prefix",
     TYPE_STRINGS,
     DEFAULTS,
     FORM_STRINGS,
     AT(profile_prefix),
     .where = AT(profile_at),
     .required = true},
    {.name = "for", TYPE_STRING, DEFAULTS, FORM_CHOICE, AT(profile_for), 0, .choices = profiled},
};
static const struct schema schema_job_profile = {"[job.profile]", SCHEMA_KEYS(job_profile_keys)};

static const struct schema_key job_keys[] = {
    {.name = "command", TYPE_STRING | TYPE_STRINGS, DEFAULTS, FORM_COMMAND, AT(command)},
    {.name = "env", TYPE_TABLE, DEFAULTS, NAMES(AT(environment_count), variable_entries, "environment variables")},
    {.name = "pass_env", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = read_variable_names},
    {.name = "versions", TYPE_TABLE, DEFAULTS, NAMES(AT(version_count), version_entries, "versions")},
    {.name = "secrets", TYPE_STRINGS, DEFAULTS, .read = read_variable_names},
    {.name = "cwd", TYPE_STRING, DEFAULTS, FORM_TEMPLATE, AT(directory)},
    {.name = "job_dir", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(make_job_dir)},
    {.name = "separate_streams", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(separate_streams)},
    {.name = "timeout", TYPE_TIME, DEFAULTS, FORM_LIMIT, AT(timeout), .where = AT(timeout_at)},
    {.name = "idle_timeout", TYPE_TIME, DEFAULTS, FORM_LIMIT, AT(idle_timeout), .where = AT(idle_timeout_at)},
    {.name = "startup_timeout", TYPE_TIME, DEFAULTS, FORM_LIMIT, AT(startup_timeout), .where = AT(startup_timeout_at)},
    {.name = "grace", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(grace_ms), .otherwise = 5000},
    {.name = "repeat", TYPE_INT, DEFAULTS, FORM_COUNT, AT(repeat), 1, 1000000, .otherwise = 1},
    {.name = "keep_files", TYPE_STRINGS, DEFAULTS, FORM_STRINGS, AT(keep_files)},
    {.name = "keep_files_size", TYPE_STRING, DEFAULTS, FORM_SIZE, AT(keep_files_size)},
    {.name = "profile", TYPE_TABLE, DEFAULTS, TABLE(schema_job_profile)},
    {.name = "metrics", TYPE_TABLE, DEFAULTS, TABLES(AT(metric_count), "metrics", schema_metric), .named = "metric"},
    {.name = "file", TYPE_TABLES, FILE_SWEEP, TABLES(AT(file_count), "files", schema_job_file)},
};
const struct schema schema_job = {"[job]", SCHEMA_KEYS(job_keys)};

void finish_job(struct job_config *job)
{
    job->make_job_dir |= needs_job_dir(job);
    finish_job_files(job);
}

/* --- [[fixture]] --- */

#define DEFAULT_TIMEOUT_MS 600000 /* a large model takes minutes to load */
#define DEVICES_OF_ITS_OWN_MOST 1024

#undef AT
#define AT(member) offsetof(struct fixture, member)
#define COMMAND (TYPE_STRING | TYPE_STRINGS)

static const struct schema_key ready_keys[] = {
    {.name = "port", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(ready_port)},
    {.name = "regex", TYPE_STRING, DEFAULTS, FORM_REGEX, AT(ready_regex)},
    {.name = "command", COMMAND, DEFAULTS, FORM_COMMAND, AT(ready)},
};
static const struct schema schema_ready = {"[fixture.ready]", SCHEMA_KEYS(ready_keys)};

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

static const struct schema_key fixture_keys[] = {
    {.name = "name", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(name), .required = true},
    {.name = "per", TYPE_STRINGS, DEFAULTS, FORM_KEYS, AT(per)},
    {.name = "start", COMMAND, DEFAULTS, FORM_COMMAND, AT(start), .required = true},
    {.name = "ready", COMMAND | TYPE_TABLE, DEFAULTS, .read = read_ready, .of = &schema_ready},
    {.name = "timeout", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(timeout_ms)},
    {.name = "between", COMMAND, DEFAULTS, FORM_COMMAND, AT(between)},
    {.name = "stop", COMMAND, DEFAULTS, FORM_COMMAND, AT(stop)},
    {.name = "keep", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(keep_ms)},
    {.name = "devices", TYPE_INT, DEFAULTS, FORM_COUNT, AT(devices), 0, DEVICES_OF_ITS_OWN_MOST},
    {.name = "env", TYPE_TABLE, DEFAULTS, .entries = &fixture_variables},
    {.name = "cwd", TYPE_STRING, DEFAULTS, FORM_TEMPLATE, AT(directory)},
};
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

const struct schema schema_fixture = {"[[fixture]]", SCHEMA_KEYS(fixture_keys), read_fixture};

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

#undef AT
#define AT(member) offsetof(struct sweep, deepspeed.member)

/* Each of the first ones asks for it in a profile, too; its arg_mappings wait for a sweep file that has its jobs run by
 * DeepSpeed. */
enum { KEYS_THAT_ASK = 3 };

static const struct schema_key deepspeed_keys[] = {
    {.name = "config", TYPE_STRING, FILE_SWEEP, FORM_TEXT, AT(config), .where = AT(config_at)},
    {.name = "auto", TYPE_STRING, DEFAULTS, FORM_EITHER, AT(resolve_auto), 1, .choices = auto_modes},
    {.name = "sections", TYPE_STRINGS, DEFAULTS, .read = read_sections_of_user},
    {.name = "arg_mappings", TYPE_TABLE, DEFAULTS, NAMES(AT(argument_count), argument_entries, "arguments")},
    {.name = "profile_steps", TYPE_LIST, DEFAULTS, .read = read_profile_steps},
    {.name = "version", TYPE_STRING, DEFAULTS, .read = read_release},
};

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

const struct schema schema_deepspeed = {"[deepspeed]", SCHEMA_KEYS(deepspeed_keys), read_deepspeed};

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
