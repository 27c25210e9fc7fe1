/* trainer: every operation against a plain formula or finite differences, in double precision. */
#include <stdlib.h>
#include <string.h>

#include "trainer/adam.h"
#include "trainer/block.h"
#include "trainer/ops.h"
#include "trainer_gradient.h"
#include "unit_test.h"

#include <math.h>

/* ---- matmul ---- */

static real *random_array(size_t count)
{
    real *values = calloc(count, sizeof *values);
    assert_non_null(values);
    gradient_random(values, count, count);
    return values;
}

static void check_matmul(struct matmul_size size, bool transpose_a, bool transpose_b)
{
    size_t stride = size.columns + 3;
    real *a = random_array(size.rows * size.inner), *b = random_array(size.inner * size.columns);
    real *out = random_array(size.rows * stride), *before = random_array(size.rows * stride);
    struct matrix a_view = transpose_a ? matrix_transposed(a, size.rows) : matrix_rows(a, size.inner);
    struct matrix b_view = transpose_b ? matrix_transposed(b, size.inner) : matrix_rows(b, size.columns);

    matmul_add(out, stride, a_view, b_view, size);
    for (size_t i = 0; i < size.rows; i++)
        for (size_t j = 0; j < stride; j++) {
            double want = before[i * stride + j];
            for (size_t k = 0; j < size.columns && k < size.inner; k++)
                want += a_view.data[i * a_view.row_stride + k * a_view.column_stride] *
                        b_view.data[k * b_view.row_stride + j * b_view.column_stride];
            assert_close(out[i * stride + j], want, 1e-10);
        }
    free(a);
    free(b);
    free(out);
    free(before);
}

TEST(matmul_add__shapes_on_and_off_the_tile__sum_of_products_and_nothing_beside)
{
    static const struct matmul_size sizes[] = {{1, 1, 1},    {4, 16, 8},  {5, 17, 3},   {3, 33, 257},
                                               {8, 15, 256}, {7, 1, 600}, {64, 48, 100}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int transposed = 0; transposed < 4; transposed++)
            check_matmul(sizes[i], transposed & 1, transposed & 2);
}

/* ---- operations: the loss is the weighted sum of the output, so that d_out is the weights ---- */

enum { ROWS = 6, COLUMNS = 5, OUTPUTS = 7, CELLS = 512 };

struct fixture {
    real in[CELLS], weight[CELLS], bias[CELLS];
    real out[CELLS], kept[CELLS], scratch[CELLS], loss_weight[CELLS];
    real d_in[CELLS], d_weight[CELLS], d_bias[CELLS], d_out[CELLS];
    size_t out_count;
    void (*forward)(struct fixture *);
};

static double weighted_output(void *context)
{
    struct fixture *f = context;
    double sum = 0;

    f->forward(f);
    for (size_t i = 0; i < f->out_count; i++)
        sum += f->out[i] * f->loss_weight[i];
    return sum;
}

static struct fixture *fixture_new(void (*forward)(struct fixture *), size_t out_count)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    gradient_random(f->in, CELLS, 1);
    gradient_random(f->weight, CELLS, 2);
    gradient_random(f->bias, CELLS, 3);
    gradient_random(f->loss_weight, CELLS, 4);
    memcpy(f->d_out, f->loss_weight, sizeof f->d_out);
    f->forward = forward;
    f->out_count = out_count;
    forward(f);
    return f;
}

static void check(struct fixture *f, real *value, const real *derivative, size_t count)
{
    gradient_check(value, derivative, count, weighted_output, f);
}

static const struct linear linear = {ROWS, COLUMNS, OUTPUTS};

static void forward_linear(struct fixture *f)
{
    linear_forward(f->out, f->in, f->weight, f->bias, linear);
}

TEST(linear_backward__random_values__finite_differences)
{
    struct fixture *f = fixture_new(forward_linear, (size_t)ROWS * OUTPUTS);

    linear_backward_input(f->d_in, f->d_out, f->weight, linear);
    linear_backward_weight(f->d_weight, f->d_bias, f->in, f->d_out, linear);
    check(f, f->in, f->d_in, (size_t)ROWS * COLUMNS);
    check(f, f->weight, f->d_weight, (size_t)COLUMNS * OUTPUTS);
    check(f, f->bias, f->d_bias, OUTPUTS);
    free(f);
}

