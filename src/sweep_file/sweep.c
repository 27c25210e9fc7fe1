#include <stdlib.h>
#include <string.h>

#include "config/model_space.h"
#include "config/own_metrics.h"
#include "config/template.h"
#include "sweep_file/reader.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "util/buffer.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

#define NAME_LONGEST 200

/* Adds what is not there yet. */
static void list_add(char ***list, const char *text)
{
    size_t count = 0;
    if (strings_have(*list, text))
        return;
    while (*list && (*list)[count])
        count++;
    *list = xreallocarray(*list, count + 2, sizeof **list);
    (*list)[count] = xstrdup(text);
    (*list)[count + 1] = NULL;
}

static void gather_objectives(const struct reading *r, const struct toml_node *node)
{
    struct words *objectives = &r->gathered->objectives;
    words_free(objectives);
    if (node->kind == NODE_STRING)
        words_add(objectives, node->text, reading_at_value(r, node));
    for (size_t i = 0; i < node->child_count; i++)
        words_add(objectives, node->children[i].text, reading_at_value(r, &node->children[i]));
}

#define MOST_CONSTRAINTS 100

static void constraints_clear(struct sweep *s)
{
    for (size_t i = 0; i < s->constraint_count; i++)
        free(s->constraints[i].text);
    free(s->constraints);
    s->constraints = NULL;
    s->constraint_count = 0;
}

static void add_constraint(const struct reading *r, const struct toml_node *node)
{
    struct sweep *s = r->sweep;
    if (!check_not_blank(r, node, "subject_to"))
        return;
    *array_add(s->constraints, s->constraint_count) =
        (struct sweep_constraint){xstrdup(node->text), reading_at_value(r, node)};
}

/* The file's take the place of a profile's. */
static void read_constraints(const struct reading *r, const struct toml_node *node)
{
    constraints_clear(r->sweep);
    if (node->child_count > MOST_CONSTRAINTS) {
        problem_at_value(r, node, "more than %d constraints", MOST_CONSTRAINTS);
        return;
    }
    if (node->kind == NODE_STRING)
        add_constraint(r, node);
    for (size_t i = 0; node->kind == NODE_LIST && i < node->child_count; i++)
        add_constraint(r, &node->children[i]);
}

static void gather_keys(const struct reading *r, const struct toml_node *list, struct words *out)
{
    if (!check_entry_count(r, list, out->count, "keys"))
        return;
    for (size_t i = 0; i < list->child_count; i++) {
        const struct toml_node *key = &list->children[i];
        size_t length = template_name_length(key->text);
        if (length == 0 || key->text[length])
            problem_at_value(r, key, "\"%s\" cannot be a key", key->text);
        else
            words_add(out, key->text, reading_at_value(r, key));
    }
}

static void read_rule_names(const struct reading *r, const struct toml_node *list)
{
    const bool are_sets = strcmp(list->key, "rule_sets") == 0;
    struct word_list *out = are_sets ? &r->sweep->rule_sets : &r->sweep->disabled_rules;
    if (!check_entry_count(r, list, out->count, "names"))
        return;
    for (size_t i = 0; i < list->child_count; i++) {
        const char *text = list->children[i].text;
        const struct position at = reading_at_value(r, &list->children[i]);
        if (check_entry_name(r, at, text, are_sets ? "rule set" : "rule"))
            word_list_add(out, text, at);
    }
}

/* The file's take the place of a profile's. */
void read_key_names(const struct reading *r, const struct toml_node *list, struct word_list *out)
{
    struct words keys = {NULL, 0};
    gather_keys(r, list, &keys);
    word_list_clear(out);
    for (size_t i = 0; i < keys.count; i++)
        word_list_add(out, keys.items[i].text, keys.items[i].at);
    words_free(&keys);
}

/* It stands on lines for people and in names of files. */
static void read_name(const struct reading *r, const struct toml_node *name)
{
    if (!check_not_blank(r, name, "name"))
        return;
    if (strlen(name->text) > NAME_LONGEST)
        problem_at_value(r, name, "name is longer than %d bytes; use description for longer text", NAME_LONGEST);
    else
        text_replace(&r->sweep->name, xstrdup(name->text));
}

static void read_groups(const struct reading *r, const struct toml_node *list)
{
    read_key_names(r, list, &r->sweep->groups);
    r->sweep->groups_given = true;
}

