#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "util/memory.h"
#include "util/parse.h"

static void replace_list(char ***list, char **with)
{
    strings_free(*list);
    *list = with;
}

/* --- command, environment, directory --- */

char **shell_command(const char *line)
{
    char **argv = xcalloc(4, sizeof *argv);
    argv[0] = xstrdup("/bin/sh");
    argv[1] = xstrdup("-c");
    argv[2] = xstrdup(line);
    return argv;
}

void read_command(const struct reading *r, const struct toml_node *node, char ***out, bool *is_line,
                  struct position *at)
{
    const struct toml_node *program = node->kind == NODE_STRING ? node : node->children;
    if (node->kind == NODE_LIST && node->child_count == 0) {
        problem_at_value(r, node, "command is empty; give the program and its arguments");
        return;
    }
    check_not_blank(r, program, "command");
    if (node->kind == NODE_STRING)
        check_template(r, node);
    for (size_t i = 0; i < node->child_count; i++)
        check_template(r, &node->children[i]);
    replace_list(out, node->kind == NODE_STRING ? shell_command(node->text) : toml_strings(node));
    *is_line = node->kind == NODE_STRING;
    *at = reading_at_value(r, node);
}

static bool is_variable_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return !*name;
}

bool check_variable(const struct reading *r, const struct toml_node *node)
{
    const unsigned types = TYPE_STRING | TYPE_NUMBER | TYPE_BOOL;
    if (!is_variable_name(node->key)) {
        problem_at_key(r, node, "\"%s\" cannot be the name of an environment variable", node->key);
        return false;
    }
    return schema_expect(r, node, node->key, types) && check_finite(r, node) &&
           (node->kind != NODE_STRING || check_template(r, node));
}

static void read_variable(const struct reading *r, const struct toml_node *node)
{
    if (!check_variable(r, node))
        return;
    struct job_config *job = &r->sweep->job;
    struct setting *setting = named_item(&job->environment, &job->environment_count, sizeof(struct setting), node->key);
    text_replace(&setting->value, constant_text(node));
    setting->at = reading_at_key(r, node);
}

static void read_version(const struct reading *r, const struct toml_node *node)
{
    struct job_config *job = &r->sweep->job;
    if (!schema_expect(r, node, node->key, TYPE_STRING))
        return;
    check_not_blank(r, node, node->key);
    struct setting *version = named_item(&job->versions, &job->version_count, sizeof(struct setting), node->key);
    text_replace(&version->value, xstrdup(node->text));
    version->at = reading_at_key(r, node);
}

/* "*" and "HF_*": a name so far. */
static bool is_name_pattern(const char *text)
{
    OWNED char *beginning = xstrndup(text, strcspn(text, "*"));
    bool good = strcmp(text + strlen(beginning), "*") == 0 && (!*beginning || is_variable_name(beginning));
    return good;
}

static void read_variable_names(const struct reading *r, const struct toml_node *list)
{
    const bool patterns = strcmp(list->key, "pass_env") == 0;
    const struct toml_node *names = list->kind == NODE_STRING ? list : list->children;
    const size_t count = list->kind == NODE_STRING ? 1 : list->child_count;
    for (size_t i = 0; i < count; i++)
        if (!is_variable_name(names[i].text) && !(patterns && is_name_pattern(names[i].text)))
            problem_at_value(r, &names[i], "\"%s\" cannot be the name of an environment variable", names[i].text);
    replace_list(patterns ? &r->sweep->job.pass_environment : &r->sweep->job.secrets, toml_strings(list));
}

/* --- times --- */

/* "ten minutes": a word for a time after another word, and no sign of SQL. */
static bool is_time_in_words(const char *text)
{
    static const char *const words[] = {" second", " sec", " minute", " min", " hour", " day", " week"};
    if (text[strspn(text, " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")] != '\0')
        return false;
    for (size_t i = 0; i < LENGTH(words); i++) {
        const char *at = strcasestr(text, words[i]);
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
    char *text = constant_text(node);
    int64_t ms;
    bool good = parse_duration_ms(text, &ms) || (node->kind == NODE_STRING && is_expression(text));
    if (!good) {
        problem_at_value(r, node,
                         "%s: \"%s\" is neither a duration (such as \"90s\" or \"1h30m\", at most 10 years) nor an "
                         "expression",
                         node->key, text);
        free(text);
        return;
    }
    text_replace(out, text);
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
    for (char **word = job->command; word && *word; word++)
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

static void read_job_command(const struct reading *r, const struct toml_node *node)
{
    struct job_config *job = &r->sweep->job;
    read_command(r, node, &job->command, &job->command_is_line, &job->command_at);
}

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
const struct schema schema_job_profile = {"[job.profile]", SCHEMA_KEYS(job_profile_keys)};

static const struct schema_key job_keys[] = {
    {.name = "command", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = read_job_command},
    {.name = "env", TYPE_TABLE, DEFAULTS, EACH(AT(environment_count), read_variable, "environment variables")},
    {.name = "pass_env", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = read_variable_names},
    {.name = "versions", TYPE_TABLE, DEFAULTS, EACH(AT(version_count), read_version, "versions")},
    {.name = "secrets", TYPE_STRINGS, DEFAULTS, .read = read_variable_names},
    {.name = "cwd", TYPE_STRING, DEFAULTS, FORM_TEMPLATE, AT(directory)},
    {.name = "job_dir", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(make_job_dir)},
    {.name = "separate_streams", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(separate_streams)},
    {.name = "timeout", TYPE_TIME, DEFAULTS, FORM_LIMIT, AT(timeout), .where = AT(timeout_at)},
    {.name = "idle_timeout", TYPE_TIME, DEFAULTS, FORM_LIMIT, AT(idle_timeout), .where = AT(idle_timeout_at)},
    {.name = "startup_timeout", TYPE_TIME, DEFAULTS, FORM_LIMIT, AT(startup_timeout), .where = AT(startup_timeout_at)},
    {.name = "grace", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(grace_ms)},
    {.name = "repeat", TYPE_INT, DEFAULTS, FORM_COUNT, AT(repeat), 1, 1000000},
    {.name = "keep_files", TYPE_STRINGS, DEFAULTS, FORM_STRINGS, AT(keep_files)},
    {.name = "keep_files_size", TYPE_STRING, DEFAULTS, FORM_SIZE, AT(keep_files_size)},
    {.name = "profile", TYPE_TABLE, DEFAULTS, FORM_TABLE, .of = &schema_job_profile},
    {.name = "metrics",
     TYPE_TABLE,
     DEFAULTS,
     EACH(AT(metric_count), read_metric, "metrics"),
     .of = &schema_metric,
     .named = true},
    {.name = "file", TYPE_TABLES, FILE_SWEEP, .read = read_job_files, .of = &schema_job_file},
};
const struct schema schema_job = {"[job]", SCHEMA_KEYS(job_keys)};

void finish_job(struct job_config *job)
{
    job->make_job_dir |= needs_job_dir(job);
}
