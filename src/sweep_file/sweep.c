#include <stdlib.h>
#include <string.h>

#include "config/model_space.h"
#include "config/own_metrics.h"
#include "config/template.h"
#include "sweep_file/reader.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/string_list.h"

#define NAME_LONGEST 200

static void gather_objectives(const struct reading *r, const struct toml_node *node)
{
    size_t count;
    const struct toml_node *texts = toml_texts(node, &count);
    r->gathered->objectives.count = 0;
    for (size_t i = 0; i < count; i++)
        words_add(r, &r->gathered->objectives, texts[i].text, reading_at_value(r, &texts[i]));
}

#define MOST_CONSTRAINTS 100

/* The file's take the place of a profile's. */
static void read_constraints(const struct reading *r, const struct toml_node *node)
{
    struct sweep *s = r->sweep;
    size_t count;
    const struct toml_node *texts = toml_texts(node, &count);
    s->constraint_count = 0;
    if (count > MOST_CONSTRAINTS)
        problem_at_value(r, node, "more than %d constraints", MOST_CONSTRAINTS);
    for (size_t i = 0; i < count && count <= MOST_CONSTRAINTS; i++)
        if (check_not_blank(r, &texts[i], "subject_to"))
            *arena_add(r->arena, s->constraints, s->constraint_count) =
                (struct sweep_constraint){arena_text(r->arena, texts[i].text), reading_at_value(r, &texts[i])};
}

/* Adds the keys of a list; `once`: those that are not there yet. */
static void add_keys(const struct reading *r, const struct toml_node *list, struct word_list *out, bool once)
{
    if (!check_entry_count(r, list, out->count, "keys"))
        return;
    for (size_t i = 0; i < list->child_count; i++) {
        const struct toml_node *key = &list->children[i];
        if (!template_is_name(key->text))
            problem_at_value(r, key, "\"%s\" cannot be a key", key->text);
        else if (!once || !word_list_has(out, key->text))
            words_add(r, out, arena_text(r->arena, key->text), reading_at_value(r, key));
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
            word_list_add(r->arena, out, text, at);
    }
}

/* The file's take the place of a profile's. */
void read_key_names(const struct reading *r, const struct toml_node *list, struct word_list *out)
{
    *out = (struct word_list){0};
    add_keys(r, list, out, true);
}

/* It stands on lines for people and in names of files. */
static void read_name(const struct reading *r, const struct toml_node *name)
{
    if (!check_not_blank(r, name, "name"))
        return;
    if (strlen(name->text) > NAME_LONGEST)
        problem_at_value(r, name, "name is longer than %d bytes; use description for longer text", NAME_LONGEST);
    else
        r->sweep->name = arena_text(r->arena, name->text);
}

static void read_groups(const struct reading *r, const struct toml_node *list)
{
    read_key_names(r, list, &r->sweep->groups);
    r->sweep->groups_given = true;
}

static void gather_names(const struct reading *r, const struct toml_node *list)
{
    const bool are_notes = strcmp(list->key, "note") == 0;
    add_keys(r, list, are_notes ? &r->gathered->notes : &r->gathered->list_values, false);
}

/* No key has a place in it: a run has all values of them. */
static void read_on_end(const struct reading *r, const struct toml_node *node)
{
    size_t count;
    const struct toml_node *texts = toml_texts(node, &count);
    if (count == 0)
        problem_at_value(r, node, "on_end is empty; give the program and its arguments");
    else if (check_not_blank(r, texts, "on_end"))
        r->sweep->on_end = node->kind == NODE_STRING ? shell_command(r, node->text) : toml_strings(r->arena, node);
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
    {.name = "on_end_timeout", TYPE_TIME, FILE_SWEEP, FORM_DURATION, AT(on_end_timeout_ms), 1, .otherwise = 60000},
    {.name = "share", TYPE_BOOL, FILE_SWEEP, FORM_BOOL, AT(share)},
    {.name = "checksums", TYPE_BOOL, FILE_SWEEP, FORM_BOOL, AT(checksums)},
};
const struct schema schema_sweep = {"[sweep]", SCHEMA_KEYS(sweep_keys)};