static void gather_names(const struct reading *r, const struct toml_node *list)
{
    const bool are_notes = strcmp(list->key, "note") == 0;
    gather_keys(r, list, are_notes ? &r->gathered->notes : &r->gathered->list_values);
}

/* No key has a place in it: a run has all values of them. */
static void read_on_end(const struct reading *r, const struct toml_node *node)
{
    if (node->kind == NODE_LIST && node->child_count == 0) {
        problem_at_value(r, node, "on_end is empty; give the program and its arguments");
        return;
    }
    if (!check_not_blank(r, node->kind == NODE_STRING ? node : node->children, "on_end"))
        return;
    strings_free(r->sweep->on_end);
    r->sweep->on_end = node->kind == NODE_STRING ? shell_command(node->text) : toml_strings(node);
}

#define AT(member) offsetof(struct sweep, member)

static const struct schema_key sweep_keys[] = {
    {.name = "name", TYPE_STRING, FILE_SWEEP, .read = read_name},
    {.name = "description", TYPE_STRING, FILE_SWEEP, FORM_STRING, AT(description)},
    {.name = "objective", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = gather_objectives},
    {.name = "subject_to", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = read_constraints},
    {.name = "note", TYPE_STRINGS, DEFAULTS, .read = gather_names},
    {.name = "replicate", TYPE_STRINGS, DEFAULTS, FORM_KEYS, AT(replicates)},
    {.name = "group_by", TYPE_STRINGS, DEFAULTS, .read = read_groups},
    /* An included file says itself which of its lists are values. */
    {.name = "list_values", TYPE_STRINGS, EVERY, .read = gather_names},
    {.name = "disable_rules", TYPE_STRINGS, DEFAULTS, .read = read_rule_names},
    {.name = "rule_sets", TYPE_STRINGS, DEFAULTS, .read = read_rule_names},
    {.name = "seed", TYPE_INT, FILE_SWEEP, FORM_INT, AT(seed)},
    {.name = "on_end", TYPE_STRING | TYPE_STRINGS, FILE_SWEEP, .read = read_on_end},
    {.name = "on_end_timeout", TYPE_TIME, FILE_SWEEP, FORM_DURATION, AT(on_end_timeout_ms), 1},
    {.name = "share", TYPE_BOOL, FILE_SWEEP, FORM_BOOL, AT(share)},
    {.name = "checksums", TYPE_BOOL, FILE_SWEEP, FORM_BOOL, AT(checksums)},
};
const struct schema schema_sweep = {"[sweep]", SCHEMA_KEYS(sweep_keys)};

/* --- what needs all files --- */

static const char *nearest_metric(const struct job_config *job, const char *name)
{
    const char **names = xreallocarray(NULL, job->metric_count, sizeof *names);
    for (size_t i = 0; i < job->metric_count; i++)
        names[i] = job->metrics[i].name;
    const char *near = suggest_nearest(name, names, job->metric_count);
    free(names);
    return near;
}

/* A metric may come from $MESHSWEEP_METRICS without a word in the file: then only the objective can say which way is
 * better. */
static bool own_direction(const struct reading *r, const struct word *word, bool *maximise)
{
    const struct job_config *job = &r->sweep->job;
    const struct metric *metric = job_find_metric(job, word->text);
    if (metric) {
        *maximise = metric->maximise;
        return true;
    }
    if (problems_excused(r->problems, word->text))
        return false;
    const char *near = nearest_metric(job, word->text);
    if (near)
        problems_add(r->problems, word->at, "objective: there is no metric \"%s\"; did you mean \"%s\"?", word->text,
                     near);
    else
        problems_add(r->problems, word->at,
                     "objective: the direction of \"%s\" is missing; write \"max:%s\" or \"min:%s\"", word->text,
                     word->text, word->text);
    return false;
}

/* A table's word on a metric's direction holds: a latency is never made longer by a slip of the objective. */
static bool direction_agrees(const struct reading *r, const struct word *word, const char *name, bool maximise)
{
    const struct metric *m = job_find_metric(&r->sweep->job, name);
    if (!m || !m->better_given || m->maximise == maximise)
        return true;
    problems_add(r->problems, word->at, "objective: \"%s\" contradicts better = \"%s\" of \"%s\" (%s:%d)", word->text,
                 m->maximise ? "max" : "min", name, m->at.file, m->at.line);
    return false;
}

