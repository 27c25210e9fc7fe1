#include "trainer/block.h"

/* Elements of each tensor: linear · hidden + square · hidden². */
static const struct {
    size_t linear;
    size_t square;
} tensor_size[BLOCK_TENSORS] = {
    [BLOCK_NORM1_GAIN] = {.linear = 1},        [BLOCK_NORM1_BIAS] = {.linear = 1},
    [BLOCK_QKV_WEIGHT] = {.square = 3},        [BLOCK_QKV_BIAS] = {.linear = 3},
    [BLOCK_PROJECTION_WEIGHT] = {.square = 1}, [BLOCK_PROJECTION_BIAS] = {.linear = 1},
    [BLOCK_NORM2_GAIN] = {.linear = 1},        [BLOCK_NORM2_BIAS] = {.linear = 1},
    [BLOCK_UP_WEIGHT] = {.square = 4},         [BLOCK_UP_BIAS] = {.linear = 4},
    [BLOCK_DOWN_WEIGHT] = {.square = 4},       [BLOCK_DOWN_BIAS] = {.linear = 1},
};

/* Elements of each kept array for every row: hidden · hidden, plus constant, plus heads · seq if weights. */
static const struct {
    size_t hidden;
    size_t constant;
    size_t weights;
} kept_size[KEPT_TENSORS] = {
    [KEPT_NORM1] = {.hidden = 1},     [KEPT_NORM1_STATISTICS] = {.constant = 2}, [KEPT_QKV] = {.hidden = 3},
    [KEPT_WEIGHTS] = {.weights = 1},  [KEPT_ATTENTION] = {.hidden = 1},          [KEPT_MIDDLE] = {.hidden = 1},
    [KEPT_NORM2] = {.hidden = 1},     [KEPT_NORM2_STATISTICS] = {.constant = 2}, [KEPT_UP] = {.hidden = 4},
    [KEPT_ACTIVATED] = {.hidden = 4},
};

static size_t rows_of(const struct attention *shape)
{
    return shape->batch * shape->seq;
}

size_t block_tensor_elements(enum block_tensor tensor, size_t hidden)
{
    return tensor_size[tensor].linear * hidden + tensor_size[tensor].square * hidden * hidden;
}

static size_t tensor_at(enum block_tensor tensor, size_t hidden)
{
    size_t at = 0;

    for (int i = 0; i < (int)tensor; i++)
        at += block_tensor_elements((enum block_tensor)i, hidden);
    return at;
}

size_t block_parameters(size_t hidden)
{
    return tensor_at(BLOCK_TENSORS, hidden);
}

static size_t kept_at(enum block_kept which, const struct attention *shape)
{
    size_t per_row = 0;

    for (int i = 0; i < (int)which; i++)
        per_row += kept_size[i].hidden * shape->hidden + kept_size[i].constant +
                   kept_size[i].weights * shape->heads * shape->seq;
    return per_row * rows_of(shape);
}

size_t block_kept_elements(const struct attention *shape)
{
    return kept_at(KEPT_TENSORS, shape);
}

size_t block_scratch_elements(const struct attention *shape)
{
    return 5 * rows_of(shape) * shape->hidden + shape->seq * shape->seq;
}

/* Pointers to the tensors in the two arrays. */
struct views {
    const real *parameter[BLOCK_TENSORS];
    real *kept[KEPT_TENSORS];
};

static struct views take_apart(const real *parameters, real *kept, const struct attention *shape)
{
    struct views v;

    for (int i = 0; i < BLOCK_TENSORS; i++)
        v.parameter[i] = parameters + tensor_at((enum block_tensor)i, shape->hidden);
    for (int i = 0; i < KEPT_TENSORS; i++)
        v.kept[i] = kept + kept_at((enum block_kept)i, shape);
    return v;
}

/* The linear layer whose weight is `weight` and whose bias is the tensor after it. */
static struct linear linear_of(enum block_tensor weight, const struct attention *shape)
{
    size_t outputs = block_tensor_elements(weight + 1, shape->hidden);

    return (struct linear){rows_of(shape), block_tensor_elements(weight, shape->hidden) / outputs, outputs};
}

static void through_linear(const struct views *v, enum block_tensor weight, const real *in, real *out,
                           const struct attention *shape)
{
    linear_forward(out, in, v->parameter[weight], v->parameter[weight + 1], linear_of(weight, shape));
}

static struct layernorm norm_of(const struct views *v, enum block_tensor gain, const struct attention *shape)
{
    return (struct layernorm){v->parameter[gain], v->parameter[gain + 1], rows_of(shape), shape->hidden};
}

