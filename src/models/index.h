/* A model space made ready: how many candidates there are, and which is at a position. Nothing is enumerated:
 * making an index and counting take microseconds.
 *
 * Order: the last key is fastest. A list or range runs as given, a stack in the order of models/layer_stack.h. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "config/model_space.h"
#include "models/layer_stack.h"
#include "util/buffer.h"
#include "util/error.h"

/* The keys of a model space (config/model_space.h). Every candidate gives one value to each of them: a value of a list
 * or of a range, or, of a multiset, a stack of layers (models/layer_stack.h), for instance the token mixers of a DHEN
 * model. models/index.h counts and finds candidates, models/cursor.h walks them. Pure. */

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

/* One key's values. A list or range has `count` positions from `lowest` on; a stack, all that `stack` allows. */
struct model_index_key {
    uint64_t lowest, count;
    struct layer_stack stack;
};

/* Read by models/cursor.c, written here only. */
struct model_index {
    const struct model_space_table *space; /* borrowed */
    struct model_index_key *keys;          /* one per key of the space */
    uint64_t count;
    bool flops; /* of a DHEN model are counted, as its parameters are */
};

/* Fails (ERROR_USAGE) on mixers of a DHEN model that are not known, on a space without candidates, and when candidates,
 * parameters or, with `flops`, FLOPs are more than 64 bits count. The space, with all that it points to, must outlive
 * the index. `*out` is the caller's: model_index_free. */
int model_index_make(const struct model_space_table *space, bool flops, struct model_index **out, struct error *e);
void model_index_free(struct model_index *index);

/* The part of `index` where `key` (or a stack's layers_key) has the value `literal`, a TOML value.
 * It may be empty. Fails (ERROR_USAGE) when the space has no such key or value. `*out` is the caller's. */
int model_index_restrict(const struct model_index *index, const char *key, const char *literal,
                         struct model_index **out, struct error *e);

/* Candidates whose stack, the space's key number `key`, has this many layers. */
uint64_t model_index_count_layers(const struct model_index *index, size_t key, unsigned layers);
