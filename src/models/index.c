#include "models/index.h"

#include "config/model_space.h"
#include "models/dhen_counter.h"
#include "util/memory.h"
#include "util/parse.h"

static struct model_index *allocate(const struct model_space *space)
{
    struct model_index *index = xcalloc(1, sizeof *index);
    index->space = space;
    index->keys = xcalloc(space->key_count, sizeof *index->keys);
    index->features = index->emb_dim = index->output_per_emb = index->tokens = MODEL_NO_KEY;
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

static int make_stack(const struct model_key *key, const struct number_set *layers, struct layer_stack *out,
                      struct error *e)
{
    struct layer_rules rules = key->stack.rules;
    rules.layers = *layers;
    if (layer_stack_make(&rules, out, e))
        return error_context(e, "%s", key->name);
    return 0;
}

static int make_keys(struct model_index *index, struct error *e)
{
    for (size_t k = 0; k < index->space->key_count; k++) {
        const struct model_key *key = &index->space->keys[k];
        struct model_index_key *made = &index->keys[k];
        if (key->kind == MODEL_KEY_STACK && make_stack(key, &key->stack.rules.layers, &made->stack, e))
            return -1;
        made->count = key->kind == MODEL_KEY_STACK ? made->stack.count : key->axis.count;
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

static int bind_dhen(struct model_index *index, const struct model_dhen *dhen, struct error *e)
{
    const struct model_key *keys = index->space->keys;
    index->features = model_space_find(index->space, dhen->features);
    index->emb_dim = model_space_find(index->space, dhen->emb_dim);
    index->output_per_emb = model_space_find(index->space, dhen->output_per_emb);
    index->tokens = model_space_find(index->space, dhen->tokens);

    const struct dhen_sizes largest = {
        .features = model_axis_largest(&keys[index->features].axis),
        .emb_dim = model_axis_largest(&keys[index->emb_dim].axis),
        .output_per_emb = model_axis_largest(&keys[index->output_per_emb].axis),
    };
    const struct layer_stack *stack = &index->keys[index->tokens].stack;
    const struct model_stack *mixers = &keys[index->tokens].stack;
    unsigned most = stack->sizes[stack->sizes_count - 1];
    struct dhen_counter counter = dhen_counter_make(mixers, DHEN_PARAMETERS, dhen->separate_weights);
    if (!dhen_counter_fits(&counter, &largest, stack->layers_max, most))
        return error_set(e, ERROR_USAGE, "the largest model may have more parameters than 64 bits can count");
    counter = dhen_counter_make(mixers, DHEN_FLOPS, true);
    if (dhen->flops && !dhen_counter_fits(&counter, &largest, stack->layers_max * DHEN_TRAINING_PASSES, most))
        return error_set(e, ERROR_USAGE, "the largest model may take more FLOPs than 64 bits can count");
    return 0;
}

static int build(struct model_index *index, struct error *e)
{
    if (make_keys(index, e))
        return -1;
    if (index->space->dhen && bind_dhen(index, index->space->dhen, e))
        return -1;
    if (multiply_counts(index, e))
        return -1;
    if (index->count == 0)
        return error_set(e, ERROR_USAGE, "the model space is empty: no stack of layers meets its limits");
    return 0;
}

int model_index_make(const struct model_space *space, struct model_index **out, struct error *e)
{
    if (model_space_check(space, e))
        return -1;
    struct model_index *index = allocate(space);
    if (build(index, e)) {
        model_index_free(index);
        return -1;
    }
    *out = index;
    return 0;
}

static int copy_keys(const struct model_index *index, struct model_index *copy, struct error *e)
{
    for (size_t k = 0; k < index->space->key_count; k++) {
        const struct model_index_key *from = &index->keys[k];
        struct model_index_key *to = &copy->keys[k];
        const struct number_set layers = {from->stack.layers, from->stack.layers_count};
        to->lowest = from->lowest;
        to->count = from->count;
        if (index->space->keys[k].kind == MODEL_KEY_STACK && make_stack(&index->space->keys[k], &layers, &to->stack, e))
            return -1;
    }
    return 0;
}

static struct model_index *copy_index(const struct model_index *index, struct error *e)
{
    struct model_index *copy = allocate(index->space);
    copy->count = index->count;
    copy->features = index->features;
    copy->emb_dim = index->emb_dim;
    copy->output_per_emb = index->output_per_emb;
    copy->tokens = index->tokens;
    if (copy_keys(index, copy, e)) {
        model_index_free(copy);
        return NULL;
    }
    return copy;
}

static int restrict_axis(struct model_index *index, size_t k, const char *literal, struct error *e)
{
    const struct model_key *key = &index->space->keys[k];
    struct model_index_key *mine = &index->keys[k];
    size_t position = model_axis_find(&key->axis, literal);
    if (position == key->axis.count)
        return error_set(e, ERROR_USAGE, "%s has no value %s", key->name, literal);
    /* A value that an earlier restriction took away leaves nothing. */
    mine->count = position >= mine->lowest && position - mine->lowest < mine->count;
    mine->lowest = position;
    return 0;
}

static bool number_set_holds(const struct number_set *set, int64_t value)
{
    size_t i = FIRST(k, set->count, set->values[k] == value);
    return i < set->count;
}

static int restrict_layers(struct model_index *index, size_t k, const char *literal, struct error *e)
{
    const struct model_key *key = &index->space->keys[k];
    struct model_index_key *mine = &index->keys[k];
    struct layer_stack narrowed;
    int64_t value;
    if (!parse_int64(literal, &value) || !number_set_holds(&key->stack.rules.layers, value))
        return error_set(e, ERROR_USAGE, "%s has no value %s",
                         key->stack.layers_name ? key->stack.layers_name : LAYER_COUNT_NAME, literal);
    const unsigned layers = (unsigned)value;
    if (make_stack(key, &(struct number_set){&layers, 1}, &narrowed, e))
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
    if (stack == MODEL_NO_KEY && (axis == MODEL_NO_KEY || index->space->keys[axis].kind != MODEL_KEY_AXIS))
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
