/* The keys of a model space (config/model_space.h). Every candidate gives one value to each of them: a value of a list
 * or of a range, or, of a multiset, a stack of layers (models/layer_stack.h), for instance the token mixers of a DHEN
 * model. models/index.h counts and finds candidates, models/cursor.h walks them. Pure. */
#pragma once

#include "config/model_space.h"
#include "util/buffer.h"

#define MODEL_NO_KEY SIZE_MAX

/* Position of the key with this name; MODEL_NO_KEY when there is none. */
size_t model_space_find(const struct model_space_table *space, const char *name);

/* The stack that a question without a name is about: that of a DHEN model, or the only one. MODEL_NO_KEY when there is
 * none or more than one. */
size_t model_space_main_stack(const struct model_space_table *space);

/* Position of the stack whose layers_key this is; "layer_count" stands for those of the main stack where no key is
 * called so. MODEL_NO_KEY when there is none. */
size_t model_space_find_layers(const struct model_space_table *space, const char *name);

static inline bool model_key_is_stack(const struct space_key *key)
{
    return key->kind == SPACE_KEY_MULTISET;
}

/* Returns whether the values of a key that is no stack are integers. */
static inline bool model_key_has_integers(const struct space_key *key)
{
    return key->integers || key->kind == SPACE_KEY_RANGE;
}

/* The value at `position` of such a key, and the largest of all. */
int64_t model_key_integer(const struct space_key *key, size_t position);
int64_t model_key_largest(const struct space_key *key);

/* Appends the value at `position` of a key that is no stack as TOML. */
void model_key_add_literal(const struct space_key *key, size_t position, struct buffer *out);

/* Returns where among its values `literal`, a TOML value, is; key->value_count when nowhere. */
size_t model_key_find(const struct space_key *key, const char *literal);