static void attention_half_forward(const struct views *v, const real *in, const struct attention *shape)
{
    struct layernorm norm = norm_of(v, BLOCK_NORM1_GAIN, shape);

    layernorm_forward(v->kept[KEPT_NORM1], v->kept[KEPT_NORM1_STATISTICS], in, &norm);
    through_linear(v, BLOCK_QKV_WEIGHT, v->kept[KEPT_NORM1], v->kept[KEPT_QKV], shape);
    attention_forward(v->kept[KEPT_ATTENTION], v->kept[KEPT_WEIGHTS], v->kept[KEPT_QKV], shape);
    through_linear(v, BLOCK_PROJECTION_WEIGHT, v->kept[KEPT_ATTENTION], v->kept[KEPT_MIDDLE], shape);
    add_to(v->kept[KEPT_MIDDLE], in, rows_of(shape) * shape->hidden);
}

static void mlp_half_forward(real *out, const struct views *v, const struct attention *shape)
{
    struct layernorm norm = norm_of(v, BLOCK_NORM2_GAIN, shape);
    size_t elements = rows_of(shape) * shape->hidden;

    layernorm_forward(v->kept[KEPT_NORM2], v->kept[KEPT_NORM2_STATISTICS], v->kept[KEPT_MIDDLE], &norm);
    through_linear(v, BLOCK_UP_WEIGHT, v->kept[KEPT_NORM2], v->kept[KEPT_UP], shape);
    squared_relu_forward(v->kept[KEPT_ACTIVATED], v->kept[KEPT_UP], 4 * elements);
    through_linear(v, BLOCK_DOWN_WEIGHT, v->kept[KEPT_ACTIVATED], out, shape);
    add_to(out, v->kept[KEPT_MIDDLE], elements);
}

void block_forward(real *out, real *kept, const real *in, const real *parameters, const struct attention *shape)
{
    struct views v = take_apart(parameters, kept, shape);

    attention_half_forward(&v, in, shape);
    mlp_half_forward(out, &v, shape);
}

/* A backward pass and the parts of its scratch space. */
struct backward {
    struct views v;
    real *d_parameter[BLOCK_TENSORS];
    const real *in;
    real *wide;   /* rows × 4 hidden */
    real *narrow; /* rows × hidden */
    real *scores; /* seq × seq */
    const struct attention *shape;
};

static void back_through_linear(const struct backward *b, enum block_tensor weight, const real *in, const real *d_out,
                                real *d_in)
{
    struct linear shape = linear_of(weight, b->shape);

    linear_backward_weight(b->d_parameter[weight], b->d_parameter[weight + 1], in, d_out, shape);
    linear_backward_input(d_in, d_out, b->v.parameter[weight], shape);
}

/* Adds to d, which already holds the gradient from the residual connection. */
static void back_through_norm(const struct backward *b, enum block_tensor gain, const real *in, const real *statistics,
                              real *d)
{
    struct layernorm norm = norm_of(&b->v, gain, b->shape);
    struct layernorm_derivatives derivatives = {d, b->d_parameter[gain], b->d_parameter[gain + 1]};

    layernorm_backward(derivatives, b->narrow, in, statistics, &norm);
}

static void mlp_half_backward(real *d, const struct backward *b)
{
    real *const *kept = b->v.kept;

    back_through_linear(b, BLOCK_DOWN_WEIGHT, kept[KEPT_ACTIVATED], d, b->wide);
    squared_relu_backward(b->wide, kept[KEPT_UP], 4 * rows_of(b->shape) * b->shape->hidden);
    back_through_linear(b, BLOCK_UP_WEIGHT, kept[KEPT_NORM2], b->wide, b->narrow);
    back_through_norm(b, BLOCK_NORM2_GAIN, kept[KEPT_MIDDLE], kept[KEPT_NORM2_STATISTICS], d);
}

static void attention_half_backward(real *d, const struct backward *b)
{
    real *const *kept = b->v.kept;

    back_through_linear(b, BLOCK_PROJECTION_WEIGHT, kept[KEPT_ATTENTION], d, b->narrow);
    attention_backward(b->wide, b->narrow, kept[KEPT_QKV], kept[KEPT_WEIGHTS], b->scores, b->shape);
    back_through_linear(b, BLOCK_QKV_WEIGHT, kept[KEPT_NORM1], b->wide, b->narrow);
    back_through_norm(b, BLOCK_NORM1_GAIN, b->in, kept[KEPT_NORM1_STATISTICS], d);
}

void block_backward(real *d, real *d_parameters, const struct block_pass *pass, const struct attention *shape)
{
    size_t elements = rows_of(shape) * shape->hidden;
    struct backward b = {
        .v = take_apart(pass->parameters, pass->kept, shape),
        .in = pass->in,
        .wide = pass->scratch,
        .narrow = pass->scratch + 4 * elements,
        .scores = pass->scratch + 5 * elements,
        .shape = shape,
    };

    for (int i = 0; i < BLOCK_TENSORS; i++)
        b.d_parameter[i] = d_parameters + tensor_at((enum block_tensor)i, shape->hidden);
    mlp_half_backward(d, &b);
    attention_half_backward(d, &b);
}
