#include "models/dhen.h"

#include <assert.h>
#include <string.h>

/* A product: a factor, and up to three of O, D, p and s. */
enum base { ONE = 0, O, D, P, S };
struct term {
    int64_t factor; /* 0: after the last */
    enum base by[3];
};

/* The formulas of models/dhen.h. 512 is the hidden layer behind the dot products, 2048 torch's default feed-forward
 * width of an encoder layer, 5 the side of a convolution's kernel. DHEN_NONE has what every layer has. */
static const struct {
    const char *name;
    struct term parameters[6], flops[6];
} mixers[DHEN_MIXER_END] = {
    [DHEN_NONE] = {"", {{2, {D}}}, {{0}}},
    [DHEN_DOT] = {"DOT",
                  {{512, {P, P}}, {512, {ONE}}, {512, {O, D}}, {1, {O, D}}},
                  {{2, {P, P, D}}, {2 * 512, {P, P}}, {2 * 512, {O, D}}}},
    [DHEN_LINEAR] = {"LINEAR", {{1, {O, P}}, {1, {O}}}, {{2, {O, P, D}}}},
    [DHEN_ATTENTION] = {"ATTENTION",
                        {{4, {D, D}}, {2 * 2048 + 2 + 4, {D}}, {2048, {ONE}}, {1, {O, P}}, {1, {O}}},
                        {{2, {O, P, D}}, {8, {O, D, D}}, {4, {O, O, D}}, {4 * 2048, {O, D}}}},
    [DHEN_CONVOLUTION] = {"CONVOLUTION",
                          {{5 * 5 + 1, {ONE}}, {1, {O, P}}, {1, {O}}},
                          {{2 * 5 * 5, {P, D}}, {2, {O, P, D}}}},
};
static const struct term matcher_parameters[] = {{1, {P, S}}, {1, {P}}, {0}}, matcher_flops[] = {{2, {P, S, D}}, {0}};

enum dhen_mixer dhen_mixer_from_name(const char *name)
{
    for (int m = DHEN_NONE + 1; m < DHEN_MIXER_END; m++)
        if (strcmp(name, mixers[m].name) == 0)
            return (enum dhen_mixer)m;
    return DHEN_NONE;
}

/* Adds the terms to `*total`; false: a size is not positive, or the sum exceeds 64 bits. */
static bool add_terms(const struct term *terms, const struct dhen_sizes *z, int64_t inputs, int64_t skip,
                      int64_t *total)
{
    const int64_t bases[] = {[ONE] = 1, [O] = z->output_per_emb, [D] = z->emb_dim, [P] = inputs, [S] = skip};
    bool exceeds = false;
    if (z->output_per_emb <= 0 || z->emb_dim <= 0 || inputs <= 0 || skip <= 0)
        return false;
    for (int64_t product; terms->factor; terms++)
        exceeds |= __builtin_mul_overflow(terms->factor, bases[terms->by[0]], &product) ||
                   __builtin_mul_overflow(product, bases[terms->by[1]], &product) ||
                   __builtin_mul_overflow(product, bases[terms->by[2]], &product) ||
                   __builtin_add_overflow(*total, product, total);
    return !exceeds;
}

bool dhen_frame(const struct dhen_sizes *sizes, enum dhen_quantity quantity, int64_t inputs, int64_t skip, int64_t *out)
{
    const bool flops = quantity == DHEN_FLOPS;
    int64_t total = 0;
    bool fits = add_terms(flops ? mixers[DHEN_NONE].flops : mixers[DHEN_NONE].parameters, sizes, inputs, skip, &total);
    if (fits && skip != inputs)
        fits = add_terms(flops ? matcher_flops : matcher_parameters, sizes, inputs, skip, &total);
    *out = fits ? total : *out;
    return fits;
}

bool dhen_mixer(const struct dhen_sizes *sizes, enum dhen_quantity quantity, int64_t inputs, enum dhen_mixer mixer,
                int64_t *out)
{
    int64_t total = 0;
    if (mixer <= DHEN_NONE || mixer >= DHEN_MIXER_END ||
        !add_terms(quantity == DHEN_FLOPS ? mixers[mixer].flops : mixers[mixer].parameters, sizes, inputs, 1, &total))
        return false;
    *out = total;
    return true;
}

bool dhen_layer(const struct dhen_sizes *sizes, enum dhen_quantity quantity, int64_t inputs, int64_t skip,
                const int64_t counts[DHEN_MIXER_END], int64_t *out)
{
    int64_t total = 0, one;
    bool fits = dhen_frame(sizes, quantity, inputs, skip, &total);
    for (int m = DHEN_NONE + 1; fits && m < DHEN_MIXER_END; m++)
        if (counts[m] > 0)
            fits = dhen_mixer(sizes, quantity, inputs, (enum dhen_mixer)m, &one) &&
                   !__builtin_mul_overflow(one, quantity == DHEN_SHARED_PARAMETERS ? 1 : counts[m], &one) &&
                   !__builtin_add_overflow(total, one, &total);
    *out = fits ? total : *out;
    return fits;
}

struct dhen_counter dhen_counter_make(const struct space_key *key, enum dhen_quantity quantity)
{
    struct dhen_counter c = {.quantity = quantity, .kinds = (unsigned)key->kinds.count};
    for (unsigned k = 0; k < c.kinds; k++)
        c.mixers[k] = dhen_mixer_from_name(key->kinds.items[k]);
    return c;
}

/* As if every layer had the widest inputs, `layer_size` mixers of every kind, and a skip matcher. */
bool dhen_counter_fits(const struct dhen_counter *c, const struct dhen_sizes *largest, unsigned layers,
                       unsigned layer_size)
{
    int64_t widest, one_layer = 0, all_layers;
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
