#include "models/base.h"

#include <stdlib.h>
#include <string.h>

#include "models/cursor.h"
#include "models/dhen.h"
#include "util/memory.h"

unsigned model_base_layers(const struct model_base *base, const struct space_key *key)
{
    const struct base_key *elements = model_space_base_key(base->table, key->name);
    if (!elements || elements->layer_count == 0)
        return 0;
    if (!elements->flat || key->flat)
        return elements->layer_count <= LAYER_COUNT_MAX ? (unsigned)elements->layer_count : 0;
    const struct base_key *layers = key->layers_key ? model_space_base_key(base->table, key->layers_key) : NULL;
    bool good = layers && layers->value.kind == VALUE_INT && layers->value.integer >= 1 &&
                layers->value.integer <= LAYER_COUNT_MAX;
    return good ? (unsigned)layers->value.integer : 0;
}

static const struct string_list *layer_at(const struct base_key *elements, unsigned layer)
{
    return &elements->layers[elements->flat ? 0 : layer];
}

static int64_t size_of(const struct model_space_table *m, enum dhen_key key)
{
    return model_space_base_key(m, dhen_key_names[key])->value.integer;
}

static int count_mixers(const struct base_key *tokens, const struct string_list *layer, int64_t counts[DHEN_MIXER_END],
                        struct error *e)
{
    memset(counts, 0, DHEN_MIXER_END * sizeof *counts);
    for (size_t i = 0; i < layer->count; i++) {
        enum dhen_mixer mixer = dhen_mixer_from_name(layer->items[i]);
        if (mixer == DHEN_NONE)
            return error_set(e, ERROR_USAGE, "%s:%d:%d: the base: the parameters of %s cannot be counted",
                             tokens->at.file, tokens->at.line, tokens->at.column, layer->items[i]);
        counts[mixer]++;
    }
    return 0;
}

static int overflow(const struct base_key *tokens, struct error *e)
{
    return error_set(e, ERROR_USAGE, "%s:%d:%d: the base has too many parameters to count in 64 bits", tokens->at.file,
                     tokens->at.line, tokens->at.column);
}

static int count_layers(const struct model_space_table *m, unsigned layers, struct model_base *base, struct error *e)
{
    const struct base_key *tokens = model_space_base_key(m, dhen_key_names[DHEN_KEY_TOKENS]);
    const struct dhen_sizes sizes = {size_of(m, DHEN_KEY_FEATURES), size_of(m, DHEN_KEY_EMB_DIM),
                                     size_of(m, DHEN_KEY_OUTPUTS)};
    int64_t inputs = sizes.features, skip = sizes.features;
    for (unsigned i = 0; i < layers; i++) {
        const struct string_list *layer = layer_at(tokens, i);
        int64_t counts[DHEN_MIXER_END], parameters, flops, training;
        if (count_mixers(tokens, layer, counts, e) < 0)
            return -1;
        if (!dhen_layer(&sizes, m->shared_weights ? DHEN_SHARED_PARAMETERS : DHEN_PARAMETERS, inputs, skip, counts,
                        &parameters) ||
            !dhen_layer(&sizes, DHEN_FLOPS, inputs, skip, counts, &flops) ||
            __builtin_mul_overflow(flops, DHEN_TRAINING_PASSES, &training) ||
            __builtin_add_overflow(base->parameters, parameters, &base->parameters) ||
            __builtin_add_overflow(base->flops, training, &base->flops))
            return overflow(tokens, e);
        skip = inputs;
        if (__builtin_mul_overflow(sizes.output_per_emb, (int64_t)layer->count, &inputs))
            return overflow(tokens, e);
    }
    return 0;
}

int model_base_make(const struct model_space_table *table, struct model_base *out, struct error *e)
{
    struct model_base base = {.table = table};
    if (table->dhen && table->base_count > 0) {
        const struct space_key *tokens = &table->keys[DHEN_KEY_TOKENS];
        unsigned layers = model_base_layers(&base, tokens);
        if (layers == 0)
            return error_set(e, ERROR_USAGE, "%s:%d:%d: the base has more than %d layers", table->base_at.file,
                             table->base_at.line, table->base_at.column, LAYER_COUNT_MAX);
        if (count_layers(table, layers, &base, e) < 0)
            return -1;
    }
    *out = base;
    return 0;
}

/* Elements per kind; false when one is no kind of the space or there are too many. */
static bool count_elements(const struct space_key *key, const struct string_list *layer, uint16_t *counts)
{
    if (layer->count > LAYER_SIZE_MAX)
        return false;
    for (size_t i = 0; i < layer->count; i++) {
        size_t k = FIRST(at, key->kinds.count, strcmp(key->kinds.items[at], layer->items[i]) == 0);
        if (k == key->kinds.count)
            return false;
        counts[k]++;
    }
    return true;
}

static bool find_stack(const struct model_base *base, const struct space_key *key, const struct layer_stack *stack,
                       struct layer_state *st)
{
    const struct base_key *elements = model_space_base_key(base->table, key->name);
    unsigned layers = model_base_layers(base, key);
    uint16_t *counts = xcalloc((size_t)layers * stack->kinds + 1, sizeof *counts);
    bool found = layers > 0 && layers <= stack->layers_max;
    for (unsigned i = 0; found && i < layers; i++)
        found = count_elements(key, layer_at(elements, i), &counts[(size_t)i * stack->kinds]);
    found = found && layer_stack_find(stack, layers, counts, st);
    free(counts);
    return found;
}

/* Returns whether every key of the base is one of the space. */
static bool has_no_other_keys(const struct model_space_table *m)
{
    for (size_t i = 0; i < m->base_count; i++) {
        bool known = false;
        for (size_t k = 0; k < m->key_count; k++)
            known |= strcmp(m->keys[k].name, m->base[i].name) == 0 ||
                     (m->keys[k].layers_key && strcmp(m->keys[k].layers_key, m->base[i].name) == 0);
        if (!known)
            return false;
    }
    return m->base_count > 0;
}

static bool find_part(const struct model_base *base, const struct model_index *index, size_t k, struct model_part *part)
{
    const struct space_key *key = &index->space->keys[k];
    if (model_key_is_stack(key))
        return find_stack(base, key, &index->keys[k].stack, &part->stack);
    const struct base_key *value = model_space_base_key(base->table, key->name);
    part->position = value ? model_key_find(key, value->literal) : key->value_count;
    return part->position < key->value_count;
}

bool model_base_find(const struct model_base *base, const struct model_index *index, uint64_t *rank)
{
    if (!has_no_other_keys(base->table))
        return false;
    const size_t count = index->space->key_count;
    OWNED struct model_part *parts = xcalloc(count, sizeof *parts);
    bool found = true;
    for (size_t k = 0; k < count; k++) {
        if (model_key_is_stack(&index->space->keys[k]))
            parts[k].stack = layer_state_make(&index->keys[k].stack);
        found = found && find_part(base, index, k, &parts[k]);
    }
    if (found)
        *rank = model_candidate_rank(&(struct model_candidate){.space = index->space, .parts = parts}, index);
    for (size_t k = 0; k < count; k++)
        layer_state_free(&parts[k].stack);
    return found;
}
