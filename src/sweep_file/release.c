/* What reading a sweep file made, released. */
#include <stdlib.h>

#include "config/model_space.h"
#include "sweep_file/reader.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/values.h"
#include "util/memory.h"

void derived_free(void *entry)
{
    struct derived *d = entry;
    free(d->name);
    free(d->expression);
}

void metric_free(struct metric *m)
{
    free(m->name);
    free(m->expression);
    free(m->pattern);
    free(m->path);
    free(m->file);
    free(m->numerator);
    schema_release(&schema_metric, m);
    if (m->fallback)
        metric_free(m->fallback);
    free(m->fallback);
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
    strings_free(job->command);
    strings_free(job->pass_environment);
    strings_free(job->secrets);
    free(job->directory);
    free_settings(job->environment, job->environment_count);
    free_settings(job->versions, job->version_count);
    for (size_t i = 0; i < job->metric_count; i++)
        metric_free(&job->metrics[i]);
    free(job->metrics);
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

void constraints_clear(struct sweep *s)
{
    for (size_t i = 0; i < s->constraint_count; i++)
        free(s->constraints[i].text);
    free(s->constraints);
    s->constraints = NULL;
    s->constraint_count = 0;
}

void sweep_free(struct sweep *s)
{
    static const struct schema *const tables[] = {&schema_sweep,      &schema_job,     &schema_deepspeed,
                                                  &schema_model_info, &schema_predict, &schema_import,
                                                  &schema_slurm,      &schema_local};
    static const struct entries *const kinds[] = {&derived_entries, &rule_entries, &synonym_entries, &inert_entries,
                                                  &order_entries};
    if (!s)
        return;
    free(s->path);
    free(s->text);
    strings_free(s->files);
    strings_free(s->profile_names);
    free(s->profile_text);
    free(s->name);
    for (size_t i = 0; i < s->objective_count; i++)
        free(s->objectives[i].metric);
    free(s->objectives);
    constraints_clear(s);
    strings_free(s->labels);
    word_list_clear(&s->groups);
    word_list_clear(&s->disabled_rules);
    word_list_clear(&s->rule_sets);
    search_stages_clear(&s->search);
    free_space(s);
    free_failures(s);
    free_job(&s->job);
    free_deepspeed(&s->deepspeed);
    free_model_info(&s->model_info);
    model_space_table_free(s->model_space);
    predict_free(&s->predict);
    device_table_free(&s->devices);
    import_free(&s->import);
    free(s->local.device_names);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        schema_release(tables[i], s);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        entries_release(kinds[i], s);
    free(s);
}
