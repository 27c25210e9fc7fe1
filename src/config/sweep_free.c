#include <stdlib.h>

#include "config/model_space.h"
#include "config/sections.h"
#include "config/sweep.h"

static void free_list(char **list)
{
    for (char **p = list; p && *p; p++)
        free(*p);
    free(list);
}

void derived_free(struct derived *d)
{
    free(d->name);
    free(d->expression);
}

void rule_free(struct rule *rule)
{
    free(rule->name);
    free(rule->require);
    free(rule->when);
    free(rule->why);
    free(rule->source);
}

void synonym_free(struct synonym *s)
{
    free(s->name);
    free_list(s->keys);
}

void inert_free(struct inert *i)
{
    free(i->key);
    free(i->condition);
}

void metric_free(struct metric *m)
{
    free(m->name);
    free(m->pattern);
    free(m->path);
    free(m->file);
    free(m->unit);
    free(m->numerator);
    if (m->fallback)
        metric_free(m->fallback);
    free(m->fallback);
}

void axis_free(struct axis *axis)
{
    for (size_t k = 0; k < axis->key_count; k++)
        free(axis->keys[k]);
    for (size_t i = 0; i < axis->value_count * axis->key_count; i++)
        value_free(&axis->values[i]);
    free(axis->keys);
    free(axis->values);
}

void block_clear(struct block *block)
{
    for (size_t a = 0; a < block->axis_count; a++)
        axis_free(&block->axes[a]);
    free(block->axes);
}

void section_clear(struct section *section)
{
    for (size_t b = 0; b < section->block_count; b++)
        block_clear(&section->blocks[b]);
    free(section->blocks);
    *section = (struct section){NULL, 0};
}

static void free_settings(struct setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(settings[i].name);
        free(settings[i].value);
    }
    free(settings);
}

static void free_job(struct job_config *job)
{
    free_list(job->command);
    free_list(job->pass_environment);
    free_list(job->secrets);
    free(job->directory);
    free(job->timeout);
    free(job->idle_timeout);
    free(job->startup_timeout);
    free_settings(job->environment, job->environment_count);
    free_settings(job->versions, job->version_count);
    for (size_t i = 0; i < job->metric_count; i++)
        metric_free(&job->metrics[i]);
    free(job->metrics);
}

static void free_failures(struct sweep *s)
{
    for (size_t i = 0; i < s->failure_count; i++) {
        free(s->failures[i].class_name);
        free(s->failures[i].pattern);
        free(s->failures[i].source);
    }
    free(s->failures);
    for (size_t i = 0; i < s->retry_count; i++)
        free(s->retries[i].class_name);
    free(s->retries);
}

static void free_space(struct sweep *s)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        section_clear(&s->sections[kind]);
    for (size_t i = 0; i < s->derived_count; i++)
        derived_free(&s->derived[i]);
    free(s->derived);
    for (size_t i = 0; i < s->synonym_count; i++)
        synonym_free(&s->synonyms[i]);
    free(s->synonyms);
    for (size_t i = 0; i < s->inert_count; i++)
        inert_free(&s->inert[i]);
    free(s->inert);
    for (size_t i = 0; i < s->rule_count; i++)
        rule_free(&s->rules[i]);
    free(s->rules);
}

static void free_deepspeed(struct deepspeed_settings *d)
{
    free(d->config);
    free_list(d->sections);
    free_settings(d->arguments, d->argument_count);
}

static void free_model_info(struct model_info_config *m)
{
    free_list(m->command);
    free_list(m->without);
    for (size_t i = 0; i < m->key_count; i++) {
        free(m->keys[i].name);
        value_free(&m->keys[i].value);
    }
    free(m->timeout);
    free(m->keys);
}

static void free_words(struct word_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].text);
    free(list->items);
}

void sweep_free(struct sweep *s)
{
    if (!s)
        return;
    free(s->path);
    free(s->text);
    free_list(s->files);
    free_list(s->profile_names);
    free(s->profile_text);
    free(s->name);
    free(s->description);
    for (size_t i = 0; i < s->objective_count; i++)
        free(s->objectives[i].metric);
    free(s->objectives);
    free_list(s->labels);
    free_words(&s->disabled_rules);
    free_words(&s->rule_sets);
    free_space(s);
    free_failures(s);
    free_job(&s->job);
    free_deepspeed(&s->deepspeed);
    free_model_info(&s->model_info);
    model_space_table_free(s->model_space);
    predict_free(&s->predict);
    import_free(&s->import);
    slurm_config_free(&s->slurm);
    local_config_free(&s->local);
    free(s);
}
