/* The language model: a decoder-only transformer over bytes, its parameters in ZeRO's units.
 *
 *     unit 0              embedding   (vocab + seq) · hidden       token table, position table
 *     unit 1 ... layers   layer       12 hidden² + 13 hidden       y = x + attention(norm(x)), then y + mlp(norm(y))
 *     unit layers + 1     head        2 hidden + hidden · vocab    last norm's gain and bias, output weight
 *
 * The output weight is not tied to the token table, so that no unit is needed twice in a pass.
 *
 * Memory of a pass over n = micro_batch · seq rows, in 4-byte elements, each term one block of the device:
 *
 *     x = n hidden                         the input of a layer or of the head, and the gradient d
 *     k = 15 n hidden + 4 n + n heads seq  what a layer saves for the backward pass
 *     w = 5 n hidden + seq²                scratch space of the backward pass
 *
 * The peak of a rank is its permanent state (struct zero), the communication window, the tokens (2 n bytes) and the
 * larger of two moments, where K is `layers`, or with activation checkpointing 1 (0 in the head):
 *
 *     head              (layers + 3) x + K k + 2 n + n vocab    inputs, d and norm, statistics, logits
 *     last layer back   (layers + 1) x + K k + w                inputs and d
 *
 * plus, in each case, the gradients of that unit and, at stage 3, its gathered parameters. (The embedding always needs
 * less than the head.) */
#pragma once

#include <stdbool.h>

#include "trainer/ranks.h"

struct model_shape {
    size_t layers, hidden;
    size_t heads; /* divides hidden */
    size_t seq, vocab, micro_batch;
    bool checkpointing; /* save only the layers' inputs and recompute the rest in the backward pass */
};

/* One rank's model. The shape, and of `zero` what zero_open() wants, are set before model_open(). */
struct model {
    struct model_shape shape;
    struct zero zero;
};

/* The next 64 random bits, by SplitMix64 (Steele, Lea and Flood 2014); advances *state, which any value may seed. */
uint64_t random_bits(uint64_t *state);

size_t model_parameters(const struct model_shape *shape);

/* Allocates the state and sets initial parameters, which depend on seed and shape alone. All ranks call it together. */
void model_open(struct model *m, uint64_t seed);

/* A forward and a backward pass over micro_batch sequences of seq tokens, each with the next one as its target: adds to
 * the ranks' gradients and returns this rank's sum of losses, times scale. All ranks call it together. The device's
 * memory is afterwards as before. */
real model_pass(struct model *m, const unsigned char *tokens, const unsigned char *targets, real scale);
