#include "models/dhen.h"

#include <string.h>

/* Widths that the implementation fixes: the hidden layer behind the dot products, and torch's default
 * feed-forward width of an encoder layer. */
#define DOT_HIDDEN 512
#define ATTENTION_HIDDEN 2048
#define CONVOLUTION_KERNEL 5

struct checked_sum {
    int64_t total;
    bool overflow;
};

/* Adds a·b·c, each at least 0. */
static void add_product(struct checked_sum *t, int64_t a, int64_t b, int64_t c)
{
    int64_t ab, abc;
    t->overflow |= __builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(ab, c, &abc) ||
                   __builtin_add_overflow(t->total, abc, &t->total);
}

static bool finish_sum(const struct checked_sum *t, int64_t *out)
{
    if (t->overflow)
        return false;
    *out = t->total;
    return true;
}

/* O outputs, each a weighted sum of the inputs. */
static void add_compression(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs)
{
    add_product(t, z->output_per_emb, inputs, 1);
    add_product(t, z->output_per_emb, 1, 1);
}

static void add_dot(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs)
{
    add_product(t, DOT_HIDDEN, inputs, inputs);
    add_product(t, DOT_HIDDEN, 1, 1);
    add_product(t, DOT_HIDDEN, z->output_per_emb, z->emb_dim);
    add_product(t, 1, z->output_per_emb, z->emb_dim);
}

static void add_attention(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs)
{
    add_product(t, 4, z->emb_dim, z->emb_dim);
    add_product(t, 2, ATTENTION_HIDDEN, z->emb_dim);
    add_product(t, ATTENTION_HIDDEN, 1, 1);
    add_product(t, 2 + 4, z->emb_dim, 1);
    add_compression(t, z, inputs);
}

static void add_convolution(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs)
{
    add_product(t, CONVOLUTION_KERNEL, CONVOLUTION_KERNEL, 1);
    add_product(t, 1, 1, 1);
    add_compression(t, z, inputs);
}

static int64_t multiply(struct checked_sum *t, int64_t a, int64_t b)
{
    int64_t product;
    t->overflow |= __builtin_mul_overflow(a, b, &product);
    return product;
}

/* O outputs of D numbers, each a weighted sum over the inputs. */
static void add_compression_flops(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs)
{
    add_product(t, 2, multiply(t, z->output_per_emb, z->emb_dim), inputs);
}

static void add_dot_flops(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs)
{
    int64_t pairs = multiply(t, inputs, inputs);
    add_product(t, 2, pairs, z->emb_dim);
    add_product(t, 2, DOT_HIDDEN, pairs);
    add_product(t, 2, DOT_HIDDEN, multiply(t, z->output_per_emb, z->emb_dim));
}

static void add_attention_flops(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs)
{
    int64_t numbers = multiply(t, z->output_per_emb, z->emb_dim); /* that the compressed embeddings hold */
    add_compression_flops(t, z, inputs);
    add_product(t, 8, numbers, z->emb_dim);
    add_product(t, 4, numbers, z->output_per_emb);
    add_product(t, 4, numbers, ATTENTION_HIDDEN);
}

static void add_convolution_flops(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs)
{
    add_product(t, 2 * CONVOLUTION_KERNEL * CONVOLUTION_KERNEL, inputs, z->emb_dim);
    add_compression_flops(t, z, inputs);
}

typedef void count_function(struct checked_sum *t, const struct dhen_sizes *z, int64_t inputs);

static const struct {
    const char *name;
    count_function *parameters, *flops;
} mixers[DHEN_MIXER_END] = {
    [DHEN_DOT] = {"DOT", add_dot, add_dot_flops},
    [DHEN_LINEAR] = {"LINEAR", add_compression, add_compression_flops},
    [DHEN_ATTENTION] = {"ATTENTION", add_attention, add_attention_flops},
    [DHEN_CONVOLUTION] = {"CONVOLUTION", add_convolution, add_convolution_flops},
};

enum dhen_mixer dhen_mixer_from_name(const char *name)
{
    for (int m = DHEN_NONE + 1; m < DHEN_MIXER_END; m++)
        if (strcmp(name, mixers[m].name) == 0)
            return (enum dhen_mixer)m;
    return DHEN_NONE;
}

static bool positive(const struct dhen_sizes *z, int64_t inputs)
{
    return z->emb_dim > 0 && z->output_per_emb > 0 && inputs > 0;
}

bool dhen_frame_parameters(const struct dhen_sizes *sizes, int64_t inputs, int64_t skip, int64_t *out)
{
    struct checked_sum t = {0};
    if (!positive(sizes, inputs) || skip <= 0)
        return false;
    add_product(&t, 2, sizes->emb_dim, 1);
    if (skip != inputs) {
        add_product(&t, inputs, skip, 1);
        add_product(&t, inputs, 1, 1);
    }
    return finish_sum(&t, out);
}

bool dhen_frame_flops(const struct dhen_sizes *sizes, int64_t inputs, int64_t skip, int64_t *out)
{
    struct checked_sum t = {0};
    if (!positive(sizes, inputs) || skip <= 0)
        return false;
    if (skip != inputs)
        add_product(&t, 2, multiply(&t, inputs, skip), sizes->emb_dim);
    return finish_sum(&t, out);
}

static bool count_mixer(int mixer, const struct dhen_sizes *sizes, int64_t inputs, bool flops, int64_t *out)
{
    struct checked_sum t = {0};
    if (!positive(sizes, inputs) || mixer <= DHEN_NONE || mixer >= DHEN_MIXER_END)
        return false;
    count_function *count = flops ? mixers[mixer].flops : mixers[mixer].parameters;
    count(&t, sizes, inputs);
    return finish_sum(&t, out);
}

bool dhen_mixer_parameters(enum dhen_mixer mixer, const struct dhen_sizes *sizes, int64_t inputs, int64_t *out)
{
    return count_mixer((int)mixer, sizes, inputs, false, out);
}

bool dhen_mixer_flops(enum dhen_mixer mixer, const struct dhen_sizes *sizes, int64_t inputs, int64_t *out)
{
    return count_mixer((int)mixer, sizes, inputs, true, out);
}

bool dhen_layer_parameters(const struct dhen_sizes *sizes, int64_t inputs, int64_t skip,
                           const int64_t counts[DHEN_MIXER_END], bool separate, int64_t *out)
{
    struct checked_sum t = {0};
    int64_t one = 0;
    if (!dhen_frame_parameters(sizes, inputs, skip, &t.total))
        return false;
    for (int m = DHEN_NONE + 1; m < DHEN_MIXER_END; m++) {
        if (counts[m] > 0 && !count_mixer(m, sizes, inputs, false, &one))
            return false;
        if (counts[m] > 0)
            add_product(&t, one, separate ? counts[m] : 1, 1);
    }
    return finish_sum(&t, out);
}

bool dhen_layer_flops(const struct dhen_sizes *sizes, int64_t inputs, int64_t skip,
                      const int64_t counts[DHEN_MIXER_END], int64_t *out)
{
    struct checked_sum t = {0};
    int64_t one = 0;
    if (!dhen_frame_flops(sizes, inputs, skip, &t.total))
        return false;
    for (int m = DHEN_NONE + 1; m < DHEN_MIXER_END; m++) {
        if (counts[m] > 0 && !count_mixer(m, sizes, inputs, true, &one))
            return false;
        if (counts[m] > 0)
            add_product(&t, one, counts[m], 1);
    }
    return finish_sum(&t, out);
}
