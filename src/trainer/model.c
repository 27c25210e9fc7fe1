#include "trainer/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/random.h"

static const double INIT_DEVIATION = 0.02;

int model_unit_count(const struct model_shape *shape)
{
    return shape->layers + 2;
}

static int head_unit(const struct model_shape *shape)
{
    return shape->layers + 1;
}

static size_t token_table_elements(const struct model_shape *shape)
{
    return (size_t)shape->vocab * (size_t)shape->hidden;
}

static size_t position_table_elements(const struct model_shape *shape)
{
    return (size_t)shape->seq * (size_t)shape->hidden;
}

size_t model_unit_parameters(const struct model_shape *shape, int unit)
{
    if (unit == 0)
        return token_table_elements(shape) + position_table_elements(shape);
    if (unit == head_unit(shape))
        return 2 * (size_t)shape->hidden + token_table_elements(shape);
    return block_parameters((size_t)shape->hidden);
}

size_t model_parameters(const struct model_shape *shape)
{
    size_t sum = 0;

    for (int i = 0; i < model_unit_count(shape); i++)
        sum += model_unit_parameters(shape, i);
    return sum;
}

/* Initial values of a tensor. */
enum start { START_ZERO, START_ONE, START_NORMAL, START_NORMAL_RESIDUAL };

static const enum start block_start[BLOCK_TENSORS] = {
    [BLOCK_NORM1_GAIN] = START_ONE,   [BLOCK_QKV_WEIGHT] = START_NORMAL,
    [BLOCK_NORM2_GAIN] = START_ONE,   [BLOCK_PROJECTION_WEIGHT] = START_NORMAL_RESIDUAL,
    [BLOCK_UP_WEIGHT] = START_NORMAL, [BLOCK_DOWN_WEIGHT] = START_NORMAL_RESIDUAL,
};

static real *fill(real *values, size_t count, enum start start, int layers, uint64_t *random)
{
    /* GPT-2: projections into the residual stream start smaller the more layers there are. */
    double deviation = start == START_NORMAL_RESIDUAL ? INIT_DEVIATION / sqrt(2.0 * layers) : INIT_DEVIATION;

    for (size_t i = 0; i < count; i++)
        if (start == START_ZERO || start == START_ONE)
            values[i] = start == START_ONE ? 1 : 0;
        else
            values[i] = (real)(deviation * random_normal(random));
    return values + count;
}

void model_init_unit(const struct model_shape *shape, int unit, uint64_t seed, real *values)
{
    uint64_t random = seed + (uint64_t)unit;
    size_t hidden = (size_t)shape->hidden;

    random = random_bits(&random);
    if (unit == 0) {
        fill(values, model_unit_parameters(shape, unit), START_NORMAL, shape->layers, &random);
        return;
    }
    if (unit == head_unit(shape)) {
        values = fill(values, hidden, START_ONE, shape->layers, &random);
        values = fill(values, hidden, START_ZERO, shape->layers, &random);
        fill(values, token_table_elements(shape), START_NORMAL, shape->layers, &random);
        return;
    }
    for (int i = 0; i < BLOCK_TENSORS; i++)
        values =
            fill(values, block_tensor_elements((enum block_tensor)i, hidden), block_start[i], shape->layers, &random);
}

/* Tensors of one pass: blocks of the device, NULL if not allocated. */
struct pass {
    struct model *m;
    const struct model_batch *batch;
    struct attention shape;
    size_t rows;
    size_t elements; /* rows × hidden */
    real **input;    /* of each layer and of the head */
    real **kept;     /* of each layer */
    real *norm;
    real *statistics;
    real *logits;
    real *d;
    real *scratch;
};

static real *take(struct pass *p, size_t elements, struct error *e)
{
    return device_alloc(p->m->device, DEVICE_ACTIVATIONS, elements * sizeof(real), e);
}

static void give(struct pass *p, real **block)
{
    device_free(p->m->device, *block);
    *block = NULL;
}

static int pass_begin(struct pass *p, struct model *m, const struct model_batch *batch, struct error *e)
{
    const struct model_shape *shape = &m->shape;
    struct attention attention = {(size_t)m->micro_batch, (size_t)shape->seq, (size_t)shape->heads,
                                  (size_t)shape->hidden};
    size_t rows = attention.batch * attention.seq;

    *p = (struct pass){.m = m, .batch = batch, .shape = attention, .rows = rows, .elements = rows * attention.hidden};
    p->input = calloc((size_t)shape->layers + 1, sizeof *p->input);
    p->kept = calloc((size_t)shape->layers, sizeof *p->kept);
    if (!p->input || !p->kept)
        return error_set(e, STATUS_FAILED, "no host memory for %d layers", shape->layers);
    return 0;
}

static void pass_end(struct pass *p)
{
    zero_abandon(p->m->zero);
    for (int i = 0; p->input && i <= p->m->shape.layers; i++)
        give(p, &p->input[i]);
    for (int i = 0; p->kept && i < p->m->shape.layers; i++)
        give(p, &p->kept[i]);
    give(p, &p->norm);
    give(p, &p->statistics);
    give(p, &p->logits);
    give(p, &p->d);
    give(p, &p->scratch);
    free(p->input);
    free(p->kept);
}

static struct embedding embedding_of(const struct pass *p)
{
    return (struct embedding){p->batch->tokens, p->rows, p->shape.seq, p->shape.hidden};
}

