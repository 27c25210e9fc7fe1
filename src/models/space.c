#include "models/space.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/model_space.h"
#include "models/dhen.h"
#include "util/memory.h"
#include "util/parse.h"

int64_t model_axis_integer(const struct model_axis *axis, size_t position)
{
    return axis->integers ? axis->integers[position] : axis->first + axis->step * (int64_t)position;
}

int64_t model_axis_smallest(const struct model_axis *axis)
{
    int64_t smallest = model_axis_integer(axis, 0), last = model_axis_integer(axis, axis->count - 1);
    for (size_t i = 0; axis->integers && i < axis->count; i++)
        if (axis->integers[i] < smallest)
            smallest = axis->integers[i];
    return last < smallest ? last : smallest;
}

int64_t model_axis_largest(const struct model_axis *axis)
{
    int64_t largest = model_axis_integer(axis, 0), last = model_axis_integer(axis, axis->count - 1);
    for (size_t i = 0; axis->integers && i < axis->count; i++)
        if (axis->integers[i] > largest)
            largest = axis->integers[i];
    return last > largest ? last : largest;
}

void model_axis_add_literal(const struct model_axis *axis, size_t position, struct buffer *out)
{
    if (axis->texts)
        buffer_add_text(out, axis->texts[position]);
    else
        buffer_printf(out, "%" PRId64, model_axis_integer(axis, position));
}

static size_t find_text(const struct model_axis *axis, const char *literal)
{
    size_t i = FIRST(k, axis->count, strcmp(axis->texts[k], literal) == 0);
    return i;
}

/* Ranges are not walked: they may be long. */
static size_t find_in_range(const struct model_axis *axis, int64_t value)
{
    int64_t distance;
    if (value == axis->first)
        return 0;
    if (__builtin_sub_overflow(value, axis->first, &distance) || axis->step == 0 || distance % axis->step != 0)
        return axis->count;
    int64_t steps = distance / axis->step;
    return steps > 0 && (uint64_t)steps < axis->count ? (size_t)steps : axis->count;
}

size_t model_axis_find(const struct model_axis *axis, const char *literal)
{
    int64_t value;
    if (axis->texts)
        return find_text(axis, literal);
    if (!parse_int64(literal, &value))
        return axis->count;
    if (!axis->integers)
        return find_in_range(axis, value);
    size_t i = FIRST(k, axis->count, axis->integers[k] == value);
    return i;
}

size_t model_space_find(const struct model_space *space, const char *name)
{
    for (size_t k = 0; k < space->key_count; k++)
        if (strcmp(space->keys[k].name, name) == 0)
            return k;
    return MODEL_NO_KEY;
}

size_t model_space_main_stack(const struct model_space *space)
{
    size_t found = MODEL_NO_KEY;
    if (space->dhen)
        return model_space_find(space, space->dhen->tokens);
    for (size_t k = 0; k < space->key_count; k++) {
        if (space->keys[k].kind == MODEL_KEY_STACK && found != MODEL_NO_KEY)
            return MODEL_NO_KEY;
        if (space->keys[k].kind == MODEL_KEY_STACK)
            found = k;
    }
    return found;
}