/* Metrics that every attempt has need no table, but have a unit. */
static void declare_own_metric(const struct reading *r, const struct word *word, const char *name)
{
    struct job_config *job = &r->sweep->job;
    const enum own_metric own = own_metric_by_name(name);
    if (!own || job_find_metric(job, name))
        return;
    *array_add(job->metrics, job->metric_count) = (struct metric){.name = xstrdup(name),
                                                                  .reader = READER_FILE,
                                                                  .unit = xstrdup(own_metrics[own].unit),
                                                                  .take = TAKE_MEDIAN,
                                                                  .at = word->at};
}

/* A job that comes from a table has what the table gives, what is worked out from that, and what every attempt has.
 * Where the table gives no metric at all, [import] is at fault. */
static bool has_source(const struct reading *r, const struct word *word, const char *name)
{
    const struct sweep *s = r->sweep;
    const struct metric *metric = job_find_metric(&s->job, name);
    bool has = !sweep_is_imported(s) || own_metric_by_name(name) || (metric && metric->reader == READER_EXPRESSION);
    size_t given = 0;
    for (size_t i = 0; i < s->import.column_count; i++) {
        given += s->import.columns[i].is_metric;
        has |= s->import.columns[i].is_metric && strcmp(s->import.columns[i].name, name) == 0;
    }
    has |= given == 0;
    if (!has && !problems_excused(r->problems, name))
        problems_add(r->problems, word->at, "objective: jobs come from a table, but [import.metrics] has no \"%s\"",
                     name);
    return has;
}

static void finish_objective(const struct reading *r, const struct word *word)
{
    struct sweep *s = r->sweep;
    const char *colon = strchr(word->text, ':');
    const char *name = colon ? colon + 1 : word->text;
    bool maximise = strncmp(word->text, "max:", 4) == 0;
    if (colon && !maximise && strncmp(word->text, "min:", 4) != 0) {
        problems_add(r->problems, word->at, "objective: \"%s\" must begin with \"max:\" or \"min:\"", word->text);
        return;
    }
    declare_own_metric(r, word, name);
    if (!check_entry_name(r, word->at, name, "metric") || (!colon && !own_direction(r, word, &maximise)))
        return;
    if (!direction_agrees(r, word, name, maximise) || !has_source(r, word, name))
        return;
    for (size_t i = 0; i < s->objective_count; i++) {
        if (strcmp(s->objectives[i].metric, name) == 0) {
            problems_add(r->problems, word->at, "objective: \"%s\" is listed twice", name);
            return;
        }
    }
    *array_add(s->objectives, s->objective_count) = (struct objective){.metric = xstrdup(name), .maximise = maximise};
}

#define MOST_OBJECTIVES 100

void finish_objectives(const struct reading *r)
{
    const struct words *objectives = &r->gathered->objectives;
    if (objectives->count > MOST_OBJECTIVES) {
        problems_add(r->problems, objectives->items[0].at, "more than %d objectives", MOST_OBJECTIVES);
        return;
    }
    for (size_t i = 0; i < objectives->count; i++)
        finish_objective(r, &objectives->items[i]);
}

/* dsat's names of what the profile "deepspeed" calls otherwise, where the sweep does not know them. */
static const char *usual_name(const struct sweep *s, const char *text)
{
    static const char *const names[][2] = {{"FLOPS_per_gpu", "flops_per_gpu"}, {"forward", "fwd"}, {"backward", "bwd"}};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(text, names[i][0]) == 0 && !job_find_metric(&s->job, text) && job_find_metric(&s->job, names[i][1]))
            return names[i][1];
    return text;
}

int sweep_set_objective(struct sweep *s, const char *text, struct error *e)
{
    text = usual_name(s, text);
    struct problems problems = PROBLEMS_INIT;
    const struct reading r = {.sweep = s, .problems = &problems, .file = s->path};
    const struct word word = {text, {NULL, 0, 0}};
    struct buffer identity = BUFFER_INIT;
    for (size_t i = 0; i < s->objective_count; i++)
        free(s->objectives[i].metric);
    s->objective_count = 0;
    finish_objective(&r, &word);
    buffer_add(&identity, s->hash.bytes, sizeof s->hash.bytes);
    buffer_add_text(&identity, text);
    s->hash = hash_bytes(identity.data, identity.length);
    buffer_free(&identity);
    int rc = problems_report(&problems, s->files, e);
    problems_free(&problems);
    return rc;
}

