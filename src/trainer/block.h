/*
 * One transformer layer: y = x + attention(norm(x)), then y + mlp(norm(y)).
 *
 * A layer of width h has 12 h² + 13 h parameters in one array, in the order of enum block_tensor. For
 * n = batch × seq rows and a heads, the forward pass saves 15 n h + 4 n + n a seq elements for the backward
 * pass, in one array (enum block_kept), besides its n h input. The backward pass needs 5 n h + seq² more.
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

/* The number of parameters of a layer. */
size_t block_parameters(size_t hidden);

/* The number of elements of one tensor; its offset is the sum of the tensors before it. */
size_t block_tensor_elements(enum block_tensor tensor, size_t hidden);

/* The number of elements that the forward pass saves, without the input. */
size_t block_kept_elements(const struct attention *shape);

/* The size of the scratch space of block_backward(), in elements. */
size_t block_scratch_elements(const struct attention *shape);

/* out and in hold batch × seq × hidden elements; kept block_kept_elements(). */
void block_forward(real *out, real *kept, const real *in, const real *parameters, const struct attention *shape);

/* Inputs of a backward pass besides the gradient of the output. */
struct block_pass {
    const real *in;
    real *kept; /* read only */
    const real *parameters;
    real *scratch; /* overwritten; block_scratch_elements() */
};

/* d is the gradient of the output and is overwritten with that of the input; adds to d_parameters. */
void block_backward(real *d, real *d_parameters, const struct block_pass *pass, const struct attention *shape);

#endif
