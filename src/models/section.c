#include "models/section.h"

#include <string.h>

#include "models/toml.h"
#include "toml/tree.h"
#include "util/hash.h"
#include "util/memory.h"

static void add_base_toml(const struct model_space_table *m, struct buffer *out)
{
    buffer_add_text(out, "[[model]]\n");
    for (size_t i = 0; i < m->base_count; i++) {
        toml_add_key(m->base[i].name, out);
        buffer_printf(out, " = %s\n", m->base[i].literal);
    }
}

void model_section_add_toml(const struct model_search *search, const struct model_pick *pick, struct buffer *out)
{
    if (pick->candidate)
        model_candidate_add_toml(pick->candidate, out);
    else
        add_base_toml(search->table, out);
}

/* --- keys whose values are lists --- */

static bool is_list(const char *literal)
{
    return literal[0] == '[';
}

static bool has_lists(const struct space_key *key)
{
    for (size_t i = 0; key->kind == SPACE_KEY_VALUES && i < key->value_count; i++)
        if (is_list(key->literals[i]))
            return true;
    return key->kind == SPACE_KEY_MULTISET;
}

static void add_name(const char *name, size_t *count, struct buffer *out)
{
    buffer_add_text(out, (*count)++ ? ", " : "[");
    buffer_add_json_string(out, name, strlen(name));
}

void model_section_add_list_values(const struct model_search *search, struct buffer *out)
{
    const struct model_space_table *m = search->table;
    size_t count = 0;
    for (size_t k = 0; k < m->key_count; k++) {
        const struct base_key *base = model_space_base_key(m, m->keys[k].name);
        if (has_lists(&m->keys[k]) || (m->include_base && base && is_list(base->literal)))
            add_name(m->keys[k].name, &count, out);
    }
    for (size_t i = 0; m->include_base && i < m->base_count; i++)
        if (is_list(m->base[i].literal) && model_space_find(&search->space, m->base[i].name) == MODEL_NO_KEY)
            add_name(m->base[i].name, &count, out);
    buffer_add_text(out, count > 0 ? "]" : "");
}

/* --- as a section --- */

struct filling {
    const struct model_search *search;
    struct arena *arena; /* the sweep's */
    struct section section;
    struct hash128 hash; /* of the sweep and the models so far */
    struct buffer text;
};

/* Takes ownership of the value. */
static void add_axis(const struct filling *f, struct block *block, const char *key, struct value value)
{
    block_add_key(f->arena, block, key, &value, block->at);
    value_free(&value);
}

static struct value integer_value(int64_t integer)
{
    return (struct value){.kind = VALUE_INT, .integer = integer};
}

static void add_candidate_axes(const struct filling *f, const struct model_candidate *c, struct block *block)
{
    for (size_t k = 0; k < c->space->key_count; k++) {
        const struct model_key *key = &c->space->keys[k];
        const struct space_key *written = &f->search->table->keys[k];
        struct buffer json = BUFFER_INIT;
        if (key->kind == MODEL_KEY_AXIS && key->axis.texts) {
            add_axis(f, block, key->name, value_copy(&written->values[c->parts[k].position]));
            continue;
        }
        if (key->kind == MODEL_KEY_AXIS) {
            add_axis(f, block, key->name, integer_value(model_axis_integer(&key->axis, c->parts[k].position)));
            continue;
        }
        if (key->stack.layers_name)
            add_axis(f, block, key->stack.layers_name, integer_value(c->parts[k].stack.layers));
        model_candidate_add_json(c, k, &json);
        add_axis(f, block, key->name, (struct value){.kind = VALUE_JSON, .text = buffer_take(&json)});
    }
}

static void add_base_axes(const struct filling *f, struct block *block)
{
    const struct model_space_table *m = f->search->table;
    for (size_t i = 0; i < m->base_count; i++)
        block_add_key(f->arena, block, m->base[i].name, &m->base[i].value, m->base[i].at);
}

static void hash_in(struct filling *f, const struct model_pick *pick)
{
    buffer_clear(&f->text);
    buffer_add(&f->text, f->hash.bytes, sizeof f->hash.bytes);
    model_section_add_toml(f->search, pick, &f->text);
    f->hash = hash_bytes(f->text.data, f->text.length);
}

static int add_block(void *context, const struct model_pick *pick, struct error *e)
{
    struct filling *f = context;
    struct section *s = &f->section;
    if (s->block_count == MODEL_SECTION_MOST)
        return error_set(e, ERROR_USAGE, "more than %d models: a sweep takes a sample of them ([[model_space.sample]])",
                         MODEL_SECTION_MOST);
    struct block *block = arena_add(f->arena, s->blocks, s->block_count);
    *block = (struct block){.at = f->search->table->at};
    if (pick->candidate)
        add_candidate_axes(f, pick->candidate, block);
    else
        add_base_axes(f, block);
    hash_in(f, pick);
    return 0;
}

int model_section_fill(struct model_search *search, struct sweep *sweep, uint64_t *count, struct error *e)
{
    struct filling f = {.search = search, .arena = &sweep->arena, .hash = sweep->hash};
    int rc = model_search_each(search, add_block, &f, count, e);
    buffer_free(&f.text);
    if (rc < 0)
        return -1;
    sweep->sections[SECTION_MODEL] = f.section;
    sweep->hash = f.hash;
    return 0;
}
