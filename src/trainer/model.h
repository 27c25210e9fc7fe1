/*
 * The language model: a decoder-only transformer over bytes, its parameters in ZeRO's units.
 *
 *     unit 0              embedding   (vocab + seq) · hidden       token table, position table
 *     unit 1 ... layers   layer       12 hidden² + 13 hidden       block.h
 *     unit layers + 1     head        2 hidden + hidden · vocab    last norm's gain and bias, output weight
 *
 * The output weight is not tied to the token table, so that no unit is needed at two moments of a pass.
 *
 * Memory of a pass over n = micro_batch · seq rows, in 4-byte elements, each term one block of the device:
 *
 *     x = n hidden                         the input of a layer or of the head, and the derivative d
 *     k = 15 n hidden + 4 n + n heads seq  what a layer keeps (block.h)
 *     w = 5 n hidden + seq²                what the way back works in
 *
 * The peak of a rank is its permanent state (zero.h), the communication window, the tokens (2 n bytes) and
 * the larger of two moments, where K is `layers`, or with activation checkpointing 1 (0 in the head):
 *
 *     head              (layers + 3) x + K k + 2 n + n vocab    inputs, d and norm, statistics, logits
 *     last layer back   (layers + 1) x + K k + w                inputs and d
 *
 * and with each the derivatives of that unit, and at stage 3 its gathered parameters. (The embedding's moment
 * is always below the head's.)
 */
#ifndef TRAINER_MODEL_H
#define TRAINER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/block.h"
#include "trainer/zero.h"

struct model_shape {
    int layers;
    int hidden;
    int heads;
    int seq;
    int vocab;
};

int model_unit_count(const struct model_shape *shape);
size_t model_unit_parameters(const struct model_shape *shape, int unit);
size_t model_parameters(const struct model_shape *shape);

/* Fills values[model_unit_parameters()] with the unit's starting values, which depend on seed and shape
 * alone. */
void model_init_unit(const struct model_shape *shape, int unit, uint64_t seed, real *values);

/* One rank's work space for passes. Everything is borrowed. */
struct model {
    struct model_shape shape;
    int micro_batch;
    bool checkpointing; /* keep only the layers' inputs and recompute the rest on the way back */
    struct zero *zero;
    struct device *device;
};

/* micro_batch sequences of seq tokens, and for each token the one that follows. */
struct model_batch {
    const unsigned char *tokens;
    const unsigned char *targets;
    real loss_scale; /* of the sum over all tokens */
};

/*
 * A forward and a backward pass: adds the derivatives to the ranks' gradients and overwrites *loss with this
 * rank's scaled loss. All ranks call it together. 0, or -1 with *e when the device is full. Either
 * way the device holds after it what it held before.
 */
int model_pass(struct model *m, const struct model_batch *batch, real *loss, struct error *e);

#endif