TEST(linear_backward_weight__second_call__adds)
{
    struct fixture *f = fixture_new(forward_linear, (size_t)ROWS * OUTPUTS);

    linear_backward_weight(f->d_weight, f->d_bias, f->in, f->d_out, linear);
    double once = f->d_weight[0], bias_once = f->d_bias[0];
    linear_backward_weight(f->d_weight, f->d_bias, f->in, f->d_out, linear);
    assert_close(f->d_weight[0], 2 * once, 1e-12);
    assert_close(f->d_bias[0], 2 * bias_once, 1e-12);
    free(f);
}

static struct layernorm norm_of(const struct fixture *f)
{
    return (struct layernorm){f->weight, f->bias, ROWS, COLUMNS};
}

static void forward_layernorm(struct fixture *f)
{
    struct layernorm norm = norm_of(f);
    layernorm_forward(f->out, f->kept, f->in, &norm);
}

TEST(layernorm_backward__random_values__finite_differences)
{
    struct fixture *f = fixture_new(forward_layernorm, (size_t)ROWS * COLUMNS);
    struct layernorm norm = norm_of(f);

    layernorm_backward((struct layernorm_derivatives){f->d_in, f->d_weight, f->d_bias}, f->d_out, f->in, f->kept,
                       &norm);
    check(f, f->in, f->d_in, (size_t)ROWS * COLUMNS);
    check(f, f->weight, f->d_weight, COLUMNS);
    check(f, f->bias, f->d_bias, COLUMNS);
    free(f);
}

TEST(layernorm_forward__unit_gain__rows_of_mean_0_and_variance_1)
{
    struct fixture *f = fixture_new(forward_layernorm, (size_t)ROWS * COLUMNS);

    for (size_t j = 0; j < COLUMNS; j++) {
        f->weight[j] = 1;
        f->bias[j] = 0;
    }
    forward_layernorm(f);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0, squares = 0;
        for (size_t j = 0; j < COLUMNS; j++) {
            sum += f->out[i * COLUMNS + j];
            squares += f->out[i * COLUMNS + j] * f->out[i * COLUMNS + j];
        }
        assert_close(sum, 0, 1e-12);
        assert_close(squares / COLUMNS, 1, 1e-3);
    }
    free(f);
}

static void forward_squared_relu(struct fixture *f)
{
    squared_relu_forward(f->out, f->in, ROWS);
}

TEST(squared_relu_backward__both_signs__finite_differences)
{
    struct fixture *f = fixture_new(forward_squared_relu, ROWS);

    for (size_t i = 0; i < ROWS; i++)
        f->in[i] = (i % 2 ? -1.0 : 1.0) * (0.5 + (double)i);
    squared_relu_backward(f->d_out, f->in, ROWS);
    check(f, f->in, f->d_out, ROWS);
    free(f);
}

static const struct attention attention = {.batch = 2, .seq = 3, .heads = 2, .hidden = 4};
enum { ATTENTION_ROWS = 6, ATTENTION_CELLS = ATTENTION_ROWS * 4 };

static void forward_attention(struct fixture *f)
{
    attention_forward(f->out, f->kept, f->in, &attention);
}

TEST(attention_backward__random_values__finite_differences)
{
    struct fixture *f = fixture_new(forward_attention, ATTENTION_CELLS);

    attention_backward(f->d_in, f->d_out, f->in, f->kept, f->scratch, &attention);
    check(f, f->in, f->d_in, 3 * (size_t)ATTENTION_CELLS);
    free(f);
}

TEST(attention_forward__later_token_changed__earlier_rows_and_other_sequences_stay)
{
    struct fixture *f = fixture_new(forward_attention, ATTENTION_CELLS);
    real before[ATTENTION_CELLS];
    size_t last_row = 2; /* of the first sequence */

    memcpy(before, f->out, sizeof before);
    for (size_t j = 0; j < 3 * attention.hidden; j++)
        f->in[last_row * 3 * attention.hidden + j] += 1;
    forward_attention(f);
    for (size_t i = 0; i < ATTENTION_CELLS; i++)
        if (i / attention.hidden == last_row)
            assert_true(f->out[i] != before[i]);
        else
            assert_true(f->out[i] == before[i]);
    free(f);
}

static const unsigned char tokens[ROWS] = {3, 1, 3, 0, 2, 3};

static struct embedding embedding_of(void)
{
    return (struct embedding){.tokens = tokens, .rows = ROWS, .seq = 3, .columns = COLUMNS};
}

static void forward_embedding(struct fixture *f)
{
    struct embedding shape = embedding_of();
    embedding_forward(f->out, f->weight, f->bias, &shape);
}

