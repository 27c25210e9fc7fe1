/* A space of model architectures, described. Every candidate gives one value to each key; a key is an axis (a
 * value of a list or of a range) or a stack of layers (models/layer_stack.h), for instance the token mixers of
 * a DHEN model. models/index.h counts and finds candidates, models/cursor.h walks them. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/layer_stack.h"
#include "util/buffer.h"
#include "util/error.h"

/* Values as `integers`, as `texts` (TOML literals, so strings with their quotes), or, with both NULL, the
 * range first, first + step, … */
struct model_axis {
    size_t count; /* at least 1 */
    const int64_t *integers;
    const char *const *texts;
    int64_t first, step;
};

struct model_stack {
    const char *const *kinds; /* rules.kinds names */
    struct layer_rules rules;
    const char *layers_name; /* key that tells the number of layers; NULL: no such key */
    bool flat;               /* stacks have one layer, and the value is its list, not a list of layers */
};

enum model_key_kind { MODEL_KEY_AXIS = 1, MODEL_KEY_STACK };

struct model_key {
    const char *name;
    enum model_key_kind kind;
    struct model_axis axis;   /* MODEL_KEY_AXIS */
    struct model_stack stack; /* MODEL_KEY_STACK */
};

/* The keys that make a candidate a DHEN model whose parameters are counted (models/dhen.h). */
struct model_dhen {
    const char *features, *emb_dim, *output_per_emb; /* axes of positive integers */
    const char *tokens;                              /* a stack whose kinds are DHEN mixers */
    bool separate_weights; /* each mixer has weights of its own; otherwise those of a kind in a layer share
                              them */
    bool flops;            /* FLOPs are counted too */
};

struct model_space {
    const struct model_key *keys;
    size_t key_count;
    const struct model_dhen *dhen; /* NULL: parameters are not counted */
};

#define MODEL_NO_KEY SIZE_MAX

/* Everything that can be said without counting. Fails (ERROR_USAGE) when there are no keys, on a key, value
 * or kind given twice, on a range beyond 64 bits, and on a DHEN key that is missing or of the wrong kind. */
int model_space_check(const struct model_space *space, struct error *e);

/* Position of the key with this name; MODEL_NO_KEY when there is none. */
size_t model_space_find(const struct model_space *space, const char *name);

/* The stack that a question without a name is about: that of a DHEN model, or the only one. MODEL_NO_KEY when there is
 * none or more than one. */
size_t model_space_main_stack(const struct model_space *space);

/* Position of the stack whose layers_name this is; "layer_count" stands for those of the main stack where no key is
 * called so. MODEL_NO_KEY when there is none. */
size_t model_space_find_layers(const struct model_space *space, const char *name);

/* The value at `position` of an axis that is not given as texts. */
int64_t model_axis_integer(const struct model_axis *axis, size_t position);

/* Its smallest and largest values. */
int64_t model_axis_smallest(const struct model_axis *axis);
int64_t model_axis_largest(const struct model_axis *axis);

/* Appends the value at `position` as TOML. */
void model_axis_add_literal(const struct model_axis *axis, size_t position, struct buffer *out);

/* Returns where in the axis `literal`, a TOML value, is; axis->count when nowhere. */
size_t model_axis_find(const struct model_axis *axis, const char *literal);