/* --- what needs all files --- */

/* A metric may come from $MESHSWEEP_METRICS without a word in the file: then only the objective can say which way is
 * better. */
static bool own_direction(const struct reading *r, const struct listed_word *word, bool *maximise)
{
    const struct job_config *job = &r->sweep->job;
    const struct metric *metric = job_find_metric(job, word->text);
    if (metric) {
        *maximise = metric->maximise;
        return true;
    }
    if (problems_excused(r->problems, word->text))
        return false;
    OWNED char *hint = hint_among(word->text, job->metrics, job->metric_count, sizeof *job->metrics);
    if (*hint)
        problems_add(r->problems, word->at, "objective: there is no metric \"%s\"%s", word->text, hint);
    else
        problems_add(r->problems, word->at,
                     "objective: the direction of \"%s\" is missing; write \"max:%s\" or \"min:%s\"", word->text,
                     word->text, word->text);
    return false;
}

/* A table's word on a metric's direction holds: a latency is never made longer by a slip of the objective. */
static bool direction_agrees(const struct reading *r, const struct listed_word *word, const char *name, bool maximise)
{
    const struct metric *m = job_find_metric(&r->sweep->job, name);
    if (!m || !m->better_given || m->maximise == maximise)
        return true;
    problems_add(r->problems, word->at, "objective: \"%s\" contradicts better = \"%s\" of \"%s\" (%s:%d)", word->text,
                 m->maximise ? "max" : "min", name, m->at.file, m->at.line);
    return false;
}

/* Metrics that every attempt has need no table, but have a unit. */
static void declare_own_metric(const struct reading *r, const struct listed_word *word, const char *name)
{
    struct job_config *job = &r->sweep->job;
    const enum own_metric own = own_metric_by_name(name);
    if (!own || job_find_metric(job, name))
        return;
    *arena_add(r->arena, job->metrics, job->metric_count) =
        (struct metric){.name = arena_text(r->arena, name),
                        .reader = READER_FILE,
                        .unit = arena_text(r->arena, own_metrics[own].unit),
                        .take = TAKE_MEDIAN,
                        .at = word->at};
}

/* A job that comes from a table has what the table gives, what is worked out from that, and what every attempt has.
 * Where the table gives no metric at all, [import] is at fault. */
static bool has_source(const struct reading *r, const struct listed_word *word, const char *name)
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

static void finish_objective(const struct reading *r, const struct listed_word *word)
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
    *arena_add(r->arena, s->objectives, s->objective_count) = (struct objective){arena_text(r->arena, name), maximise};
}

#define MOST_OBJECTIVES 100

void finish_objectives(const struct reading *r)
{
    const struct word_list *objectives = &r->gathered->objectives;
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
    const struct reading r = {.sweep = s, .arena = &s->arena, .problems = &problems, .file = s->path};
    const struct listed_word word = {text, {NULL, 0, 0}};
    OWNED_BUFFER identity = BUFFER_INIT;
    s->objective_count = 0;
    finish_objective(&r, &word);
    buffer_add(&identity, s->hash.bytes, sizeof s->hash.bytes);
    buffer_add_text(&identity, text);
    s->hash = hash_bytes(identity.data, identity.length);
    int rc = problems_report(&problems, s->files, e);
    problems_free(&problems);
    return rc;
}

/* Adds what is not there yet. */
static void add_label(const struct reading *r, const char *text)
{
    if (!strings_have(r->sweep->labels, text))
        texts_add(r->arena, &r->sweep->labels, text);
}

void finish_labels(const struct reading *r)
{
    /* The name of what a table has and nothing runs may be all that tells two models apart. */
    if (!(r->sweep->import.given && !r->sweep->job.command.words))
        add_label(r, "name");
    add_label(r, "description");
    for (size_t i = 0; i < r->gathered->notes.count; i++)
        add_label(r, r->gathered->notes.items[i].text);
}

void sweep_free(struct sweep *s)
{
    if (s)
        arena_free(&s->arena);
    free(s);
}

void sweep_release(struct sweep **at)
{
    sweep_free(*at);
}
