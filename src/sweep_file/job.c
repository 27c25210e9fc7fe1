#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/values.h"
#include "util/memory.h"
#include "util/parse.h"

#define MOST_REPEATS 1000000

static void replace_list(char ***list, char **with)
{
    strings_free(*list);
    *list = with;
}

/* --- command, environment, directory --- */

static char **shell_command(const char *line)
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

static void read_variable(const struct reading *r, const struct toml_node *node)
{
    const unsigned types = TYPE_STRING | TYPE_NUMBER | TYPE_BOOL;
    if (!is_variable_name(node->key)) {
        problem_at_key(r, node, "\"%s\" cannot be the name of an environment variable", node->key);
        return;
    }
    if (!schema_expect(r, node, node->key, types) || !check_finite(r, node))
        return;
    if (node->kind == NODE_STRING && !check_template(r, node))
        return;
    struct job_config *job = &r->sweep->job;
    struct setting *setting = setting_slot(&job->environment, &job->environment_count, node->key);
    text_replace(&setting->value, constant_text(node));
    setting->at = reading_at_key(r, node);
}

static void read_environment(const struct reading *r, const struct toml_node *table)
{
    if (!check_entry_count(r, table, r->sweep->job.environment_count, "environment variables"))
        return;
    for (size_t i = 0; i < table->child_count; i++)
        read_variable(r, &table->children[i]);
}

static void read_versions(const struct reading *r, const struct toml_node *table)
{
    struct job_config *job = &r->sweep->job;
    if (!check_entry_count(r, table, job->version_count, "versions"))
        return;
    for (size_t i = 0; i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        if (!schema_expect(r, node, node->key, TYPE_STRING))
            continue;
        check_not_blank(r, node, node->key);
        struct setting *version = setting_slot(&job->versions, &job->version_count, node->key);
        text_replace(&version->value, xstrdup(node->text));
        version->at = reading_at_key(r, node);
    }
}

/* "*" and "HF_*": a name so far. */
static bool is_name_pattern(const char *text)
{
    char *beginning = xstrndup(text, strcspn(text, "*"));
    bool good = strcmp(text + strlen(beginning), "*") == 0 && (!*beginning || is_variable_name(beginning));
    free(beginning);
    return good;
}

static void read_variable_names(const struct reading *r, const struct toml_node *list, bool patterns, char ***out)
{
    for (size_t i = 0; i < list->child_count; i++)
        if (!is_variable_name(list->children[i].text) && !(patterns && is_name_pattern(list->children[i].text)))
            problem_at_value(r, &list->children[i], "\"%s\" cannot be the name of an environment variable",
                             list->children[i].text);
    replace_list(out, toml_strings(list));
}

/* --- times --- */

/* "ten minutes": a word for a time after another word, and no sign of SQL. */
static bool is_time_in_words(const char *text)
{
    static const char *const words[] = {" second", " sec", " minute", " min", " hour", " day", " week"};
    if (text[strspn(text, " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")] != '\0')
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
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

void read_timeout(const struct reading *r, const struct toml_node *node, char **out, struct position *at)
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
    *at = reading_at_value(r, node);
}

/* --- all of it --- */

static bool names_job_dir(const char *text)
{
    return strstr(text, "{job_dir}") || strstr(text, "MESHSWEEP_JOB_DIR");
}

/* A directory that is named must be there; so must one that a metric is read from, or that files are put into. */
static bool needs_job_dir(const struct job_config *job)
{
    if (job->separate_streams)
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

static void read_times(const struct reading *r, const struct toml_node *const *found)
{
    struct job_config *job = &r->sweep->job;
    if (found[JOB_TIMEOUT])
        read_timeout(r, found[JOB_TIMEOUT], &job->timeout, &job->timeout_at);
    if (found[JOB_IDLE_TIMEOUT])
        read_timeout(r, found[JOB_IDLE_TIMEOUT], &job->idle_timeout, &job->idle_timeout_at);
    if (found[JOB_STARTUP_TIMEOUT])
        read_timeout(r, found[JOB_STARTUP_TIMEOUT], &job->startup_timeout, &job->startup_timeout_at);
    if (found[JOB_GRACE])
        read_duration(r, found[JOB_GRACE], &r->sweep->job.grace_ms);
}

void read_job(const struct reading *r, const struct toml_node *table)
{
    struct job_config *job = &r->sweep->job;
    const struct toml_node *found[JOB_COUNT];
    schema_match(&schema_job, r, table, found);
    if (found[JOB_COMMAND])
        read_command(r, found[JOB_COMMAND], &job->command, &job->command_is_line, &job->command_at);
    if (found[JOB_ENV])
        read_environment(r, found[JOB_ENV]);
    if (found[JOB_VERSIONS])
        read_versions(r, found[JOB_VERSIONS]);
    if (found[JOB_PASS_ENV])
        read_variable_names(r, found[JOB_PASS_ENV], true, &job->pass_environment);
    if (found[JOB_SECRETS])
        read_variable_names(r, found[JOB_SECRETS], false, &job->secrets);
    if (found[JOB_CWD] && check_not_blank(r, found[JOB_CWD], "cwd") && check_template(r, found[JOB_CWD]))
        text_replace(&job->directory, xstrdup(found[JOB_CWD]->text));
    if (found[JOB_REPEAT] && check_range(r, found[JOB_REPEAT], 1, MOST_REPEATS))
        job->repeat = found[JOB_REPEAT]->integer;
    read_times(r, found);
    if (found[JOB_METRICS])
        read_metrics(r, found[JOB_METRICS]);
    if (found[JOB_JOB_DIR])
        job->make_job_dir = found[JOB_JOB_DIR]->integer;
    if (found[JOB_SEPARATE_STREAMS])
        job->separate_streams = found[JOB_SEPARATE_STREAMS]->integer;
}

void finish_job(struct job_config *job)
{
    job->make_job_dir |= needs_job_dir(job);
}
