#include "sweep_file/model_info_sweep.h"

#include <math.h>
#include <string.h>

#include "sweep_file/reader.h"
#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

#define ROLE "model-info"

bool model_info_wants_job(const struct sweep *s)
{
    return s->model_info.given && !s->model_info.is_job && isnan(s->model_info.facts[FACT_PARAMS]);
}

/* --- one combination --- */

/* The names stay: expressions may read them. */
static void drop_keys(struct block *block, char *const *without)
{
    for (size_t a = 0; a < block->axis_count; a++)
        for (size_t k = 0; k < block->axes[a].key_count; k++)
            if (strings_have(without, block->axes[a].keys[k]))
                block->axes[a].values[k] = (struct value){.kind = VALUE_NULL};
}

static void cut_section(struct section *section, char *const *without)
{
    if (section->block_count == 0)
        return;
    section->block_count = 1;
    for (size_t a = 0; a < section->blocks[0].axis_count; a++)
        section->blocks[0].axes[a].value_count = 1;
    drop_keys(&section->blocks[0], without);
}

static struct value *value_at(struct sweep *s, const char *key)
{
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(s, &at);)
        for (size_t k = 0; k < at.axis->key_count; k++)
            if (strcmp(at.axis->keys[k], key) == 0)
                return &at.axis->values[k];
    return NULL;
}

/* A key that no section has goes into the parallel_spec. */
static void put_key(struct sweep *s, const struct model_info_key *key)
{
    struct value *there = value_at(s, key->name);
    struct section *section = &s->sections[SECTION_PARALLEL];
    if (there) {
        *there = key->value;
        return;
    }
    if (section->block_count == 0)
        *arena_add(&s->arena, section->blocks, section->block_count) = (struct block){.at = key->at};
    block_add_key(&s->arena, &section->blocks[0], key->name, &key->value, key->at);
}

/* --- the job --- */

static void set_command(struct sweep *s)
{
    const struct model_info_config *m = &s->model_info;
    if (m->command.words)
        s->job.command = m->command;
    if (m->timeout) {
        s->job.timeout = m->timeout;
        s->job.timeout_at = m->timeout_at;
    }
}

/* The readers of the profile, which lives as long as the sweep. */
static int take_readers(struct sweep *s, struct error *e)
{
    static const char text[] = "profile = \"" ROLE "\"\n";
    OWNED_SWEEP *readers = NULL;
    if (sweep_parse(ROLE, text, sizeof text - 1, &readers, e) < 0)
        return -1;
    s->job.metrics = readers->job.metrics;
    s->job.metric_count = readers->job.metric_count;
    arena_take(&s->arena, &readers->arena);
    return 0;
}

static void set_objective(struct sweep *s)
{
    s->objective_count = 0;
    *arena_add(&s->arena, s->objectives, s->objective_count) =
        (struct objective){(char *)model_fact_names[FACT_PARAMS], true};
}

/* The job as JSON: its words and its combination. */
static char *describe(const struct sweep *s)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, "{\"role\": \"" ROLE "\", \"command\": [");
    for (char **word = s->job.command.words; word && *word; word++) {
        buffer_add_text(&b, word == s->job.command.words ? "" : ", ");
        buffer_add_json_string(&b, *word, strlen(*word));
    }
    buffer_add_char(&b, ']');
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(s, &at);)
        for (size_t k = 0; k < at.axis->key_count; k++) {
            OWNED char *name = xasprintf("%s.%s", section_names[at.section], at.axis->keys[k]);
            buffer_add_text(&b, ", ");
            buffer_add_json_string(&b, name, strlen(name));
            buffer_add_text(&b, ": ");
            value_add_json(&at.axis->values[k], &b);
        }
    buffer_add_text(&b, "}\n");
    return buffer_take(&b);
}

