/* A space of DHEN models whose counts are known: twelve mixers in one to four layers. */
#pragma once

#include "models/index.h"
#include "unit_test.h"

#define BASE_PARAMETERS INT64_C(215334328) /* four layers of ATTENTION, LINEAR, ATTENTION, DOT */

enum { KEY_FEATURES, KEY_EMB_DIM, KEY_OUTPUT, KEY_TOKENS, KEY_COUNT };

static const char *const mixer_names[] = {"DOT", "LINEAR", "ATTENTION", "CONVOLUTION"};
static const unsigned one_to_four[] = {1, 2, 3, 4};
static const unsigned twelve[] = {12};
static const struct model_dhen dhen_shared = {"num_features", "emb_dim", "output_per_emb", "tokens", false, false};

/* Fills `keys`, which a test may change before it makes an index. */
static inline struct model_space dhen_space(struct model_key keys[KEY_COUNT], unsigned kinds)
{
    keys[KEY_FEATURES] =
        (struct model_key){.name = "num_features", .kind = MODEL_KEY_AXIS, .axis = {1, NULL, NULL, 512, 0}};
    keys[KEY_EMB_DIM] = (struct model_key){.name = "emb_dim", .kind = MODEL_KEY_AXIS, .axis = {1, NULL, NULL, 160, 0}};
    keys[KEY_OUTPUT] =
        (struct model_key){.name = "output_per_emb", .kind = MODEL_KEY_AXIS, .axis = {1, NULL, NULL, 50, 0}};
    keys[KEY_TOKENS] = (struct model_key){
        .name = "tokens",
        .kind = MODEL_KEY_STACK,
        .stack = {.kinds = mixer_names,
                  .rules = {.kinds = kinds, .layers = {one_to_four, 4}, .totals = {twelve, 1}},
                  .layers_name = "num_zhen_layers"},
    };
    return (struct model_space){.keys = keys, .key_count = KEY_COUNT, .dhen = &dhen_shared};
}

static inline struct model_index *index_of(const struct model_space *space)
{
    struct model_index *index = NULL;
    FAIL_IF(model_index_make(space, &index, &e));
    return index;
}
