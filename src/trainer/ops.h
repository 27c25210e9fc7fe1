/*
 * The model's operations and their gradients, on row-major arrays of rows × columns.
 *
 * A forward function overwrites its output. A backward function takes d_out, the gradient of the loss with
 * respect to its output. It adds to the gradients of its weights, in which micro-batches accumulate, and
 * overwrites the gradient of its input unless noted. Arrays must not overlap unless noted.
 * Every function is checked against finite differences in tests/unit/test_trainer_ops.c.
 */
#ifndef TRAINER_OPS_H
#define TRAINER_OPS_H

#include <stddef.h>

#include "trainer/matmul.h"

/* out[rows × outputs] = in[rows × inputs] · weight[inputs × outputs] + bias[outputs] */
struct linear {
    size_t rows;
    size_t inputs;
    size_t outputs;
};

/* bias may be NULL. */
void linear_forward(real *out, const real *in, const real *weight, const real *bias, struct linear shape);

/* Overwrites d_in with the gradient of the input. */
void linear_backward_input(real *d_in, const real *d_out, const real *weight, struct linear shape);

/* Adds to d_weight and, unless NULL, d_bias. */
void linear_backward_weight(real *d_weight, real *d_bias, const real *in, const real *d_out, struct linear shape);

/* Rows normalised to mean 0 and variance 1, then scaled and shifted by column. */
struct layernorm {
    const real *gain;
    const real *bias;
    size_t rows;
    size_t columns;
};

/* statistics[2 × rows] saves each row's mean and reciprocal standard deviation for the backward pass. */
void layernorm_forward(real *out, real *statistics, const real *in, const struct layernorm *norm);

/* Adds to d_in, d_gain and d_bias; d_in already holds the gradient from the residual connection. */
struct layernorm_derivatives {
    real *d_in;
    real *d_gain;
    real *d_bias;
};
void layernorm_backward(struct layernorm_derivatives d, const real *d_out, const real *in, const real *statistics,
                        const struct layernorm *norm);

/* max(x, 0)²: as good as GELU in a language model (So et al. 2021, "Primer"), smooth, and it vectorises. */
void squared_relu_forward(real *out, const real *in, size_t count);

/* d is the gradient of the output and is overwritten with that of the input. */
void squared_relu_backward(real *d, const real *in, size_t count);

/*
 * Causal self-attention of `batch` sequences of `seq` rows. A row of qkv is query, key and value, each
 * `hidden` long; a head owns hidden / heads columns of each.
 */
struct attention {
    size_t batch;
    size_t seq;
    size_t heads;
    size_t hidden;
};

/* weights[batch × heads × seq × seq] saves the softmax for the backward pass. */
void attention_forward(real *out, real *weights, const real *qkv, const struct attention *shape);

/* Overwrites d_qkv; scratch holds seq × seq elements. */
void attention_backward(real *d_qkv, const real *d_out, const real *qkv, const real *weights, real *scratch,
                        const struct attention *shape);

/* out[rows × columns]: row i is token_table[tokens[i]] + position_table[i % seq]. */
struct embedding {
    const unsigned char *tokens;
    size_t rows;
    size_t seq;
    size_t columns;
};
void embedding_forward(real *out, const real *token_table, const real *position_table, const struct embedding *shape);

/* Adds to both tables' gradients. */
void embedding_backward(real *d_token_table, real *d_position_table, const real *d_out, const struct embedding *shape);

/*
 * Softmax cross-entropy of rows × columns logits against one target per row, times scale. Returns the sum
 * over the rows and overwrites the logits with their gradients.
 */
struct cross_entropy {
    const unsigned char *targets;
    size_t rows;
    size_t columns;
    real scale;
};
real cross_entropy_forward_backward(real *logits, const struct cross_entropy *shape);

/* out += in */
void add_to(real *out, const real *in, size_t count);

#endif
