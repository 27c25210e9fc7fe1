#include "models/index.h"

#include <inttypes.h>
#include <string.h>

#include "config/model_space.h"
#include "models/dhen.h"
#include "util/memory.h"
#include "util/parse.h"

static struct model_index *allocate(const struct model_space_table *space, bool flops)
{
    struct model_index *index = xcalloc(1, sizeof *index);
    *index = (struct model_index){.space = space, .flops = flops};
    index->keys = xcalloc(space->key_count, sizeof *index->keys);
    return index;
}

void model_index_free(struct model_index *index)
{
    if (!index)
        return;
    for (size_t k = 0; k < index->space->key_count; k++)
        layer_stack_free(&index->keys[k].stack);
    free_all(index->keys, index);
}

static int make_stack(const struct space_key *key, const struct number_list *layers, struct layer_stack *out,
                      struct error *e)
{
    return layer_stack_make(key, layers, out, e) ? error_context(e, "%s", key->name) : 0;
}

static int make_keys(struct model_index *index, struct error *e)
{
    for (size_t k = 0; k < index->space->key_count; k++) {
        const struct space_key *key = &index->space->keys[k];
        struct model_index_key *made = &index->keys[k];
        if (model_key_is_stack(key) && make_stack(key, &key->layers, &made->stack, e))
            return -1;
        made->count = model_key_is_stack(key) ? made->stack.count : key->value_count;
    }
    return 0;
}

/* A key without values leaves no candidate, however many the others have. */
static int multiply_counts(struct model_index *index, struct error *e)
{
    uint64_t product = 1;
    for (size_t k = 0; k < index->space->key_count; k++)
        if (index->keys[k].count == 0)
            product = 0;
    for (size_t k = 0; k < index->space->key_count && product > 0; k++)
        if (__builtin_mul_overflow(product, index->keys[k].count, &product))
            return error_set(e, ERROR_USAGE, "more candidates than 64 bits can count");
    index->count = product;
    return 0;
}

/* Finds what cannot be counted of a DHEN model. */
static int check_dhen(const struct model_index *index, struct error *e)
{
    const struct space_key *keys = index->space->keys, *mixers = &keys[DHEN_KEY_TOKENS];
    const struct dhen_sizes largest = {
        .features = model_key_largest(&keys[DHEN_KEY_FEATURES]),
        .emb_dim = model_key_largest(&keys[DHEN_KEY_EMB_DIM]),
        .output_per_emb = model_key_largest(&keys[DHEN_KEY_OUTPUTS]),
    };
    const struct layer_stack *stack = &index->keys[DHEN_KEY_TOKENS].stack;
    unsigned most = stack->sizes[stack->sizes_count - 1];
    struct dhen_counter counter =
        dhen_counter_make(mixers, index->space->shared_weights ? DHEN_SHARED_PARAMETERS : DHEN_PARAMETERS);
    if (!dhen_counter_fits(&counter, &largest, stack->layers_max, most))
        return error_set(e, ERROR_USAGE, "the largest model may have more parameters than 64 bits can count");
    counter = dhen_counter_make(mixers, DHEN_FLOPS);
    if (index->flops && !dhen_counter_fits(&counter, &largest, stack->layers_max * DHEN_TRAINING_PASSES, most))
        return error_set(e, ERROR_USAGE, "the largest model may take more FLOPs than 64 bits can count");
    return 0;
}

static int check_mixers(const struct space_key *mixers, struct error *e)
{
    for (size_t i = 0; i < mixers->kinds.count; i++)
        if (dhen_mixer_from_name(mixers->kinds.items[i]) == DHEN_NONE)
            return error_set(e, ERROR_USAGE, "%s: the parameters of %s are not known", mixers->name,
                             mixers->kinds.items[i]);
    return 0;
}

static int build(struct model_index *index, struct error *e)
{
    if ((index->space->dhen && check_mixers(&index->space->keys[DHEN_KEY_TOKENS], e)) || make_keys(index, e) ||
        (index->space->dhen && check_dhen(index, e)) || multiply_counts(index, e))
        return -1;
    if (index->count == 0)
        return error_set(e, ERROR_USAGE, "the model space is empty: no stack of layers meets its limits");
    return 0;
}

int model_index_make(const struct model_space_table *space, bool flops, struct model_index **out, struct error *e)
{
    struct model_index *index = allocate(space, flops);
    if (build(index, e)) {
        model_index_free(index);
        return -1;
    }
    *out = index;
    return 0;
}

static struct model_index *copy_index(const struct model_index *index, struct error *e)
{
    struct model_index *copy = allocate(index->space, index->flops);
    copy->count = index->count;
    for (size_t k = 0; k < index->space->key_count; k++) {
        const struct model_index_key *from = &index->keys[k];
        const struct number_list layers = {from->stack.layers, from->stack.layers_count};
        copy->keys[k] = (struct model_index_key){.lowest = from->lowest, .count = from->count};
        if (model_key_is_stack(&index->space->keys[k]) &&
            make_stack(&index->space->keys[k], &layers, &copy->keys[k].stack, e)) {
            model_index_free(copy);
            return NULL;
        }
    }
    return copy;
}

