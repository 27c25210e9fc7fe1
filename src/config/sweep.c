#include "config/sweep.h"

#include <string.h>

#include "config/failure.h"
#include "config/model_space.h"
#include "config/template.h"
#include "toml/known.h"
#include "util/memory.h"
#include "util/string_list.h"

bool sweep_is_label(const struct sweep *s, const char *key)
{
    return strings_have(s->labels, key);
}

bool sweep_is_replicate(const struct sweep *s, enum section_kind kind, const char *key)
{
    OWNED char *qualified = xasprintf("%s.%s", section_names[kind], key);
    return word_list_has(&s->replicates, key) || word_list_has(&s->replicates, qualified);
}

enum section_kind section_named(const char *name, size_t length)
{
    return FIRST(k, SECTION_COUNT, strlen(section_names[k]) == length && strncmp(section_names[k], name, length) == 0);
}

enum section_kind section_split(const char *text, const char **key)
{
    const char *dot = strchr(text, '.');
    const enum section_kind kind = dot ? section_named(text, (size_t)(dot - text)) : SECTION_COUNT;
    *key = kind < SECTION_COUNT ? dot + 1 : text;
    return kind;
}

bool axis_has(const struct axis *axis, const char *key)
{
    return ANY(k, axis->key_count, strcmp(axis->keys[k], key) == 0);
}

const struct axis *block_axis(const struct block *b, const char *key)
{
    return FIND(a, b->axis_count, axis_has(&b->axes[a], key), &b->axes[a]);
}

bool sweep_next_axis(const struct sweep *s, struct axis_place *at)
{
    for (; at->section <= at->last; at->section++, at->block = 0)
        for (const struct section *of = &s->sections[at->section]; at->block < of->block_count;
             at->block++, at->next = 0)
            if (at->next < of->blocks[at->block].axis_count) {
                at->axis = &of->blocks[at->block].axes[at->next++];
                return true;
            }
    return false;
}

bool word_list_has(const struct word_list *list, const char *text)
{
    return ANY(i, list->count, strcmp(list->items[i].text, text) == 0);
}

void word_list_add(struct arena *p, struct word_list *list, const char *text, struct position at)
{
    if (word_list_has(list, text))
        return;
    *arena_add(p, list->items, list->count) = (struct listed_word){arena_text(p, text), at};
}

struct metric *job_find_metric(const struct job_config *job, const char *name)
{
    return FIND(i, job->metric_count, strcmp(job->metrics[i].name, name) == 0, &job->metrics[i]);
}

const char *sweep_metric_unit(const struct sweep *s, const char *metric)
{
    const struct metric *m = job_find_metric(&s->job, metric);
    return m ? m->unit : "";
}

bool sweep_in_profile(const struct sweep *s, const struct position *at)
{
    size_t rank = 0;
    while (s->files && s->files[rank] && s->files[rank] != at->file)
        rank++;
    return s->files && s->files[rank] && rank >= s->profile_rank;
}

struct axis *block_add_key(struct arena *p, struct block *block, const char *key, const struct value *value,
                           struct position at)
{
    struct axis *axis = arena_add(p, block->axes, block->axis_count);
    *axis = (struct axis){.key_count = 1, .value_count = 1, .at = at};
    size_t count = 0;
    *arena_add(p, axis->keys, count) = arena_text(p, key);
    count = 0;
    *arena_add(p, axis->values, count) = *value;
    axis->values->text = value->text ? arena_text(p, value->text) : NULL;
    return axis;
}

bool sweep_is_imported(const struct sweep *s)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (s->sections[i].block_count > 0)
            return false;
    return s->import.given;
}

double sweep_least_share(const struct sweep *s)
{
    double least = s->local.jobs_per_device > 1 ? 1.0 / (double)s->local.jobs_per_device : 1;
    for (struct axis_place at = AXES_OF(SECTION_CLUSTER); sweep_next_axis(s, &at);)
        for (size_t v = 0; v < at.axis->value_count * at.axis->key_count; v++) {
            const struct value *value = axis_value(at.axis, v);
            if (strcmp(at.axis->keys[v % at.axis->key_count], "gpus") == 0 && value->kind == VALUE_FLOAT &&
                value->real > 0 && value->real < least)
                least = value->real;
        }
    return least;
}

bool sweep_ranks_configurations(const struct sweep *s)
{
    return s->replicates.count + s->groups.count > 0;
}

struct environment_passing job_passing(const struct job_config *job)
{
    return (struct environment_passing){job->pass_environment, job->secrets};
}

/* --- secrets that the sweep file itself contains --- */

static void add_parts(struct secrets *s, const char *value)
{
    struct arena scratch = {0};
    const struct template t = template_parse(&scratch, value, false);
    for (size_t i = 0; i < t.count; i++)
        if (!t.parts[i].is_placeholder)
            secrets_add(s, t.parts[i].text);
    arena_free(&scratch);
}

void declared_secrets_add_command(struct secrets *s, char *const *words)
{
    struct secrets found = {.names = s->names};
    secrets_add_command(&found, words);
    for (size_t i = 0; i < found.count; i++) {
        secrets_add(s, found.values[i]);
        add_parts(s, found.values[i]);
    }
    secrets_free(&found);
}

void declared_secrets_add(struct secrets *s, const struct sweep *sweep)
{
    s->names = sweep->job.secrets;
    if (sweep->job.command.words)
        declared_secrets_add_command(s, sweep->job.command.words);
    for (size_t i = 0; i < sweep->job.environment_count; i++) {
        const struct setting *setting = &sweep->job.environment[i];
        if (!secrets_match_name(setting->name, sweep->job.secrets)) {
            declared_secrets_add_command(s, (char *const[]){setting->value, NULL});
            continue;
        }
        secrets_add_escaped(s, setting->value);
        add_parts(s, setting->value);
    }
}

/* --- [model_space] --- */

const char *const dhen_key_names[DHEN_KEY_COUNT] = {
    [DHEN_KEY_FEATURES] = "num_features",
    [DHEN_KEY_EMB_DIM] = "emb_dim",
    [DHEN_KEY_OUTPUTS] = "output_per_emb",
    [DHEN_KEY_TOKENS] = "tokens",
};

const struct base_key *model_space_base_key(const struct model_space_table *m, const char *name)
{
    return FIND(i, m->base_count, strcmp(m->base[i].name, name) == 0, &m->base[i]);
}

/* --- failures --- */

#define NAME(id, name, attempts) name,
const char *const failure_names[FAILURE_COUNT + 1] = {"", FAILURES_DECLARABLE(NAME) "cancelled", NULL};

enum failure failure_by_name(const char *name)
{
    for (int i = 1; i < FAILURE_COUNT; i++)
        if (strcmp(failure_names[i], name) == 0)
            return (enum failure)i;
    return FAILURE_NONE;
}

bool failure_is_of_command(const char *message)
{
    return message && known_within(known("failure", "of_command"), message);
}