static int embed(struct pass *p, struct error *e)
{
    struct embedding shape = embedding_of(p);
    const real *tables;

    if (!(p->input[0] = take(p, p->elements, e)))
        return -1;
    if (!(tables = zero_gather(p->m->zero, 0, e)))
        return -1;
    embedding_forward(p->input[0], tables, tables + token_table_elements(&p->m->shape), &shape);
    zero_release(p->m->zero);
    return 0;
}

static int layer_forward(struct pass *p, int layer, struct error *e)
{
    const real *parameters;

    if (!(p->kept[layer] = take(p, block_kept_elements(&p->shape), e)))
        return -1;
    if (!(p->input[layer + 1] = take(p, p->elements, e)))
        return -1;
    if (!(parameters = zero_gather(p->m->zero, layer + 1, e)))
        return -1;
    block_forward(p->input[layer + 1], p->kept[layer], p->input[layer], parameters, &p->shape);
    zero_release(p->m->zero);
    if (p->m->checkpointing)
        give(p, &p->kept[layer]);
    return 0;
}

/* Forward and backward at once, because the logits are not needed afterwards. Leaves the gradient in p->d. */
static real head_both_ways(struct pass *p, const real *parameters, real *d_parameters)
{
    size_t hidden = p->shape.hidden, vocab = (size_t)p->m->shape.vocab;
    const real *in = p->input[p->m->shape.layers];
    struct layernorm norm = {parameters, parameters + hidden, p->rows, hidden};
    struct linear linear = {p->rows, hidden, vocab};
    struct cross_entropy entropy = {p->batch->targets, p->rows, vocab, p->batch->loss_scale};

    layernorm_forward(p->norm, p->statistics, in, &norm);
    linear_forward(p->logits, p->norm, parameters + 2 * hidden, NULL, linear);
    real loss = cross_entropy_forward_backward(p->logits, &entropy);
    linear_backward_weight(d_parameters + 2 * hidden, NULL, p->norm, p->logits, linear);
    linear_backward_input(p->norm, p->logits, parameters + 2 * hidden, linear);
    layernorm_backward((struct layernorm_derivatives){p->d, d_parameters, d_parameters + hidden}, p->norm, in,
                       p->statistics, &norm);
    return loss;
}

static int head(struct pass *p, real *loss, struct error *e)
{
    int unit = head_unit(&p->m->shape);
    const real *parameters;
    real *d_parameters;

    if (!(p->d = take(p, p->elements, e)) || !(p->norm = take(p, p->elements, e)))
        return -1;
    if (!(p->statistics = take(p, 2 * p->rows, e)))
        return -1;
    if (!(p->logits = take(p, p->rows * (size_t)p->m->shape.vocab, e)))
        return -1;
    if (!(d_parameters = zero_bucket(p->m->zero, unit, e)))
        return -1;
    if (!(parameters = zero_gather(p->m->zero, unit, e)))
        return -1;
    *loss = head_both_ways(p, parameters, d_parameters);
    zero_release(p->m->zero);
    zero_reduce(p->m->zero, unit);
    give(p, &p->logits);
    give(p, &p->statistics);
    give(p, &p->norm);
    give(p, &p->input[p->m->shape.layers]);
    return 0;
}

/* Repeats the forward pass of a checkpointed layer. Its output is not needed and goes to the scratch space. */
static int recompute(struct pass *p, int layer, const real *parameters, struct error *e)
{
    if (!(p->kept[layer] = take(p, block_kept_elements(&p->shape), e)))
        return -1;
    block_forward(p->scratch, p->kept[layer], p->input[layer], parameters, &p->shape);
    return 0;
}

static int layer_backward(struct pass *p, int layer, struct error *e)
{
    const real *parameters;
    real *d_parameters;

    if (!(parameters = zero_gather(p->m->zero, layer + 1, e)))
        return -1;
    if (p->m->checkpointing && recompute(p, layer, parameters, e) < 0)
        return -1;
    if (!(d_parameters = zero_bucket(p->m->zero, layer + 1, e)))
        return -1;
    struct block_pass pass = {p->input[layer], p->kept[layer], parameters, p->scratch};
    block_backward(p->d, d_parameters, &pass, &p->shape);
    zero_release(p->m->zero);
    zero_reduce(p->m->zero, layer + 1);
    give(p, &p->kept[layer]);
    give(p, &p->input[layer]);
    return 0;
}

static int embed_backward(struct pass *p, struct error *e)
{
    struct embedding shape = embedding_of(p);
    real *d_tables = zero_bucket(p->m->zero, 0, e);

    if (!d_tables)
        return -1;
    embedding_backward(d_tables, d_tables + token_table_elements(&p->m->shape), p->d, &shape);
    zero_reduce(p->m->zero, 0);
    return 0;
}

static int forward(struct pass *p, struct error *e)
{
    if (embed(p, e) < 0)
        return -1;
    for (int i = 0; i < p->m->shape.layers; i++)
        if (layer_forward(p, i, e) < 0)
            return -1;
    return 0;
}

static int backward(struct pass *p, struct error *e)
{
    if (!(p->scratch = take(p, block_scratch_elements(&p->shape), e)))
        return -1;
    for (int i = p->m->shape.layers - 1; i >= 0; i--)
        if (layer_backward(p, i, e) < 0)
            return -1;
    give(p, &p->scratch);
    return embed_backward(p, e);
}

int model_pass(struct model *m, const struct model_batch *batch, real *loss, struct error *e)
{
    struct pass p;
    int result = -1;

    if (pass_begin(&p, m, batch, e) < 0)
        goto out;
    if (forward(&p, e) < 0 || head(&p, loss, e) < 0 || backward(&p, e) < 0)
        goto out;
    result = 0;
out:
    pass_end(&p);
    return result;
}
