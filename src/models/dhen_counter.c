#include "models/dhen_counter.h"

#include <assert.h>

struct dhen_counter dhen_counter_make(const struct space_key *mixers, enum dhen_quantity quantity)
{
    struct dhen_counter c = {.quantity = quantity, .kinds = (unsigned)mixers->kinds.count};
    for (unsigned k = 0; k < c.kinds; k++)
        c.mixers[k] = dhen_mixer_from_name(mixers->kinds.items[k]);
    return c;
}

/* As if every layer had the widest inputs, `layer_size` mixers of every kind, and a skip matcher. */
bool dhen_counter_fits(const struct dhen_counter *c, const struct dhen_sizes *largest, unsigned layers,
                       unsigned layer_size)
{
    int64_t widest, one_layer, all_layers;
    int64_t counts[DHEN_MIXER_END] = {0};
    for (unsigned k = 0; k < c->kinds; k++)
        counts[c->mixers[k]] = layer_size;
    if (__builtin_mul_overflow(largest->output_per_emb, layer_size, &widest))
        return false;
    if (widest < largest->features)
        widest = largest->features;
    if (widest == INT64_MAX)
        return false;
    return dhen_layer(largest, c->quantity, widest, widest + 1, counts, &one_layer) &&
           !__builtin_mul_overflow(one_layer, layers, &all_layers);
}

/* Embeddings that come into a layer. */
static int64_t inputs_of(const struct dhen_sizes *sizes, const struct layer_state *st, unsigned layer)
{
    return layer > 0 ? sizes->output_per_emb * st->sizes[layer - 1] : sizes->features;
}

/* Frame and costs of a layer depend on the sizes of the two layers before it only. */
static void prepare_layer(struct dhen_counter *c, const struct dhen_sizes *sizes, const struct layer_state *st,
                          unsigned layer, int64_t before)
{
    int64_t frame = 0;
    int64_t inputs = inputs_of(sizes, st, layer);
    int64_t skip = layer > 0 ? inputs_of(sizes, st, layer - 1) : inputs;
    bool fits = dhen_frame(sizes, c->quantity, inputs, skip, &frame);
    for (unsigned k = 0; k < c->kinds; k++)
        fits &= dhen_mixer(sizes, c->quantity, inputs, c->mixers[k], &c->costs[layer][k]);
    assert(fits);
    (void)fits;
    c->before[layer] = before + frame;
}

/* Everything up to the end of this layer. */
static int64_t count_through(const struct dhen_counter *c, const struct layer_state *st, unsigned layer)
{
    const uint16_t *counts = &st->counts[(size_t)layer * c->kinds];
    int64_t total = c->before[layer];
    for (unsigned k = 0; k < c->kinds; k++)
        total += c->costs[layer][k] * (c->quantity == DHEN_SHARED_PARAMETERS ? counts[k] > 0 : counts[k]);
    return total;
}

int64_t dhen_counter_count(struct dhen_counter *c, const struct dhen_sizes *sizes, const struct layer_state *st,
                           unsigned from)
{
    if (from == 0)
        prepare_layer(c, sizes, st, 0, 0);
    for (unsigned layer = from; layer + 1 < st->layers; layer++)
        prepare_layer(c, sizes, st, layer + 1, count_through(c, st, layer));
    return count_through(c, st, st->layers - 1);
}