static int restrict_axis(struct model_index *index, size_t k, const char *literal, struct error *e)
{
    const struct space_key *key = &index->space->keys[k];
    struct model_index_key *mine = &index->keys[k];
    size_t position = model_key_find(key, literal);
    if (position == key->value_count)
        return error_set(e, ERROR_USAGE, "%s has no value %s", key->name, literal);
    /* A value that an earlier restriction took away leaves nothing. */
    mine->count = position >= mine->lowest && position - mine->lowest < mine->count;
    mine->lowest = position;
    return 0;
}

static int restrict_layers(struct model_index *index, size_t k, const char *literal, struct error *e)
{
    const struct space_key *key = &index->space->keys[k];
    struct model_index_key *mine = &index->keys[k];
    struct layer_stack narrowed;
    int64_t value;
    if (!parse_int64(literal, &value) || !ANY(i, key->layers.count, key->layers.values[i] == value))
        return error_set(e, ERROR_USAGE, "%s has no value %s", key->layers_key ? key->layers_key : LAYER_COUNT_NAME,
                         literal);
    unsigned layers = (unsigned)value;
    if (make_stack(key, &(struct number_list){&layers, 1}, &narrowed, e))
        return -1;
    mine->count = layer_stack_count_layers(&mine->stack, layers);
    layer_stack_free(&mine->stack);
    mine->stack = narrowed;
    return 0;
}

int model_index_restrict(const struct model_index *index, const char *key, const char *literal,
                         struct model_index **out, struct error *e)
{
    size_t axis = model_space_find(index->space, key), stack = model_space_find_layers(index->space, key);
    if (stack == MODEL_NO_KEY && (axis == MODEL_NO_KEY || model_key_is_stack(&index->space->keys[axis])))
        return error_set(e, ERROR_USAGE, "the model space has no key %s with single values", key);
    struct model_index *part = copy_index(index, e);
    if (!part)
        return -1;
    int rc = stack != MODEL_NO_KEY ? restrict_layers(part, stack, literal, e) : restrict_axis(part, axis, literal, e);
    if (rc || multiply_counts(part, e)) {
        model_index_free(part);
        return -1;
    }
    *out = part;
    return 0;
}

uint64_t model_index_count_layers(const struct model_index *index, size_t key, unsigned layers)
{
    const struct model_index_key *mine = &index->keys[key];
    uint64_t others = mine->count ? index->count / mine->count : 0;
    return others * layer_stack_count_layers(&mine->stack, layers);
}

int64_t model_key_integer(const struct space_key *key, size_t position)
{
    return key->integers ? key->integers[position] : key->first + key->step * (int64_t)position;
}

int64_t model_key_largest(const struct space_key *key)
{
    int64_t largest = model_key_integer(key, key->value_count - 1);
    for (size_t i = 0; key->integers && i < key->value_count; i++)
        largest = key->integers[i] > largest ? key->integers[i] : largest;
    return largest;
}

void model_key_add_literal(const struct space_key *key, size_t position, struct buffer *out)
{
    if (model_key_has_integers(key))
        buffer_printf(out, "%" PRId64, model_key_integer(key, position));
    else
        buffer_add_text(out, key->literals[position]);
}

/* Ranges are not walked: they may be long. */
static size_t find_in_range(const struct space_key *key, int64_t value)
{
    int64_t distance;
    if (value == key->first)
        return 0;
    if (__builtin_sub_overflow(value, key->first, &distance) || key->step == 0 || distance % key->step != 0)
        return key->value_count;
    int64_t steps = distance / key->step;
    return steps > 0 && (uint64_t)steps < key->value_count ? (size_t)steps : key->value_count;
}

size_t model_key_find(const struct space_key *key, const char *literal)
{
    int64_t value;
    if (!model_key_has_integers(key))
        return FIRST(k, key->value_count, strcmp(key->literals[k], literal) == 0);
    if (!parse_int64(literal, &value))
        return key->value_count;
    return key->integers ? FIRST(k, key->value_count, key->integers[k] == value) : find_in_range(key, value);
}

size_t model_space_find(const struct model_space_table *space, const char *name)
{
    const size_t k = FIRST(i, space->key_count, strcmp(space->keys[i].name, name) == 0);
    return k < space->key_count ? k : MODEL_NO_KEY;
}

size_t model_space_main_stack(const struct model_space_table *space)
{
    size_t found = MODEL_NO_KEY;
    if (space->dhen)
        return DHEN_KEY_TOKENS;
    for (size_t k = 0; k < space->key_count; k++) {
        if (model_key_is_stack(&space->keys[k]) && found != MODEL_NO_KEY)
            return MODEL_NO_KEY;
        if (model_key_is_stack(&space->keys[k]))
            found = k;
    }
    return found;
}

size_t model_space_find_layers(const struct model_space_table *space, const char *name)
{
    for (size_t k = 0; k < space->key_count; k++)
        if (space->keys[k].layers_key && strcmp(space->keys[k].layers_key, name) == 0)
            return k;
    if (strcmp(name, LAYER_COUNT_NAME) == 0 && model_space_find(space, name) == MODEL_NO_KEY)
        return model_space_main_stack(space);
    return MODEL_NO_KEY;
}
