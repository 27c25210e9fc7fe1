/* Parameter counts of DHEN models (arXiv 2203.11014) as the ZHEN implementation builds them: a stack of
 * layers, each an ensemble of token mixers whose outputs are concatenated, with a skip connection from the
 * layer before.
 *
 * F embeddings of dimension D enter; every mixer puts out O embeddings, so that a layer puts out O times its
 * number of mixers. A layer with p embeddings coming in and s coming over the skip connection (the input of
 * the layer before; the first layer has none) has
 *
 *   skip matcher  p·s + p where p ≠ s
 *   norm          2·D
 *   DOT           512·p² + 512 + 512·O·D + O·D
 *   LINEAR        O·p + O
 *   ATTENTION     4·D² + 2·2048·D + 2048 + 2·D + 4·D + O·p + O
 *   CONVOLUTION   5·5 + 1 + O·p + O
 *
 * In that implementation the mixers of one kind in a layer share their weights, though each adds O outputs.
 * F = 512, D = 160, O = 50 and four layers of [ATTENTION, LINEAR, ATTENTION, DOT] give 215,334,328.
 *
 * Floating-point operations of one sample, forward, a multiplication of m×n by n×k being 2·m·n·k. Biases, norms,
 * activations, softmax and the addition of the skip connection are left out, as predict/flops.h leaves them:
 *
 *   skip matcher  2·p·s·D where p ≠ s
 *   DOT           2·p²·D + 2·512·p² + 2·512·O·D          all pairs of embeddings, hidden layer, outputs
 *   LINEAR        2·O·p·D
 *   ATTENTION     2·O·p·D + 8·O·D² + 4·O²·D + 4·2048·O·D compressed to O embeddings first; then queries, keys,
 *                                                        values and projection, scores and their sums, feed-forward
 *   CONVOLUTION   2·5·5·p·D + 2·O·p·D
 *
 * Mixers that share weights are computed each on its own. The backward pass takes twice the forward one. The base
 * above takes 1,251,521,536 forward. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/model_space.h"
#include "models/layer_stack.h"

#define DHEN_TRAINING_PASSES 3 /* FLOPs of a training step in forward passes */

enum dhen_mixer { DHEN_NONE = 0, DHEN_DOT, DHEN_LINEAR, DHEN_ATTENTION, DHEN_CONVOLUTION, DHEN_MIXER_END };

/* What is counted: parameters where the mixers of one kind in a layer share theirs, where each has its own, and forward
 * FLOPs of one sample, of which each mixer has its own. */
enum dhen_quantity { DHEN_SHARED_PARAMETERS = 0, DHEN_PARAMETERS, DHEN_FLOPS };

struct dhen_sizes {
    int64_t features;       /* F; used by callers, who pass it as the first layer's inputs */
    int64_t emb_dim;        /* D */
    int64_t output_per_emb; /* O */
};

/* "DOT", "LINEAR", "ATTENTION", "CONVOLUTION"; DHEN_NONE for any other name. */
enum dhen_mixer dhen_mixer_from_name(const char *name);

/* All below: false, with `out` untouched, when a size is not positive or the count exceeds 64 bits.
 * `inputs` is p, `skip` is s; for the first layer s is p, which stands for no skip connection. */

/* Counts what a layer has whatever its mixers: norm and skip matcher. */
bool dhen_frame(const struct dhen_sizes *sizes, enum dhen_quantity quantity, int64_t inputs, int64_t skip,
                int64_t *out);

/* One mixer on its own. */
bool dhen_mixer(const struct dhen_sizes *sizes, enum dhen_quantity quantity, int64_t inputs, enum dhen_mixer mixer,
                int64_t *out);

/* A whole layer with `counts[m]` mixers of kind m (counts[DHEN_NONE] is ignored). */
bool dhen_layer(const struct dhen_sizes *sizes, enum dhen_quantity quantity, int64_t inputs, int64_t skip,
                const int64_t counts[DHEN_MIXER_END], int64_t *out);

/* The parameters, or the FLOPs, of one DHEN candidate after another, counting again only the layers that changed: a
 * step inside the last layer costs one multiplication per kind of mixer. Pure. */

struct dhen_counter {
    enum dhen_quantity quantity;
    enum dhen_mixer mixers[LAYER_KINDS_MAX];
    unsigned kinds;
    /* For layer i: the quantity of the layers before it and of its own frame; what a mixer of each kind costs in it. */
    int64_t before[LAYER_COUNT_MAX];
    int64_t costs[LAYER_COUNT_MAX][LAYER_KINDS_MAX];
};

/* The key's kinds are DHEN mixers. Owns nothing. */
struct dhen_counter dhen_counter_make(const struct space_key *key, enum dhen_quantity quantity);

/* Returns whether `layers` layers of up to `layer_size` mixers can be counted in 64 bits with sizes up to `largest`.
 * A bound: true is certain, false may be wrong within a factor of the number of kinds. */
bool dhen_counter_fits(const struct dhen_counter *c, const struct dhen_sizes *largest, unsigned layers,
                       unsigned layer_size);

/* Parameters or forward FLOPs of the model, which must be within what dhen_counter_fits has granted. The layers before
 * `from` are as in the last call, and so are `sizes` unless `from` is 0. */
int64_t dhen_counter_count(struct dhen_counter *c, const struct dhen_sizes *sizes, const struct layer_state *st,
                           unsigned from);
