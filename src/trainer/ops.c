#include "trainer/ops.h"

#include <assert.h>
#include <string.h>
#include <tgmath.h>

static const real LAYERNORM_EPSILON = (real)1e-5;

void add_to(real *restrict out, const real *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] += in[i];
}

void linear_forward(real *out, const real *in, const real *weight, const real *bias, struct linear shape)
{
    size_t row_bytes = shape.outputs * sizeof *out;

    if (!bias)
        memset(out, 0, shape.rows * row_bytes);
    for (size_t i = 0; bias && i < shape.rows; i++)
        memcpy(out + i * shape.outputs, bias, row_bytes);
    matmul_add(out, shape.outputs, matrix_rows(in, shape.inputs), matrix_rows(weight, shape.outputs),
               (struct matmul_size){shape.rows, shape.outputs, shape.inputs});
}

void linear_backward_input(real *d_in, const real *d_out, const real *weight, struct linear shape)
{
    memset(d_in, 0, shape.rows * shape.inputs * sizeof *d_in);
    matmul_add(d_in, shape.inputs, matrix_rows(d_out, shape.outputs), matrix_transposed(weight, shape.outputs),
               (struct matmul_size){shape.rows, shape.inputs, shape.outputs});
}

void linear_backward_weight(real *d_weight, real *d_bias, const real *in, const real *d_out, struct linear shape)
{
    matmul_add(d_weight, shape.outputs, matrix_transposed(in, shape.inputs), matrix_rows(d_out, shape.outputs),
               (struct matmul_size){shape.inputs, shape.outputs, shape.rows});
    for (size_t i = 0; d_bias && i < shape.rows; i++)
        add_to(d_bias, d_out + i * shape.outputs, shape.outputs);
}

static void layernorm_row(real *out, real *statistics, const real *in, const struct layernorm *norm)
{
    real mean = 0, variance = 0;

    for (size_t j = 0; j < norm->columns; j++)
        mean += in[j];
    mean /= (real)norm->columns;
    for (size_t j = 0; j < norm->columns; j++)
        variance += (in[j] - mean) * (in[j] - mean);
    variance /= (real)norm->columns;

    real scale = 1 / sqrt(variance + LAYERNORM_EPSILON);
    for (size_t j = 0; j < norm->columns; j++)
        out[j] = (in[j] - mean) * scale * norm->gain[j] + norm->bias[j];
    statistics[0] = mean;
    statistics[1] = scale;
}

void layernorm_forward(real *out, real *statistics, const real *in, const struct layernorm *norm)
{
    for (size_t i = 0; i < norm->rows; i++)
        layernorm_row(out + i * norm->columns, statistics + 2 * i, in + i * norm->columns, norm);
}

static void layernorm_row_backward(struct layernorm_derivatives d, const real *d_out, const real *in,
                                   const real *statistics, const struct layernorm *norm)
{
    real mean = statistics[0], scale = statistics[1];
    real sum = 0, sum_normal = 0;

    for (size_t j = 0; j < norm->columns; j++) {
        real normal = (in[j] - mean) * scale;
        real d_normal = d_out[j] * norm->gain[j];
        sum += d_normal;
        sum_normal += d_normal * normal;
        d.d_gain[j] += d_out[j] * normal;
        d.d_bias[j] += d_out[j];
    }
    sum /= (real)norm->columns;
    sum_normal /= (real)norm->columns;
    for (size_t j = 0; j < norm->columns; j++) {
        real normal = (in[j] - mean) * scale;
        d.d_in[j] += scale * (d_out[j] * norm->gain[j] - sum - normal * sum_normal);
    }
}

void layernorm_backward(struct layernorm_derivatives d, const real *d_out, const real *in, const real *statistics,
                        const struct layernorm *norm)
{
    for (size_t i = 0; i < norm->rows; i++) {
        size_t at = i * norm->columns;
        struct layernorm_derivatives row = {d.d_in + at, d.d_gain, d.d_bias};
        layernorm_row_backward(row, d_out + at, in + at, statistics + 2 * i, norm);
    }
}

void squared_relu_forward(real *restrict out, const real *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        real x = in[i] > 0 ? in[i] : 0;
        out[i] = x * x;
    }
}

void squared_relu_backward(real *restrict d, const real *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        d[i] *= 2 * (in[i] > 0 ? in[i] : 0);
}

/* Offsets of one head of one sequence in qkv-shaped, hidden-shaped and weights-shaped arrays. */
struct head {
    size_t seq;
    size_t hidden;
    size_t width;
    size_t qkv_row;
    size_t query;
    size_t key;
    size_t value;
    size_t out;
    size_t weights;
    real scale;
};

static struct head head_at(const struct attention *shape, size_t sequence, size_t index)
{
    size_t width = shape->hidden / shape->heads;
    size_t query = sequence * shape->seq * 3 * shape->hidden + index * width;

    return (struct head){
        .seq = shape->seq,
        .hidden = shape->hidden,
        .width = width,
        .qkv_row = 3 * shape->hidden,
        .query = query,
        .key = query + shape->hidden,
        .value = query + 2 * shape->hidden,
        .out = sequence * shape->seq * shape->hidden + index * width,
        .weights = (sequence * shape->heads + index) * shape->seq * shape->seq,
        .scale = 1 / sqrt((real)width),
    };
}

