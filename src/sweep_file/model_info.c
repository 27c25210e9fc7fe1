#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_file/model_info_sweep.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/values.h"
#include "util/memory.h"
#include "util/parse.h"

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

static void read_fact_as(const struct reading *r, const struct toml_node *node, bool is_size)
{
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

static void read_fact(const struct reading *r, const struct toml_node *node)
{
    read_fact_as(r, node, false);
}

static void read_size(const struct reading *r, const struct toml_node *node)
{
    read_fact_as(r, node, true);
}

static void read_key(const struct reading *r, const struct toml_node *node, const char *name)
{
    struct model_info_config *m = &r->sweep->model_info;
    if (!schema_expect(r, node, name, TYPE_STRING | TYPE_NUMBER | TYPE_BOOL))
        return;
    m->keys = array_grow(m->keys, m->key_count, sizeof *m->keys);
    m->keys[m->key_count++] = (struct model_info_key){xstrdup(name), plain_value(node), reading_at_key(r, node)};
}

static void read_info_command(const struct reading *r, const struct toml_node *node)
{
    struct model_info_config *m = &r->sweep->model_info;
    read_command(r, node, &m->command, &m->command_is_line, &m->command_at);
}

#define AT(member) offsetof(struct sweep, model_info.member)

static const struct schema_key model_info_keys[] = {
    {.name = "command", TYPE_STRING | TYPE_STRINGS, FILE_SWEEP, .read = read_info_command},
    {.name = "timeout", TYPE_TIME, FILE_SWEEP, FORM_LIMIT, AT(timeout), .where = AT(timeout_at)},
    {.name = "with", TYPE_TABLE, FILE_SWEEP, .walk = read_key},
    {.name = "without", TYPE_STRINGS, FILE_SWEEP, FORM_STRINGS, AT(without)},
    {.name = "params", TYPE_NUMBER, FILE_SWEEP, .read = read_fact},
    {.name = "activation_memory", TYPE_STRING | TYPE_NUMBER, FILE_SWEEP, .read = read_size},
    {.name = "device_memory", TYPE_STRING | TYPE_NUMBER, FILE_SWEEP, .read = read_size},
    {.name = "fwd_flops", TYPE_NUMBER, FILE_SWEEP, .read = read_fact},
};
const struct schema schema_model_info = {"[model_info]", SCHEMA_KEYS(model_info_keys)};

void read_model_info(const struct reading *r, const struct toml_node *table)
{
    const struct toml_node *found[sizeof model_info_keys / sizeof *model_info_keys];
    r->sweep->model_info.given = true;
    r->sweep->model_info.at = reading_at_key(r, table);
    schema_match(&schema_model_info, r, table, found);
    schema_take(&schema_model_info, r, found, r->sweep);
}

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