size_t model_space_find_layers(const struct model_space *space, const char *name)
{
    for (size_t k = 0; k < space->key_count; k++) {
        const struct model_key *key = &space->keys[k];
        if (key->kind == MODEL_KEY_STACK && key->stack.layers_name && strcmp(key->stack.layers_name, name) == 0)
            return k;
    }
    if (strcmp(name, LAYER_COUNT_NAME) == 0 && model_space_find(space, name) == MODEL_NO_KEY)
        return model_space_main_stack(space);
    return MODEL_NO_KEY;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Fails on two equal texts. `what` names them all. */
static int check_texts_differ(const char *what, const char *const *texts, size_t count, struct error *e)
{
    int rc = 0;
    const char **sorted = xreallocarray(NULL, count, sizeof *sorted);
    memcpy(sorted, texts, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < count && rc == 0; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            rc = error_set(e, ERROR_USAGE, "%s: %s is given twice", what, sorted[i]);
    free(sorted);
    return rc;
}

static int check_integers_differ(const char *what, const int64_t *integers, size_t count, struct error *e)
{
    int rc = 0;
    OWNED int64_t *sorted = xreallocarray(NULL, count, sizeof *sorted);
    memcpy(sorted, integers, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_integers);
    for (size_t i = 1; i < count && rc == 0; i++)
        if (sorted[i - 1] == sorted[i])
            rc = error_set(e, ERROR_USAGE, "%s: %" PRId64 " is given twice", what, sorted[i]);
    return rc;
}

static int check_range(const char *name, const struct model_axis *axis, struct error *e)
{
    int64_t last;
    if (axis->count > 1 && axis->step == 0)
        return error_set(e, ERROR_USAGE, "%s: a range of %zu values with step 0", name, axis->count);
    if (axis->count - 1 > INT64_MAX || __builtin_mul_overflow(axis->step, (int64_t)(axis->count - 1), &last) ||
        __builtin_add_overflow(axis->first, last, &last))
        return error_set(e, ERROR_USAGE, "%s: a range beyond 64 bits", name);
    return 0;
}

static int check_axis(const struct model_key *key, struct error *e)
{
    const struct model_axis *axis = &key->axis;
    if (axis->count == 0)
        return error_set(e, ERROR_USAGE, "%s: no value", key->name);
    if (axis->texts)
        return check_texts_differ(key->name, axis->texts, axis->count, e);
    if (axis->integers)
        return check_integers_differ(key->name, axis->integers, axis->count, e);
    return check_range(key->name, axis, e);
}

static int check_stack(const struct model_key *key, struct error *e)
{
    const struct model_stack *stack = &key->stack;
    const struct number_set *layers = &stack->rules.layers;
    if (stack->flat && (layers->count != 1 || layers->values[0] != 1))
        return error_set(e, ERROR_USAGE,
                         "%s: a flat list describes exactly one layer, but there are more; give a list of lists",
                         key->name);
    if (stack->rules.kinds == 0)
        return error_set(e, ERROR_USAGE, "%s: no kind", key->name);
    return check_texts_differ(key->name, stack->kinds, stack->rules.kinds, e);
}

/* Names of keys and of numbers of layers all end up beside each other in one [[model]] block. */
static int check_names_differ(const struct model_space *space, struct error *e)
{
    size_t count = 0;
    const char **names = xreallocarray(NULL, space->key_count, 2 * sizeof *names);
    for (size_t k = 0; k < space->key_count; k++) {
        const struct model_key *key = &space->keys[k];
        names[count++] = key->name;
        if (key->kind == MODEL_KEY_STACK && key->stack.layers_name)
            names[count++] = key->stack.layers_name;
    }
    int rc = check_texts_differ("model space", names, count, e);
    free(names);
    return rc;
}

static int check_dhen_axis(const struct model_space *space, const char *name, struct error *e)
{
    size_t k = model_space_find(space, name);
    if (k == MODEL_NO_KEY)
        return error_set(e, ERROR_USAGE, "%s: it is missing, but needed to count parameters", name);
    const struct model_key *key = &space->keys[k];
    if (key->kind != MODEL_KEY_AXIS || key->axis.texts || model_axis_smallest(&key->axis) < 1)
        return error_set(e, ERROR_USAGE, "%s: counting parameters needs positive integers", name);
    return 0;
}

static int check_dhen_tokens(const struct model_space *space, const char *name, struct error *e)
{
    size_t k = model_space_find(space, name);
    if (k == MODEL_NO_KEY || space->keys[k].kind != MODEL_KEY_STACK)
        return error_set(e, ERROR_USAGE, "%s: counting parameters needs layers of mixers", name);
    const struct model_stack *stack = &space->keys[k].stack;
    for (unsigned i = 0; i < stack->rules.kinds; i++)
        if (dhen_mixer_from_name(stack->kinds[i]) == DHEN_NONE)
            return error_set(e, ERROR_USAGE, "%s: the parameters of %s are not known", name, stack->kinds[i]);
    return 0;
}

static int check_dhen(const struct model_space *space, struct error *e)
{
    const struct model_dhen *dhen = space->dhen;
    if (check_dhen_axis(space, dhen->features, e) || check_dhen_axis(space, dhen->emb_dim, e) ||
        check_dhen_axis(space, dhen->output_per_emb, e))
        return -1;
    return check_dhen_tokens(space, dhen->tokens, e);
}

int model_space_check(const struct model_space *space, struct error *e)
{
    if (space->key_count == 0)
        return error_set(e, ERROR_USAGE, "a model space without keys");
    if (check_names_differ(space, e))
        return -1;
    for (size_t k = 0; k < space->key_count; k++) {
        const struct model_key *key = &space->keys[k];
        if (key->kind == MODEL_KEY_AXIS ? check_axis(key, e) : check_stack(key, e))
            return -1;
    }
    return space->dhen ? check_dhen(space, e) : 0;
}
