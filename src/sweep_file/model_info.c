#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_file/model_info_sweep.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/toml_value.h"
#include "util/memory.h"
#include "util/parse.h"

const char *const model_fact_names[FACT_COUNT] = {
    [FACT_PARAMS] = "params",
    [FACT_ACTIVATION_MEMORY] = "activation_memory",
    [FACT_DEVICE_MEMORY] = "device_memory",
    [FACT_FWD_FLOPS] = "fwd_flops",
};

/* Where in the schema each is; whether it may be written as a size. */
static const struct {
    enum model_info_table_key key;
    bool is_size;
} places[FACT_COUNT] = {
    [FACT_PARAMS] = {MODEL_INFO_PARAMS, false},
    [FACT_ACTIVATION_MEMORY] = {MODEL_INFO_ACTIVATION_MEMORY, true},
    [FACT_DEVICE_MEMORY] = {MODEL_INFO_DEVICE_MEMORY, true},
    [FACT_FWD_FLOPS] = {MODEL_INFO_FWD_FLOPS, false},
};

void model_info_set_defaults(struct sweep *s)
{
    for (int i = 0; i < FACT_COUNT; i++)
        s->model_info.facts[i] = NAN;
}

static void read_fact(const struct reading *r, const struct toml_node *node, bool is_size, double *out)
{
    int64_t bytes;
    double value = node->kind == NODE_INT ? (double)node->integer : node->kind == NODE_FLOAT ? node->real : NAN;
    if (node->kind == NODE_STRING && is_size && parse_size_bytes(node->text, &bytes))
        value = (double)bytes;
    if (value > 0 && isfinite(value))
        *out = value;
    else
        problem_at_value(r, node, "%s must be a %s above 0", node->key,
                         is_size ? "size (\"300MiB\", bytes)" : "number");
}

static void read_key(const struct reading *r, const struct toml_node *node, const char *name)
{
    struct model_info_config *m = &r->sweep->model_info;
    if (!schema_expect(r, node, name, TYPE_STRING | TYPE_NUMBER | TYPE_BOOL))
        return;
    m->keys = array_grow(m->keys, m->key_count, sizeof *m->keys);
    m->keys[m->key_count++] = (struct model_info_key){xstrdup(name), plain_value(node), reading_at_key(r, node)};
}

void read_model_info(const struct reading *r, const struct toml_node *table)
{
    struct model_info_config *m = &r->sweep->model_info;
    const struct toml_node *found[MODEL_INFO_COUNT];
    schema_match(&schema_model_info, r, table, found);
    m->given = true;
    m->at = reading_at_key(r, table);
    if (found[MODEL_INFO_COMMAND])
        read_command(r, found[MODEL_INFO_COMMAND], &m->command, &m->command_is_line, &m->command_at);
    if (found[MODEL_INFO_TIMEOUT])
        read_timeout(r, found[MODEL_INFO_TIMEOUT], &m->timeout, &m->timeout_at);
    if (found[MODEL_INFO_WITH])
        walk_dotted(r, found[MODEL_INFO_WITH], read_key);
    if (found[MODEL_INFO_WITHOUT])
        m->without = toml_strings(found[MODEL_INFO_WITHOUT]);
    for (int i = 0; i < FACT_COUNT; i++)
        if (found[places[i].key])
            read_fact(r, found[places[i].key], places[i].is_size, &m->facts[i]);
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