void sweep_set_condition(struct sweep *s, const char *text, const char *option)
{
    constraints_clear(s);
    s->constraints = array_grow(s->constraints, 0, sizeof *s->constraints);
    s->constraints[s->constraint_count++] = (struct sweep_constraint){xstrdup(text), {option, 0, 0}};
}

void finish_labels(const struct reading *r)
{
    /* The name of what a table has and nothing runs may be all that tells two models apart. */
    if (!(r->sweep->import.given && !r->sweep->job.command))
        list_add(&r->sweep->labels, "name");
    list_add(&r->sweep->labels, "description");
    for (size_t i = 0; i < r->gathered->notes.count; i++)
        list_add(&r->sweep->labels, r->gathered->notes.items[i].text);
}

void derived_free(void *entry)
{
    struct derived *d = entry;
    free_all(d->name, d->expression);
}

void metric_free(struct metric *m)
{
    free_all(m->name, m->expression, m->pattern, m->path, m->file, m->numerator);
    schema_release(&schema_metric, m);
    if (m->fallback)
        metric_free(m->fallback);
    free(m->fallback);
}

static void free_settings(struct setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free_all(settings[i].name, settings[i].value);
    }
    free(settings);
}

static void free_job(struct job_config *job)
{
    strings_free(job->command);
    strings_free(job->pass_environment);
    strings_free(job->secrets);
    free_settings(job->environment, job->environment_count);
    free_settings(job->versions, job->version_count);
    for (size_t i = 0; i < job->metric_count; i++)
        metric_free(&job->metrics[i]);
    free(job->metrics);
    job_files_free(job);
}

static void free_failures(struct sweep *s)
{
    for (size_t i = 0; i < s->failure_count; i++)
        schema_release(&schema_failure, &s->failures[i]);
    free(s->failures);
    for (size_t i = 0; i < s->retry_count; i++)
        free(s->retries[i].class_name);
    free(s->retries);
}

static void free_space(struct sweep *s)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        section_clear(&s->sections[kind]);
}

static void free_deepspeed(struct deepspeed_settings *d)
{
    strings_free(d->sections);
    free_settings(d->arguments, d->argument_count);
}

static void free_model_info(struct model_info_config *m)
{
    strings_free(m->command);
    for (size_t i = 0; i < m->key_count; i++) {
        free(m->keys[i].name);
        value_free(&m->keys[i].value);
    }
    free(m->keys);
}

void word_list_clear(struct word_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].text);
    free(list->items);
    *list = (struct word_list){0};
}

void sweep_free(struct sweep *s)
{
    static const struct schema *const tables[] = {&schema_sweep,      &schema_job,        &schema_deepspeed,
                                                  &schema_model_info, &schema_predict,    &schema_import,
                                                  &schema_slurm,      &schema_executor,   &schema_ssh,
                                                  &schema_local,      &schema_job_profile};
    static const struct entries *const kinds[] = {&derived_entries, &rule_entries,  &synonym_entries,
                                                  &inert_entries,   &order_entries, &was_entries};
    if (!s)
        return;
    free_all(s->path, s->text);
    /* The two may have changed places, and only [executor] has these. */
    strings_free(s->batch_other.set);
    strings_free(s->batch.set);
    free(s->batch.name);
    strings_free(s->files);
    strings_free(s->profile_names);
    free_all(s->profile_text, s->name);
    for (size_t i = 0; i < s->objective_count; i++)
        free(s->objectives[i].metric);
    free(s->objectives);
    constraints_clear(s);
    strings_free(s->labels);
    strings_free(s->on_end);
    word_list_clear(&s->groups);
    word_list_clear(&s->disabled_rules);
    word_list_clear(&s->rule_sets);
    search_stages_clear(&s->search);
    free_space(s);
    free_failures(s);
    free_job(&s->job);
    fixtures_release(s);
    free_deepspeed(&s->deepspeed);
    free_model_info(&s->model_info);
    model_space_table_free(s->model_space);
    predict_free(&s->predict);
    device_table_free(&s->devices);
    import_free(&s->import);
    free(s->local.device_names);
    for (size_t i = 0; i < LENGTH(tables); i++)
        schema_release(tables[i], s);
    for (size_t i = 0; i < LENGTH(kinds); i++)
        entries_release(kinds[i], s);
    free(s);
}