TEST(embedding_backward__repeated_tokens__finite_differences)
{
    struct fixture *f = fixture_new(forward_embedding, (size_t)ROWS * COLUMNS);
    struct embedding shape = embedding_of();

    embedding_backward(f->d_weight, f->d_bias, f->d_out, &shape);
    check(f, f->weight, f->d_weight, 4 * (size_t)COLUMNS);
    check(f, f->bias, f->d_bias, 3 * (size_t)COLUMNS);
    free(f);
}

static double entropy_of_copy(void *context)
{
    struct fixture *f = context;
    struct cross_entropy shape = {.targets = tokens, .rows = ROWS, .columns = COLUMNS, .scale = 0.25};

    memcpy(f->out, f->in, sizeof f->out);
    return cross_entropy_forward_backward(f->out, &shape);
}

TEST(cross_entropy__random_logits__finite_differences)
{
    struct fixture *f = fixture_new(forward_squared_relu, 0);

    entropy_of_copy(f);
    memcpy(f->d_in, f->out, sizeof f->d_in);
    gradient_check(f->in, f->d_in, (size_t)ROWS * COLUMNS, entropy_of_copy, f);
    free(f);
}

TEST(cross_entropy__equal_logits__scaled_log_of_the_classes)
{
    struct fixture *f = fixture_new(forward_squared_relu, 0);

    memset(f->in, 0, sizeof f->in);
    assert_close(entropy_of_copy(f), 0.25 * ROWS * log(COLUMNS), 1e-12);
    free(f);
}

/* ---- one layer ---- */

enum { BLOCK_CELLS = 4096 };

struct block_fixture {
    real in[BLOCK_CELLS], parameters[BLOCK_CELLS], out[BLOCK_CELLS], kept[BLOCK_CELLS], scratch[BLOCK_CELLS];
    real loss_weight[BLOCK_CELLS], d[BLOCK_CELLS], d_parameters[BLOCK_CELLS];
};

static double block_loss(void *context)
{
    struct block_fixture *f = context;
    double sum = 0;

    block_forward(f->out, f->kept, f->in, f->parameters, &attention);
    for (size_t i = 0; i < ATTENTION_CELLS; i++)
        sum += f->out[i] * f->loss_weight[i];
    return sum;
}

TEST(block_backward__random_values__finite_differences)
{
    struct block_fixture *f = calloc(1, sizeof *f);
    struct block_pass pass = {f->in, f->kept, f->parameters, f->scratch};

    assert_true(block_kept_elements(&attention) <= BLOCK_CELLS);
    gradient_random(f->in, BLOCK_CELLS, 5);
    gradient_random(f->parameters, BLOCK_CELLS, 6);
    gradient_random(f->loss_weight, BLOCK_CELLS, 7);
    memcpy(f->d, f->loss_weight, sizeof f->d);
    block_loss(f);
    block_backward(f->d, f->d_parameters, &pass, &attention);
    gradient_check(f->in, f->d, ATTENTION_CELLS, block_loss, f);
    gradient_check(f->parameters, f->d_parameters, block_parameters(attention.hidden), block_loss, f);
    free(f);
}

TEST(block_sizes__formulas_of_the_header__hold)
{
    struct attention shape = {.batch = 3, .seq = 10, .heads = 4, .hidden = 32};
    size_t n = 30, h = 32;

    assert_int_equal(block_parameters(h), 12 * h * h + 13 * h);
    assert_int_equal(block_kept_elements(&shape), 15 * n * h + 4 * n + n * 4 * 10);
    assert_int_equal(block_scratch_elements(&shape), 5 * n * h + 10 * 10);
}

/* ---- Adam ---- */

TEST(adam_step__three_steps__formula_of_the_paper)
{
    struct adam adam = adam_defaults(0.01);
    real parameter = 0.5, first = 0, second = 0;
    double want = 0.5, m = 0, v = 0;
    static const double gradients[] = {0.3, -2, 1e-6};

    for (int step = 1; step <= 3; step++) {
        real g = gradients[step - 1];
        adam_step(&adam, &parameter, &g, (struct adam_moments){&first, &second}, 1, step);
        m = adam.beta1 * m + (1 - adam.beta1) * g;
        v = adam.beta2 * v + (1 - adam.beta2) * g * g;
        want -= 0.01 * (m / (1 - pow(adam.beta1, step))) / (sqrt(v / (1 - pow(adam.beta2, step))) + adam.epsilon);
        assert_close(parameter, want, 1e-12);
    }
}
