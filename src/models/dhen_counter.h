/* The parameters, or the FLOPs, of one DHEN candidate after another, counting again only the layers that changed: a
 * step inside the last layer costs one multiplication per kind of mixer. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/model_space.h"
#include "models/dhen.h"
#include "models/layer_stack.h"

struct dhen_counter {
    enum dhen_quantity quantity;
    enum dhen_mixer mixers[LAYER_KINDS_MAX];
    unsigned kinds;
    /* For layer i: the quantity of the layers before it and of its own frame; what a mixer of each kind costs in it. */
    int64_t before[LAYER_COUNT_MAX];
    int64_t costs[LAYER_COUNT_MAX][LAYER_KINDS_MAX];
};

/* The key's kinds are DHEN mixers. Owns nothing. */
struct dhen_counter dhen_counter_make(const struct space_key *mixers, enum dhen_quantity quantity);

/* Returns whether `layers` layers of up to `layer_size` mixers can be counted in 64 bits with sizes up to `largest`.
 * A bound: true is certain, false may be wrong within a factor of the number of kinds. */
bool dhen_counter_fits(const struct dhen_counter *c, const struct dhen_sizes *largest, unsigned layers,
                       unsigned layer_size);

/* Parameters or forward FLOPs of the model, which must be within what dhen_counter_fits has granted. The layers before
 * `from` are as in the last call, and so are `sizes` unless `from` is 0. */
int64_t dhen_counter_count(struct dhen_counter *c, const struct dhen_sizes *sizes, const struct layer_state *st,
                           unsigned from);
