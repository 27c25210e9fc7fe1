/*
 * One transformer layer: x + attention(norm(x)), then that + mlp(norm(that)).
 *
 * A layer of width h has 12 h² + 13 h parameters in one array, in the order of enum block_tensor. What its
 * forward pass keeps for the way back, for n = batch × seq rows and a heads, is 15 n h + 4 n + n a seq
 * elements in one array (enum block_kept) besides its n h input; the way back needs 5 n h + seq² more.
 */
#ifndef TRAINER_BLOCK_H
#define TRAINER_BLOCK_H

#include "trainer/ops.h"

enum block_tensor {
    BLOCK_NORM1_GAIN,
    BLOCK_NORM1_BIAS,
    BLOCK_QKV_WEIGHT,
    BLOCK_QKV_BIAS,
    BLOCK_PROJECTION_WEIGHT,
    BLOCK_PROJECTION_BIAS,
    BLOCK_NORM2_GAIN,
    BLOCK_NORM2_BIAS,
    BLOCK_UP_WEIGHT,
    BLOCK_UP_BIAS,
    BLOCK_DOWN_WEIGHT,
    BLOCK_DOWN_BIAS,
    BLOCK_TENSORS,
};

enum block_kept {
    KEPT_NORM1,
    KEPT_NORM1_STATISTICS,
    KEPT_QKV,
    KEPT_WEIGHTS,
    KEPT_ATTENTION,
    KEPT_MIDDLE,
    KEPT_NORM2,
    KEPT_NORM2_STATISTICS,
    KEPT_UP,
    KEPT_ACTIVATED,
    KEPT_TENSORS,
};

/* The parameters of a layer of a width. */
size_t block_parameters(size_t hidden);

/* The elements of one tensor; the tensors before it in the array add up to its place. */
size_t block_tensor_elements(enum block_tensor tensor, size_t hidden);

/* What the forward pass keeps, without the input. */
size_t block_kept_elements(const struct attention *shape);

/* The room that block_backward() works in. */
size_t block_scratch_elements(const struct attention *shape);

/* out and in hold batch × seq × hidden elements; kept block_kept_elements(). */
void block_forward(real *out, real *kept, const real *in, const real *parameters, const struct attention *shape);

/* What a backward pass reads besides the derivative by the output. */
struct block_pass {
    const real *in;
    real *kept; /* read only */
    const real *parameters;
    real *scratch; /* overwritten; block_scratch_elements() */
};

/* d is the derivative by the output and becomes that by the input; adds to d_parameters. */
void block_backward(real *d, real *d_parameters, const struct block_pass *pass, const struct attention *shape);

#endif
