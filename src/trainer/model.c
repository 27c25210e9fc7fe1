#include "trainer/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double random_unit(uint64_t *state)
{
    return ((double)(random_bits(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* A draw from the normal distribution with mean 0 and deviation 1. */
static double random_normal(uint64_t *state)
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2 * log(random_unit(state)));
    return radius * cos(two_pi * random_unit(state));
}

/* Operations and their gradients, on row-major arrays of rows × columns. A forward function overwrites its output. A
 * backward function takes d_out, the gradient of the loss with respect to its output. It adds to the gradients of its
 * weights, in which micro-batches accumulate, and overwrites the gradient of its input unless noted. Arrays must not
 * overlap unless noted. */

/* A tile of out stays in registers while the inner dimension is walked: 4 × 8 floats are eight 128-bit registers, which
 * every 64-bit machine has. A panel of b (DEPTH × TILE_COLUMNS floats, 8 KiB) is copied side by side first, so that it
 * stays in the first-level cache while every row of a passes over it. */
enum { TILE_ROWS = 4, LANES = 4, TILE_COLUMNS = 2 * LANES, DEPTH = 256 };

/* A borrowed matrix: element (i, j) is data[i * row_stride + j * column_stride]. */
struct matrix {
    const real *data;
    size_t rows;
    size_t columns;
    size_t row_stride;
    size_t column_stride;
};

/* A row-major matrix whose rows lie `stride` elements apart. */
static struct matrix matrix_of(const real *data, size_t rows, size_t columns, size_t stride)
{
    return (struct matrix){data, rows, columns, stride, 1};
}

static struct matrix transposed(struct matrix m)
{
    return (struct matrix){m.data, m.columns, m.rows, m.column_stride, m.row_stride};
}

static size_t at_most(size_t value, size_t limit)
{
    return value < limit ? value : limit;
}

/* The part of m that begins at (row, column), at most rows × columns large. */
static struct matrix submatrix(struct matrix m, size_t row, size_t column, size_t rows, size_t columns)
{
    m.data += row * m.row_stride + column * m.column_stride;
    m.rows = at_most(m.rows - row, rows);
    m.columns = at_most(m.columns - column, columns);
    return m;
}

/* Columns beyond the matrix are zero, so that the tile need not know its width. */
static void pack_panel(real *restrict panel, struct matrix b)
{
    for (size_t k = 0; k < b.rows; k++)
        for (size_t j = 0; j < TILE_COLUMNS; j++)
            panel[k * TILE_COLUMNS + j] = j < b.columns ? b.data[k * b.row_stride + j * b.column_stride] : 0;
}

/* Vectors are written out and rows unrolled: gcc keeps sums of plain loops in memory, at half of the speed. No wider
 * instruction set is chosen at run time: equal programs give equal losses on all machines of a kind. */
typedef real lanes __attribute__((vector_size(LANES * sizeof(real)), may_alias));

/* Rows beyond the matrix repeat its last row and are not stored: one loop shape for every tile. */
static void tile_add(real *out, size_t out_stride, struct matrix a, const real *panel, size_t columns)
{
    const real *row[TILE_ROWS];
    const lanes *b = (const lanes *)panel;
    lanes sum[TILE_ROWS][2] = {{{0}}};
    for (size_t i = 0; i < TILE_ROWS; i++)
        row[i] = a.data + at_most(i, a.rows - 1) * a.row_stride;
    for (size_t k = 0; k < a.columns; k++) {
#pragma GCC unroll 4
        for (size_t i = 0; i < TILE_ROWS; i++) {
            sum[i][0] += row[i][k * a.column_stride] * b[2 * k];
            sum[i][1] += row[i][k * a.column_stride] * b[2 * k + 1];
        }
    }
    for (size_t i = 0; i < a.rows; i++)
        for (size_t j = 0; j < columns; j++)
            out[i * out_stride + j] += sum[i][j / LANES][j % LANES];
}

/* out += a · b. The rows of out lie out_stride elements apart. The order in which one element's products are added
 * depends on a.columns alone, so equal inputs give equal bits whatever the other dimensions are. */
static void matmul_add(real *out, size_t out_stride, struct matrix a, struct matrix b)
{
    _Alignas(64) real panel[DEPTH * TILE_COLUMNS];
    for (size_t k = 0; k < a.columns; k += DEPTH)
        for (size_t j = 0; j < b.columns; j += TILE_COLUMNS) {
            struct matrix b_part = submatrix(b, k, j, DEPTH, TILE_COLUMNS);
            pack_panel(panel, b_part);
            for (size_t i = 0; i < a.rows; i += TILE_ROWS)
                tile_add(out + i * out_stride + j, out_stride, submatrix(a, i, k, TILE_ROWS, DEPTH), panel,
                         b_part.columns);
        }
}

/* Weights and biases of a layer, and the places where their gradients are summed. */
struct affine {
    const real *weight;
    const real *bias; /* may be NULL */
    real *d_weight;
    real *d_bias;
    size_t rows;
    size_t inputs;
    size_t outputs;
};

/* out[rows × outputs] = in[rows × inputs] · weight[inputs × outputs] + bias[outputs] */
static void linear_forward(real *out, const real *in, struct affine a)
{
    size_t row_bytes = a.outputs * sizeof *out;
    if (!a.bias)
        memset(out, 0, a.rows * row_bytes);
    for (size_t i = 0; a.bias && i < a.rows; i++)
        memcpy(out + i * a.outputs, a.bias, row_bytes);
    matmul_add(out, a.outputs, matrix_of(in, a.rows, a.inputs, a.inputs),
               matrix_of(a.weight, a.inputs, a.outputs, a.outputs));
}

/* d_in may be `in`. */
static void linear_backward(real *d_in, const real *in, const real *d_out, struct affine a)
{
    struct matrix d_out_matrix = matrix_of(d_out, a.rows, a.outputs, a.outputs);
    matmul_add(a.d_weight, a.outputs, transposed(matrix_of(in, a.rows, a.inputs, a.inputs)), d_out_matrix);
    for (size_t i = 0; a.bias && i < a.rows; i++)
        add_to(a.d_bias, d_out + i * a.outputs, a.outputs);
    memset(d_in, 0, a.rows * a.inputs * sizeof *d_in);
    matmul_add(d_in, a.inputs, d_out_matrix, transposed(matrix_of(a.weight, a.inputs, a.outputs, a.outputs)));
}

/* Rows of `outputs` columns are normalised to mean 0 and variance 1, then scaled by weight[outputs] and shifted by
 * bias[outputs]. statistics[2 × rows] saves each row's mean and reciprocal standard deviation. */
static void layernorm_forward(real *out, real *statistics, const real *in, struct affine a)
{
    assert(a.bias);
    for (size_t i = 0; i < a.rows; i++, in += a.outputs, out += a.outputs) {
        real mean = 0, variance = 0;
        for (size_t j = 0; j < a.outputs; j++)
            mean += in[j];
        mean /= (real)a.outputs;
        for (size_t j = 0; j < a.outputs; j++)
            variance += (in[j] - mean) * (in[j] - mean);
        variance /= (real)a.outputs;
        real scale = 1 / sqrt(variance + (real)1e-5);
        for (size_t j = 0; j < a.outputs; j++)
            out[j] = (in[j] - mean) * scale * a.weight[j] + a.bias[j];
        statistics[2 * i] = mean;
        statistics[2 * i + 1] = scale;
    }
}

/* Adds to d_in, which already holds the gradient from the residual connection. */
static void layernorm_backward(real *d_in, const real *statistics, const real *in, const real *d_out, struct affine a)
{
    for (size_t i = 0; i < a.rows; i++, d_in += a.outputs, d_out += a.outputs, in += a.outputs) {
        real mean = statistics[2 * i], scale = statistics[2 * i + 1], sum = 0, sum_normal = 0;
        for (size_t j = 0; j < a.outputs; j++) {
            real normal = (in[j] - mean) * scale, d_normal = d_out[j] * a.weight[j];
            sum += d_normal;
            sum_normal += d_normal * normal;
            a.d_weight[j] += d_out[j] * normal;
            a.d_bias[j] += d_out[j];
        }
        sum /= (real)a.outputs;
        sum_normal /= (real)a.outputs;
        for (size_t j = 0; j < a.outputs; j++) {
            real normal = (in[j] - mean) * scale;
            d_in[j] += scale * (d_out[j] * a.weight[j] - sum - normal * sum_normal);
        }
    }
}

/* max(x, 0)²: as good as GELU in a language model (So et al. 2021, "Primer"), smooth, and it vectorises. */
static void squared_relu_forward(real *restrict out, const real *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        real x = in[i] > 0 ? in[i] : 0;
        out[i] = x * x;
    }
}

/* d is the gradient of the output and is overwritten with that of the input. */
static void squared_relu_backward(real *restrict d, const real *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        d[i] *= 2 * (in[i] > 0 ? in[i] : 0);
}

/* Columns beyond that of the row get no weight. */
static void softmax(real *row, size_t seq, real scale)
{
    for (size_t i = 0; i < seq; i++, row += seq) {
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
}

/* Causal self-attention. A row of qkv is query, key and value, each `hidden` long; a head owns hidden / heads columns
 * of each. weights[micro-batch × heads × seq × seq] saves the softmax for the backward pass, whose scratch space holds
 * seq × seq elements. */
static void attention_forward(real *out, real *weights, const real *qkv, const struct model_shape *shape)
{
    size_t seq = shape->seq, hidden = shape->hidden, width = hidden / shape->heads;
    memset(weights, 0, shape->micro_batch * shape->heads * seq * seq * sizeof *weights);
    memset(out, 0, shape->micro_batch * seq * hidden * sizeof *out);
    for (size_t i = 0; i < shape->micro_batch * shape->heads; i++, weights += seq * seq) {
        size_t row = i / shape->heads * seq, column = i % shape->heads * width;
        const real *first = qkv + row * 3 * hidden + column;
        struct matrix query = matrix_of(first, seq, width, 3 * hidden);
        struct matrix key = matrix_of(first + hidden, seq, width, 3 * hidden);
        struct matrix value = matrix_of(first + 2 * hidden, seq, width, 3 * hidden);
        matmul_add(weights, seq, query, transposed(key));
        softmax(weights, seq, 1 / sqrt((real)width));
        matmul_add(out + row * hidden + column, hidden, matrix_of(weights, seq, seq, seq), value);
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

static void attention_backward(real *d_qkv, const real *d_out, const real *qkv, const real *weights, real *scratch,
                               const struct model_shape *shape)
{
    size_t seq = shape->seq, hidden = shape->hidden, width = hidden / shape->heads;
    struct matrix d_scores = matrix_of(scratch, seq, seq, seq);
    memset(d_qkv, 0, shape->micro_batch * seq * 3 * hidden * sizeof *d_qkv);
    for (size_t i = 0; i < shape->micro_batch * shape->heads; i++, weights += seq * seq) {
        size_t row = i / shape->heads * seq, column = i % shape->heads * width;
        const real *first = qkv + row * 3 * hidden + column;
        struct matrix query = matrix_of(first, seq, width, 3 * hidden);
        struct matrix key = matrix_of(first + hidden, seq, width, 3 * hidden);
        struct matrix value = matrix_of(first + 2 * hidden, seq, width, 3 * hidden);
        struct matrix d_head = matrix_of(d_out + row * hidden + column, seq, width, hidden);
        real *d_query = d_qkv + row * 3 * hidden + column;
        memset(scratch, 0, seq * seq * sizeof *scratch);
        matmul_add(scratch, seq, d_head, transposed(value));
        matmul_add(d_query + 2 * hidden, 3 * hidden, transposed(matrix_of(weights, seq, seq, seq)), d_head);
        softmax_backward(scratch, weights, seq, 1 / sqrt((real)width));
        matmul_add(d_query, 3 * hidden, d_scores, key);
        matmul_add(d_query + hidden, 3 * hidden, transposed(d_scores), query);
    }
}

/* Softmax cross-entropy of rows × columns logits against one target per row, times scale. Returns the sum over the
 * rows and overwrites the logits with their gradients. */
static real cross_entropy(real *logits, const unsigned char *targets, size_t rows, size_t columns, real scale)
{
    real loss = 0, *row = logits;
    for (size_t i = 0; i < rows; i++, row += columns) {
        real highest = row[0], sum = 0;
        for (size_t j = 1; j < columns; j++)
            highest = row[j] > highest ? row[j] : highest;
        real target_logit = row[targets[i]] - highest;
        for (size_t j = 0; j < columns; j++) {
            row[j] = exp(row[j] - highest);
            sum += row[j];
        }
        for (size_t j = 0; j < columns; j++)
            row[j] *= scale / sum;
        row[targets[i]] -= scale;
        loss += (log(sum) - target_logit) * scale;
    }
    return loss;
}

enum kind { EMBEDDING, LAYER, HEAD, UNIT_KINDS };

/* Weights in the order in which they lie in their units, each followed by its bias. */
enum part { TOKENS, POSITIONS, NORM1, QKV, PROJECTION, NORM2, UP, DOWN, LAST_NORM, OUTPUT, PARTS };

enum size { ONE, HIDDEN, HIDDEN_3, HIDDEN_4, SEQ, VOCAB };

static const struct {
    enum kind kind;
    enum size inputs;
    enum size outputs;
    bool has_bias;
    bool is_gain;
    bool is_residual; /* its output is added to the residual stream */
} parts[PARTS] = {
    [TOKENS] = {.kind = EMBEDDING, .inputs = VOCAB, .outputs = HIDDEN},
    [POSITIONS] = {.kind = EMBEDDING, .inputs = SEQ, .outputs = HIDDEN},
    [NORM1] = {LAYER, ONE, HIDDEN, .has_bias = true, .is_gain = true},
    [QKV] = {LAYER, HIDDEN, HIDDEN_3, .has_bias = true},
    [PROJECTION] = {LAYER, HIDDEN, HIDDEN, .has_bias = true, .is_residual = true},
    [NORM2] = {LAYER, ONE, HIDDEN, .has_bias = true, .is_gain = true},
    [UP] = {LAYER, HIDDEN, HIDDEN_4, .has_bias = true},
    [DOWN] = {LAYER, HIDDEN_4, HIDDEN, .has_bias = true, .is_residual = true},
    [LAST_NORM] = {HEAD, ONE, HIDDEN, .has_bias = true, .is_gain = true},
    [OUTPUT] = {.kind = HEAD, .inputs = HIDDEN, .outputs = VOCAB},
};

/* The places of the parts in their units, and their sizes. */
struct layout {
    size_t at[PARTS];
    size_t bias_at[PARTS];
    size_t inputs[PARTS];
    size_t outputs[PARTS];
    size_t unit[UNIT_KINDS];
};

static struct layout lay_out(const struct model_shape *s)
{
    const size_t sizes[] =
        {[ONE] = 1,      [HIDDEN] = s->hidden, [HIDDEN_3] = 3 * s->hidden, [HIDDEN_4] = 4 * s->hidden,
         [SEQ] = s->seq, [VOCAB] = s->vocab};
    struct layout l = {0};
    for (int i = 0; i < PARTS; i++) {
        size_t *end = &l.unit[parts[i].kind];
        l.inputs[i] = sizes[parts[i].inputs];
        l.outputs[i] = sizes[parts[i].outputs];
        l.at[i] = *end;
        l.bias_at[i] = l.at[i] + l.inputs[i] * l.outputs[i];
        *end = l.bias_at[i] + (parts[i].has_bias ? l.outputs[i] : 0);
    }
    return l;
}

size_t model_parameters(const struct model_shape *s)
{
    struct layout l = lay_out(s);
    return l.unit[EMBEDDING] + s->layers * l.unit[LAYER] + l.unit[HEAD];
}

/* Sets the values of a unit, which are zero: gains start at one, biases at zero, other weights at random. */
static void init_unit(const struct model_shape *s, enum kind kind, uint64_t random, real *values)
{
    struct layout l = lay_out(s);
    random = random_bits(&random);
    for (int i = 0; i < PARTS; i++) {
        /* GPT-2: projections into the residual stream start smaller the more layers there are. */
        double deviation = 0.02 / (parts[i].is_residual ? sqrt(2.0 * (double)s->layers) : 1);
        for (size_t j = l.at[i]; parts[i].kind == kind && j < l.bias_at[i]; j++)
            values[j] = parts[i].is_gain ? 1 : (real)(deviation * random_normal(&random));
    }
}

/* Rank 0 has the initial values, one unit at a time, so that no rank needs room for the whole model. */
void model_open(struct model *m, uint64_t seed)
{
    struct zero *z = &m->zero;
    zero_open(z, lay_out(&m->shape).unit, (int)m->shape.layers);
    for (int i = 0; i <= z->layers + 1; i++) {
        real *values = device_alloc(z->device, USE_BUFFERS, zero_padded(z, i) * sizeof *values);
        if (z->ranks->rank == 0)
            init_unit(&m->shape, i == 0 ? EMBEDDING : i <= z->layers ? LAYER : HEAD, seed + (uint64_t)i, values);
        zero_add(z, ZERO_PARAMETERS, i, values);
        device_free(z->device, values);
    }
}

/* Values that the forward pass of a layer saves, side by side in one block. */
enum saved { NORMAL1, STATS1, HEADS, WEIGHTS, ATTENDED, MIDDLE, NORMAL2, STATS2, WIDE, ACTIVATED, SAVED };

/* One pass. Its tensors are blocks of the device. */
struct pass {
    struct model *m;
    const unsigned char *tokens;
    const unsigned char *targets;
    real scale;
    struct layout layout;
    const struct model_shape *shape;
    size_t rows;
    size_t elements;       /* rows × hidden */
    real **input;          /* of each layer and of the head */
    real *(*saved)[SAVED]; /* of each layer */
    real *d;               /* the gradient of the output of the unit that is worked on, and then of its input */
    real *scratch;
};

static real *take_block(const struct pass *p, size_t elements)
{
    return device_alloc(p->m->zero.device, USE_ACTIVATIONS, elements * sizeof(real));
}

static void give_block(const struct pass *p, real *block)
{
    device_free(p->m->zero.device, block);
}

/* A part of the unit that is worked on. */
static struct affine affine_of(const struct pass *p, enum part part)
{
    const struct zero *z = &p->m->zero;
    const struct layout *l = &p->layout;
    return (struct affine){
        .weight = z->parameters + l->at[part],
        .bias = parts[part].has_bias ? z->parameters + l->bias_at[part] : NULL,
        .d_weight = z->gradients ? z->gradients + l->at[part] : NULL,
        .d_bias = z->gradients ? z->gradients + l->bias_at[part] : NULL,
        .rows = p->rows,
        .inputs = l->inputs[part],
        .outputs = l->outputs[part],
    };
}

static void take_saved(const struct pass *p, real *saved[SAVED])
{
    const size_t hidden = p->shape->hidden;
    const size_t columns[SAVED] = {[NORMAL1] = hidden,   [STATS1] = 2,
                                   [HEADS] = 3 * hidden, [WEIGHTS] = p->shape->heads * p->shape->seq,
                                   [ATTENDED] = hidden,  [MIDDLE] = hidden,
                                   [NORMAL2] = hidden,   [STATS2] = 2,
                                   [WIDE] = 4 * hidden,  [ACTIVATED] = 4 * hidden};
    size_t sum = 0;
    for (int i = 0; i < SAVED; i++)
        sum += columns[i];
    saved[0] = take_block(p, p->rows * sum);
    for (int i = 1; i < SAVED; i++)
        saved[i] = saved[i - 1] + p->rows * columns[i - 1];
}

static void layer_forward(const struct pass *p, size_t layer, real *out)
{
    real **s = p->saved[layer];
    layernorm_forward(s[NORMAL1], s[STATS1], p->input[layer], affine_of(p, NORM1));
    linear_forward(s[HEADS], s[NORMAL1], affine_of(p, QKV));
    attention_forward(s[ATTENDED], s[WEIGHTS], s[HEADS], p->shape);
    linear_forward(s[MIDDLE], s[ATTENDED], affine_of(p, PROJECTION));
    add_to(s[MIDDLE], p->input[layer], p->elements);
    layernorm_forward(s[NORMAL2], s[STATS2], s[MIDDLE], affine_of(p, NORM2));
    linear_forward(s[WIDE], s[NORMAL2], affine_of(p, UP));
    squared_relu_forward(s[ACTIVATED], s[WIDE], 4 * p->elements);
    linear_forward(out, s[ACTIVATED], affine_of(p, DOWN));
    add_to(out, s[MIDDLE], p->elements);
}

static void layer_backward(const struct pass *p, size_t layer)
{
    real **s = p->saved[layer];
    real *wide = p->scratch, *narrow = wide + 4 * p->elements, *scores = narrow + p->elements;
    linear_backward(wide, s[ACTIVATED], p->d, affine_of(p, DOWN));
    squared_relu_backward(wide, s[WIDE], 4 * p->elements);
    linear_backward(narrow, s[NORMAL2], wide, affine_of(p, UP));
    layernorm_backward(p->d, s[STATS2], s[MIDDLE], narrow, affine_of(p, NORM2));
    linear_backward(narrow, s[ATTENDED], p->d, affine_of(p, PROJECTION));
    attention_backward(wide, narrow, s[HEADS], s[WEIGHTS], scores, p->shape);
    linear_backward(narrow, s[NORMAL1], wide, affine_of(p, QKV));
    layernorm_backward(p->d, s[STATS1], p->input[layer], narrow, affine_of(p, NORM1));
}

static void forward(struct pass *p)
{
    struct zero *z = &p->m->zero;
    size_t hidden = p->shape->hidden;
    real *row = take_block(p, p->elements);
    p->input[0] = row;
    zero_begin(z, 0, NEED_PARAMETERS);
    const real *rows = affine_of(p, TOKENS).weight, *positions = affine_of(p, POSITIONS).weight;
    for (size_t i = 0; i < p->rows; i++, row += hidden) {
        memcpy(row, rows + p->tokens[i] * hidden, hidden * sizeof *row);
        add_to(row, positions + i % p->shape->seq * hidden, hidden);
    }
    zero_end(z);
    for (size_t i = 0; i < p->shape->layers; i++) {
        take_saved(p, p->saved[i]);
        p->input[i + 1] = take_block(p, p->elements);
        zero_begin(z, (int)i + 1, NEED_PARAMETERS);
        layer_forward(p, i, p->input[i + 1]);
        zero_end(z);
        if (p->shape->checkpointing)
            give_block(p, p->saved[i][0]);
    }
}

/* Forward and backward at once, because the logits are not needed afterwards. */
static real head_both_ways(struct pass *p)
{
    struct zero *z = &p->m->zero;
    real *in = p->input[p->shape->layers];
    p->d = take_block(p, p->elements);
    real *norm = take_block(p, p->elements), *statistics = take_block(p, 2 * p->rows),
         *logits = take_block(p, p->rows * p->shape->vocab);
    zero_begin(z, (int)p->shape->layers + 1, NEED_PARAMETERS | NEED_GRADIENTS);
    layernorm_forward(norm, statistics, in, affine_of(p, LAST_NORM));
    linear_forward(logits, norm, affine_of(p, OUTPUT));
    real loss = cross_entropy(logits, p->targets, p->rows, p->shape->vocab, p->scale);
    linear_backward(norm, norm, logits, affine_of(p, OUTPUT));
    layernorm_backward(p->d, statistics, in, norm, affine_of(p, LAST_NORM));
    zero_end(z);
    give_block(p, logits);
    give_block(p, statistics);
    give_block(p, norm);
    give_block(p, in);
    return loss;
}

static void backward(struct pass *p)
{
    struct zero *z = &p->m->zero;
    size_t hidden = p->shape->hidden;
    p->scratch = take_block(p, 5 * p->elements + p->shape->seq * p->shape->seq);
    for (size_t i = p->shape->layers; i-- > 0;) {
        zero_begin(z, (int)i + 1, NEED_PARAMETERS | NEED_GRADIENTS);
        if (p->shape->checkpointing) {
            /* The output of the repeated forward pass is not needed. */
            take_saved(p, p->saved[i]);
            layer_forward(p, i, p->scratch);
        }
        layer_backward(p, i);
        zero_end(z);
        give_block(p, p->saved[i][0]);
        give_block(p, p->input[i]);
    }
    give_block(p, p->scratch);
    zero_begin(z, 0, NEED_GRADIENTS);
    real *d_tokens = affine_of(p, TOKENS).d_weight, *d_positions = affine_of(p, POSITIONS).d_weight;
    for (size_t i = 0; i < p->rows; i++) {
        add_to(d_tokens + p->tokens[i] * hidden, p->d + i * hidden, hidden);
        add_to(d_positions + i % p->shape->seq * hidden, p->d + i * hidden, hidden);
    }
    zero_end(z);
    give_block(p, p->d);
}

real model_pass(struct model *m, const unsigned char *tokens, const unsigned char *targets, real scale)
{
    const struct model_shape *s = &m->shape;
    struct pass p = {
        .m = m,
        .tokens = tokens,
        .targets = targets,
        .scale = scale,
        .layout = lay_out(s),
        .shape = s,
        .rows = s->micro_batch * s->seq,
        .elements = s->micro_batch * s->seq * s->hidden,
        .input = calloc(s->layers + 1, sizeof *p.input),
        .saved = calloc(s->layers, sizeof *p.saved),
    };
    if (!p.input || !p.saved)
        die(STATUS_FAILED, "no host memory for %zu layers", s->layers);
    forward(&p);
    real loss = head_both_ways(&p);
    backward(&p);
    free(p.input);
    free(p.saved);
    return loss;
}