int model_info_sweep(const struct sweep *s, struct sweep **out, struct error *e)
{
    struct sweep *job;
    if (sweep_parse(s->path, s->text, strlen(s->text), &job, e) < 0)
        return -1;
    if (take_readers(job, e) < 0) {
        sweep_free(job);
        return -1;
    }
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        cut_section(&job->sections[kind], job->model_info.without);
    for (size_t i = 0; i < job->model_info.key_count; i++)
        put_key(job, &job->model_info.keys[i]);
    set_command(job);
    set_objective(job);
    *arena_add(&job->arena, job->job.environment, job->job.environment_count) =
        (struct setting){.name = "MESHSWEEP_ROLE", .value = ROLE};
    job->model_info.is_job = true;
    job->job.make_job_dir = true;
    job->job.repeat = 1;
    job->job.first_step = job->job.last_step = 0;
    job->predict.given = false;
    job->predict.prune = PRUNE_OFF;
    job->search.given = job->search.run_full_experiment = false;
    memset(job->deepspeed.profile_steps, 0, sizeof job->deepspeed.profile_steps);
    job->name = arena_keep(&job->arena, xasprintf("%s: model information", s->name));
    job->text = arena_keep(&job->arena, describe(job));
    job->profile_text = "";
    job->hash = hash_bytes(job->text, strlen(job->text));
    *out = job;
    return 0;
}

const char *const model_fact_names[FACT_COUNT] = {
    [FACT_PARAMS] = "params",
    [FACT_ACTIVATION_MEMORY] = "activation_memory",
    [FACT_DEVICE_MEMORY] = "device_memory",
    [FACT_FWD_FLOPS] = "fwd_flops",
};

void model_info_set_defaults(struct sweep *s)
{
    for (int i = 0; i < FACT_COUNT; i++)
        s->model_info.facts[i] = NAN;
}

static void read_fact(const struct reading *r, const struct toml_node *node)
{
    const bool is_size = strstr(node->key, "memory") != NULL;
    int64_t bytes;
    double value = node->kind == NODE_STRING ? NAN : number_of(node);
    if (node->kind == NODE_STRING && is_size && parse_size_bytes(node->text, &bytes))
        value = (double)bytes;
    if (!(value > 0 && isfinite(value)))
        problem_at_value(r, node, "%s must be a %s above 0", node->key,
                         is_size ? "size (\"300MiB\", bytes)" : "number");
    for (int i = 0; value > 0 && isfinite(value) && i < FACT_COUNT; i++)
        if (strcmp(model_fact_names[i], node->key) == 0)
            r->sweep->model_info.facts[i] = value;
}

static void read_key(const struct reading *r, const struct toml_node *node, const char *name)
{
    struct model_info_config *m = &r->sweep->model_info;
    if (!schema_expect(r, node, name, TYPE_STRING | TYPE_NUMBER | TYPE_BOOL))
        return;
    *arena_add(r->arena, m->keys, m->key_count) =
        (struct model_info_key){arena_text(r->arena, name), plain_value(r, node), reading_at_key(r, node)};
}

static void read_model_info(const struct reading *r, struct found *found)
{
    r->sweep->model_info.given = true;
    r->sweep->model_info.at = reading_at_key(r, found->table);
    schema_take(r, found, r->sweep);
}

const struct schema schema_model_info = {SCHEMA("[model_info]", KEYS_OF_MODEL_INFO), read_model_info};

/* One profile of one model cannot speak for others. */
void check_model_info(const struct reading *r)
{
    const struct sweep *s = r->sweep;
    const struct section *models = &s->sections[SECTION_MODEL];
    double count = 0;
    for (size_t b = 0; b < models->block_count; b++) {
        double product = 1;
        for (size_t a = 0; a < models->blocks[b].axis_count; a++)
            product *= (double)models->blocks[b].axes[a].value_count;
        count += product;
    }
    if (s->model_info.given && (count > 1 || s->model_space))
        problems_add(r->problems, s->model_info.at,
                     "[model_info] describes one model, but this file has several; give each [[model]] its own params "
                     "and activation_memory");
}
