/* A model space made ready: how many candidates there are, and which is at a position. Nothing is enumerated:
 * making an index and counting take microseconds.
 *
 * Order: the last key is fastest. A list or range runs as given, a stack in the order of models/layer_stack.h. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/layer_stack.h"
#include "models/space.h"
#include "util/error.h"

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
