/*
 * The language model: a decoder-only transformer over bytes, its parameters in ZeRO's units.
 *
 *     unit 0              embedding   (vocab + seq) · hidden       token table, position table
 *     unit 1 ... layers   layer       12 hidden² + 13 hidden       block.h
 *     unit layers + 1     head        2 hidden + hidden · vocab    last norm's gain and bias, output weight
 *
 * The output weight is not tied to the token table, so that no unit is needed twice in a pass.
 *
 * Memory of a pass over n = micro_batch · seq rows, in 4-byte elements, each term one block of the device:
 *
 *     x = n hidden                         the input of a layer or of the head, and the gradient d
 *     k = 15 n hidden + 4 n + n heads seq  what a layer saves (block.h)
 *     w = 5 n hidden + seq²                scratch space of the backward pass
 *
 * The peak of a rank is its permanent state (zero.h), the communication window, the tokens (2 n bytes) and
 * the larger of two moments, where K is `layers`, or with activation checkpointing 1 (0 in the head):
 *
 *     head              (layers + 3) x + K k + 2 n + n vocab    inputs, d and norm, statistics, logits
 *     last layer back   (layers + 1) x + K k + w                inputs and d
 *
 * plus, in each case, the gradients of that unit and, at stage 3, its gathered parameters. (The embedding
 * always needs less than the head.)
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

/* Sets values[model_unit_parameters()] to the unit's initial values; depends on seed and shape alone. */
void model_init_unit(const struct model_shape *shape, int unit, uint64_t seed, real *values);

/* What one rank's passes use. All borrowed. */
struct model {
    struct model_shape shape;
    int micro_batch;
    bool checkpointing; /* save only the layers' inputs and recompute the rest in the backward pass */
    struct zero *zero;
    struct device *device;
};

/* micro_batch sequences of seq tokens, and for each token the next one. */
struct model_batch {
    const unsigned char *tokens;
    const unsigned char *targets;
    real loss_scale; /* of the sum over all tokens */
};

/*
 * A forward and a backward pass: adds to the ranks' gradients and sets *loss to this rank's scaled loss. All
 * ranks call it together. 0, or -1 with *e if the device is full. In either case the device's memory is as
 * before.
 */
int model_pass(struct model *m, const struct model_batch *batch, real *loss, struct error *e);

#endif