/* Row i of a causal softmax: columns beyond i get no weight. */
static void softmax_causal_row(real *row, size_t i, size_t seq, real scale)
{
    real highest = row[0], sum = 0;

    for (size_t j = 1; j <= i; j++)
        highest = row[j] > highest ? row[j] : highest;
    for (size_t j = 0; j <= i; j++) {
        row[j] = exp((row[j] - highest) * scale);
        sum += row[j];
    }
    for (size_t j = 0; j <= i; j++)
        row[j] /= sum;
    memset(row + i + 1, 0, (seq - i - 1) * sizeof *row);
}

static void head_forward(real *out, real *weights, const real *qkv, const struct head *h)
{
    size_t seq = h->seq;

    memset(weights, 0, seq * seq * sizeof *weights);
    matmul_add(weights, seq, matrix_rows(qkv + h->query, h->qkv_row), matrix_transposed(qkv + h->key, h->qkv_row),
               (struct matmul_size){seq, seq, h->width});
    for (size_t i = 0; i < seq; i++)
        softmax_causal_row(weights + i * seq, i, seq, h->scale);
    matmul_add(out + h->out, h->hidden, matrix_rows(weights, seq), matrix_rows(qkv + h->value, h->qkv_row),
               (struct matmul_size){seq, h->width, seq});
}

void attention_forward(real *out, real *weights, const real *qkv, const struct attention *shape)
{
    assert(shape->hidden % shape->heads == 0);
    memset(out, 0, shape->batch * shape->seq * shape->hidden * sizeof *out);
    for (size_t b = 0; b < shape->batch; b++)
        for (size_t i = 0; i < shape->heads; i++) {
            struct head h = head_at(shape, b, i);
            head_forward(out, weights + h.weights, qkv, &h);
        }
}

/* d is the gradient of the softmax and is overwritten with that of the unscaled scores. */
static void softmax_backward(real *d, const real *weights, size_t seq, real scale)
{
    for (size_t i = 0; i < seq; i++, d += seq, weights += seq) {
        real sum = 0;
        for (size_t j = 0; j <= i; j++)
            sum += d[j] * weights[j];
        for (size_t j = 0; j <= i; j++)
            d[j] = weights[j] * (d[j] - sum) * scale;
        memset(d + i + 1, 0, (seq - i - 1) * sizeof *d);
    }
}

static void head_backward(real *d_qkv, const real *d_out, const real *qkv, const real *weights, real *scores,
                          const struct head *h)
{
    size_t seq = h->seq;
    struct matrix d_out_rows = matrix_rows(d_out + h->out, h->hidden);
    struct matmul_size to_head = {seq, h->width, seq};

    memset(scores, 0, seq * seq * sizeof *scores);
    matmul_add(scores, seq, d_out_rows, matrix_transposed(qkv + h->value, h->qkv_row),
               (struct matmul_size){seq, seq, h->width});
    matmul_add(d_qkv + h->value, h->qkv_row, matrix_transposed(weights, seq), d_out_rows, to_head);
    softmax_backward(scores, weights, seq, h->scale);
    matmul_add(d_qkv + h->query, h->qkv_row, matrix_rows(scores, seq), matrix_rows(qkv + h->key, h->qkv_row), to_head);
    matmul_add(d_qkv + h->key, h->qkv_row, matrix_transposed(scores, seq), matrix_rows(qkv + h->query, h->qkv_row),
               to_head);
}

void attention_backward(real *d_qkv, const real *d_out, const real *qkv, const real *weights, real *scratch,
                        const struct attention *shape)
{
    memset(d_qkv, 0, shape->batch * shape->seq * 3 * shape->hidden * sizeof *d_qkv);
    for (size_t b = 0; b < shape->batch; b++)
        for (size_t i = 0; i < shape->heads; i++) {
            struct head h = head_at(shape, b, i);
            head_backward(d_qkv, d_out, qkv, weights + h.weights, scratch, &h);
        }
}

void embedding_forward(real *out, const real *token_table, const real *position_table, const struct embedding *shape)
{
    for (size_t i = 0; i < shape->rows; i++) {
        real *row = out + i * shape->columns;
        memcpy(row, token_table + shape->tokens[i] * shape->columns, shape->columns * sizeof *row);
        add_to(row, position_table + i % shape->seq * shape->columns, shape->columns);
    }
}

void embedding_backward(real *d_token_table, real *d_position_table, const real *d_out, const struct embedding *shape)
{
    for (size_t i = 0; i < shape->rows; i++) {
        const real *row = d_out + i * shape->columns;
        add_to(d_token_table + shape->tokens[i] * shape->columns, row, shape->columns);
        add_to(d_position_table + i % shape->seq * shape->columns, row, shape->columns);
    }
}

static real cross_entropy_row(real *row, size_t target, size_t columns, real scale)
{
    real highest = row[0], sum = 0;

    for (size_t j = 1; j < columns; j++)
        highest = row[j] > highest ? row[j] : highest;
    real target_logit = row[target] - highest;
    for (size_t j = 0; j < columns; j++) {
        row[j] = exp(row[j] - highest);
        sum += row[j];
    }
    for (size_t j = 0; j < columns; j++)
        row[j] *= scale / sum;
    row[target] -= scale;
    return (log(sum) - target_logit) * scale;
}

real cross_entropy_forward_backward(real *logits, const struct cross_entropy *shape)
{
    real loss = 0;

    for (size_t i = 0; i < shape->rows; i++)
        loss += cross_entropy_row(logits + i * shape->columns, shape->targets[i], shape->columns, shape->scale);
    return loss;
}
