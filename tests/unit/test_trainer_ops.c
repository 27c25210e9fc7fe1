/* trainer: operations against a plain formula, in double precision. */
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

/* ---- operations; their derivatives are taken in the whole model ---- */

enum { ROWS = 6, COLUMNS = 5, OUTPUTS = 7, CELLS = 512 };

struct fixture {
    real in[CELLS], weight[CELLS], bias[CELLS], out[CELLS], kept[CELLS];
    real d_weight[CELLS], d_bias[CELLS];
};

static struct fixture *fixture_new(void (*run)(struct fixture *))
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    gradient_random(f->in, CELLS, 1);
    gradient_random(f->weight, CELLS, 2);
    gradient_random(f->bias, CELLS, 3);
    run(f);
    return f;
}

static struct affine affine(struct fixture *f)
{
    return (struct affine){f->weight, f->bias, f->d_weight, f->d_bias, ROWS, COLUMNS, OUTPUTS};
}

static void forward_layernorm(struct fixture *f)
{
    layernorm_forward(f->out, f->kept, f->in, affine(f));
}

TEST(layernorm_forward__unit_gain__rows_of_mean_0_and_variance_1)
{
    struct fixture *f = fixture_new(forward_layernorm);
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

static const struct model_shape attention = {.micro_batch = 2, .seq = 3, .heads = 2, .hidden = 4};
enum { ATTENTION_ROWS = 6, ATTENTION_CELLS = ATTENTION_ROWS * 4 };

static void forward_attention(struct fixture *f)
{
    attention_forward(f->out, f->kept, f->in, &attention);
}

TEST(attention_forward__later_token_changed__earlier_rows_and_other_sequences_stay)
{
    struct fixture *f = fixture_new(forward_attention);
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

TEST(cross_entropy__equal_logits__scaled_log_of_the_classes)
{
    real logits[ROWS * COLUMNS] = {0};
    assert_close(cross_entropy(logits, targets, ROWS, COLUMNS, 0.25), 0.25 * ROWS * log(COLUMNS), 1e-12);
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
