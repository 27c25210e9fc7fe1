#include "models/space.h"

#include <inttypes.h>
#include <string.h>

#include "util/memory.h"
#include "util/parse.h"

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
