/* trainer: every operation against a plain formula or finite differences, in double precision. */
#include "trainer_gradient.h"

/* ---- matmul ---- */

static real *random_array(size_t count)
{
    real *values = calloc(count, sizeof *values);
    assert_non_null(values);
    gradient_random(values, count, count);
    return values;
}

static void check_matmul(const size_t size[3], bool transpose_a, bool transpose_b)
{
    size_t rows = size[0], columns = size[1], inner = size[2], stride = columns + 3;
    real *a_values = random_array(rows * inner), *b_values = random_array(inner * columns);
    real *out = random_array(rows * stride), *before = random_array(rows * stride);
    struct matrix a =
        transpose_a ? transposed(matrix_of(a_values, inner, rows, rows)) : matrix_of(a_values, rows, inner, inner);
    struct matrix b = transpose_b ? transposed(matrix_of(b_values, columns, inner, inner))
                                  : matrix_of(b_values, inner, columns, columns);

    matmul_add(out, stride, a, b);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < stride; j++) {
            double want = before[i * stride + j];
            for (size_t k = 0; j < columns && k < inner; k++)
                want += a.data[i * a.row_stride + k * a.column_stride] * b.data[k * b.row_stride + j * b.column_stride];
            assert_close(out[i * stride + j], want, 1e-10);
        }
    free(a_values);
    free(b_values);
    free(out);
    free(before);
}

TEST(matmul_add__shapes_on_and_off_the_tile__sum_of_products_and_nothing_beside)
{
    static const size_t sizes[][3] = {{1, 1, 1},    {4, 16, 8},  {5, 17, 3},   {3, 33, 257},
                                      {8, 15, 256}, {7, 1, 600}, {64, 48, 100}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int transposed_ones = 0; transposed_ones < 4; transposed_ones++)
            check_matmul(sizes[i], transposed_ones & 1, transposed_ones & 2);
}

/* ---- operations: the loss is the weighted sum of the output, so that d_out is the weights ---- */

enum { ROWS = 6, COLUMNS = 5, OUTPUTS = 7, CELLS = 512 };

struct fixture {
    real in[CELLS], weight[CELLS], bias[CELLS];
    real out[CELLS], kept[CELLS], scratch[CELLS], loss_weight[CELLS];
    real d_in[CELLS], d_weight[CELLS], d_bias[CELLS], d_out[CELLS];
    size_t out_count;
    void (*run)(struct fixture *);
};

static double weighted_output(void *context)
{
    struct fixture *f = context;
    double sum = 0;

    f->run(f);
    for (size_t i = 0; i < f->out_count; i++)
        sum += f->out[i] * f->loss_weight[i];
    return sum;
}

static struct fixture *fixture_new(void (*run)(struct fixture *), size_t out_count)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    gradient_random(f->in, CELLS, 1);
    gradient_random(f->weight, CELLS, 2);
    gradient_random(f->bias, CELLS, 3);
    gradient_random(f->loss_weight, CELLS, 4);
    memcpy(f->d_out, f->loss_weight, sizeof f->d_out);
    f->run = run;
    f->out_count = out_count;
    run(f);
    return f;
}

static void check(struct fixture *f, real *value, const real *derivative, size_t count)
{
    gradient_check(value, derivative, count, weighted_output, f);
}

static struct affine affine(struct fixture *f)
{
    return (struct affine){f->weight, f->bias, f->d_weight, f->d_bias, ROWS, COLUMNS, OUTPUTS};
}

static void forward_linear(struct fixture *f)
{
    linear_forward(f->out, f->in, affine(f));
}

TEST(linear_backward__random_values__finite_differences)
{
    struct fixture *f = fixture_new(forward_linear, (size_t)ROWS * OUTPUTS);

    linear_backward(f->d_in, f->in, f->d_out, affine(f));
    check(f, f->in, f->d_in, (size_t)ROWS * COLUMNS);
    check(f, f->weight, f->d_weight, (size_t)COLUMNS * OUTPUTS);
    check(f, f->bias, f->d_bias, OUTPUTS);
    free(f);
}

TEST(linear_backward__second_call__adds)
{
    struct fixture *f = fixture_new(forward_linear, (size_t)ROWS * OUTPUTS);

    linear_backward(f->d_in, f->in, f->d_out, affine(f));
    double once = f->d_weight[0], bias_once = f->d_bias[0];
    linear_backward(f->d_in, f->in, f->d_out, affine(f));
    assert_close(f->d_weight[0], 2 * once, 1e-12);
    assert_close(f->d_bias[0], 2 * bias_once, 1e-12);
    free(f);
}

static void forward_layernorm(struct fixture *f)
{
    layernorm_forward(f->out, f->kept, f->in, affine(f));
}

TEST(layernorm_backward__random_values__finite_differences)
{
    struct fixture *f = fixture_new(forward_layernorm, (size_t)ROWS * OUTPUTS);

    layernorm_backward(f->d_in, f->kept, f->in, f->d_out, affine(f));
    check(f, f->in, f->d_in, (size_t)ROWS * OUTPUTS);
    check(f, f->weight, f->d_weight, OUTPUTS);
    check(f, f->bias, f->d_bias, OUTPUTS);
    free(f);
}

TEST(layernorm_forward__unit_gain__rows_of_mean_0_and_variance_1)
{
    struct fixture *f = fixture_new(forward_layernorm, (size_t)ROWS * OUTPUTS);

    for (size_t j = 0; j < OUTPUTS; j++) {
        f->weight[j] = 1;
        f->bias[j] = 0;
    }
    forward_layernorm(f);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0, squares = 0;
        for (size_t j = 0; j < OUTPUTS; j++) {
            sum += f->out[i * OUTPUTS + j];
            squares += f->out[i * OUTPUTS + j] * f->out[i * OUTPUTS + j];
        }
        assert_close(sum, 0, 1e-12);
        assert_close(squares / OUTPUTS, 1, 1e-3);
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

static const struct model_shape attention = {.micro_batch = 2, .seq = 3, .heads = 2, .hidden = 4};
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

static const unsigned char targets[ROWS] = {3, 1, 3, 0, 2, 3};

static double entropy_of_copy(void *context)
{
    struct fixture *f = context;

    memcpy(f->out, f->in, sizeof f->out);
    return cross_entropy(f->out, targets, ROWS, COLUMNS, 0.25);
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

/* ---- Adam ---- */

TEST(zero_step__three_steps_of_adam__formula_of_the_paper)
{
    static const double gradients[] = {0.3, -2, 1e-6};
    const double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    struct device device = {0};
    struct ranks ranks = {.count = 1};
    struct zero z = {.device = &device, .ranks = &ranks};
    double want = 0, m = 0, v = 0;

    zero_open(&z, (const size_t[]){1, 1, 1}, 1);
    for (int step = 1; step <= 3; step++) {
        double g = gradients[step - 1];
        for (int i = 0; i < 3; i++)
            z.array[ZERO_GRADIENTS][i] = (real)g;
        zero_step(&z, 0.01, step);
        m = beta1 * m + (1 - beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
        want -= 0.01 * (m / (1 - pow(beta1, step))) / (sqrt(v / (1 - pow(beta2, step))) + epsilon);
        for (int i = 0; i < 3; i++)
            assert_close(z.array[ZERO_PARAMETERS][i], want, 1e-12);
    }
    free_state(&z);
}
