/* A space of DHEN models whose counts are known: twelve mixers in one to four layers. */
#pragma once

#include "models/index.h"
#include "unit_test.h"

#define BASE_PARAMETERS INT64_C(215334328) /* four layers of ATTENTION, LINEAR, ATTENTION, DOT */

enum { KEY_FEATURES, KEY_EMB_DIM, KEY_OUTPUT, KEY_TOKENS, KEY_COUNT };

static char *mixer_names[] = {"DOT", "LINEAR", "ATTENTION", "CONVOLUTION"};
static unsigned one_to_four[] = {1, 2, 3, 4};
static unsigned twelve[] = {12};

/* A range of such integers. */
static inline struct space_key range_key(const char *name, size_t count, int64_t first, int64_t step)
{
    return (struct space_key){.name = (char *)name,
                              .kind = SPACE_KEY_RANGE,
                              .value_count = count,
                              .first = first,
                              .step = step};
}

/* A list of integers. */
static inline struct space_key list_key(const char *name, int64_t *integers, size_t count)
{
    return (
        struct space_key){.name = (char *)name, .kind = SPACE_KEY_VALUES, .value_count = count, .integers = integers};
}

/* Fills `keys`, which a test may change before it makes an index. */
static inline struct model_space_table dhen_space(struct space_key keys[KEY_COUNT], unsigned kinds)
{
    keys[KEY_FEATURES] = range_key("num_features", 1, 512, 0);
    keys[KEY_EMB_DIM] = range_key("emb_dim", 1, 160, 0);
    keys[KEY_OUTPUT] = range_key("output_per_emb", 1, 50, 0);
    keys[KEY_TOKENS] = (struct space_key){.name = "tokens",
                                          .kind = SPACE_KEY_MULTISET,
                                          .kinds = {mixer_names, kinds},
                                          .layers = {one_to_four, 4},
                                          .totals = {twelve, 1},
                                          .layers_key = "num_zhen_layers"};
    return (struct model_space_table){.keys = keys, .key_count = KEY_COUNT, .dhen = true, .shared_weights = true};
}

static inline struct model_index *index_of(const struct model_space_table *space)
{
    struct model_index *index = NULL;
    FAIL_IF(model_index_make(space, false, &index, &e));
    return index;
}

/* `space` of so many kinds of mixers, whose `keys` a test may change; an `index` of it; a `cursor` over that. */
#define DHEN_SPACE(kinds)                                                                                              \
    struct space_key keys[KEY_COUNT];                                                                                  \
    struct model_space_table space = dhen_space(keys, kinds)
#define DHEN_INDEX(kinds)                                                                                              \
    DHEN_SPACE(kinds);                                                                                                 \
    HELD_AT(model_index) *index = index_of(&space)
#define DHEN_WALK(kinds)                                                                                               \
    DHEN_INDEX(kinds);                                                                                                 \
    HELD_AT(model_cursor) *cursor = model_cursor_make(index)
