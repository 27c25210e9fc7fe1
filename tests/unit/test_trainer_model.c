/* trainer: the whole model against finite differences, in double precision, and what a pass holds. */
#include <stdlib.h>
#include <string.h>

#include "trainer/model.h"
#include "trainer_gradient.h"
#include "unit_test.h"

enum { SEQ = 5, MICRO_BATCH = 2, HIDDEN = 4, HEADS = 2, VOCAB = 11, UNITS = 4 };
static const struct model_shape shape = {.layers = 2, .hidden = HIDDEN, .heads = HEADS, .seq = SEQ, .vocab = VOCAB};
static const unsigned char tokens[MICRO_BATCH * SEQ] = {0, 3, 10, 3, 7, 1, 1, 4, 9, 2};
static const unsigned char targets[MICRO_BATCH * SEQ] = {3, 10, 3, 7, 1, 1, 4, 9, 2, 0};

struct fixture {
    struct device device;
    struct collective_group *group;
    struct collective collective;
    struct zero zero;
    struct model model;
    struct model_batch batch;
};

static int setup(void **state, int stage, bool checkpointing)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error e;
    size_t sizes[UNITS];
    struct zero_setup setup = {stage, sizes, UNITS, &f->device, &f->collective};

    for (int i = 0; i < UNITS; i++)
        sizes[i] = model_unit_parameters(&shape, i);
    device_open(&f->device, 0, 0);
    if (collective_group_create(&f->group, 1, &e) < 0)
        return -1;
    collective_join(&f->collective, f->group, 0);
    if (zero_open(&f->zero, &setup, &e) < 0)
        return -1;
    f->model = (struct model){shape, MICRO_BATCH, checkpointing, &f->zero, &f->device};
    f->batch = (struct model_batch){tokens, targets, 0.1};
    gradient_random(f->zero.parameters, model_parameters(&shape), 8);
    *state = f;
    return 0;
}

static int setup_plain(void **state)
{
    return setup(state, 0, false);
}

static int setup_checkpointing_stage_3(void **state)
{
    return setup(state, 3, true);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    zero_close(&f->zero);
    collective_group_destroy(f->group);
    free(f);
    return 0;
}

static double pass_loss(void *context)
{
    struct fixture *f = context;
    struct error e;
    real loss = 0;

    assert_int_equal(model_pass(&f->model, &f->batch, &loss, &e), 0);
    return loss;
}

TEST_WITHIN(model_pass__random_parameters__finite_differences, setup_plain, teardown)
{
    struct fixture *f = *state;
    size_t count = model_parameters(&shape);
    real *gradients = calloc(count, sizeof *gradients);

    pass_loss(f);
    memcpy(gradients, f->zero.gradients, count * sizeof *gradients);
    gradient_check(f->zero.parameters, gradients, count, pass_loss, f);
    free(gradients);
}

TEST_WITHIN(model_pass__checkpointing_and_stage_3__finite_differences, setup_checkpointing_stage_3, teardown)
{
    model_pass__random_parameters__finite_differences(state);
}

TEST_WITHIN(model_pass__second_micro_batch__gradients_add, setup_plain, teardown)
{
    struct fixture *f = *state;

    pass_loss(f);
    double once = f->zero.gradients[0];
    pass_loss(f);
    assert_true(once != 0);
    assert_close(f->zero.gradients[0], 2 * once, 1e-12);
}

TEST_WITHIN(model_pass__after_it__device_holds_the_state_alone, setup_plain, teardown)
{
    struct fixture *f = *state;
    size_t before = f->device.used_bytes;

    pass_loss(f);
    assert_int_equal(f->device.used_bytes, before);
    assert_true(f->device.peak_bytes > before);
}

/* The formula of model.h; sizes here are multiples of the alignment only by luck, so each block is rounded.
 */
TEST_WITHIN(model_pass__peak_of_activations__formula_of_the_header, setup_plain, teardown)
{
    struct fixture *f = *state;
    size_t n = (size_t)MICRO_BATCH * SEQ, h = HIDDEN, a = HEADS;
    size_t row_block = device_rounded(n * h * sizeof(real));
    size_t kept = device_rounded((15 * n * h + 4 * n + n * a * SEQ) * sizeof(real));
    size_t head = 2 * row_block + device_rounded(2 * n * sizeof(real)) + device_rounded(n * VOCAB * sizeof(real));
    size_t scratch = device_rounded((5 * n * h + SEQ * SEQ) * sizeof(real));
    size_t head_peak = 3 * row_block + 2 * kept + head;
    size_t layer_peak = 2 * row_block + 2 * kept + row_block + scratch;

    pass_loss(f);
    assert_int_equal(f->device.peak_by[DEVICE_ACTIVATIONS], head_peak > layer_peak ? head_peak : layer_peak);
}

TEST_WITHIN(model_pass__device_full_anywhere__error_and_nothing_left, setup_checkpointing_stage_3, teardown)
{
    struct fixture *f = *state;
    struct error e;
    size_t before = f->device.used_bytes;
    real loss;

    pass_loss(f);
    size_t peak = f->device.peak_bytes;
    for (f->device.capacity_bytes = before + 64; f->device.capacity_bytes < peak; f->device.capacity_bytes += 64) {
        assert_int_equal(model_pass(&f->model, &f->batch, &loss, &e), -1);
        assert_int_equal(f->device.used_bytes, before);
    }
    assert_int_equal(model_pass(&f->model, &f->batch, &loss, &e), 0);
}

TEST(model_parameters__formula_of_the_header__holds)
{
    struct model_shape gpt = {.layers = 3, .hidden = 48, .heads = 4, .seq = 100, .vocab = 300};
    size_t h = 48;

    assert_int_equal(model_parameters(&gpt), (300 + 100) * h + 3 * (12 * h * h + 13 * h) + 2 * h + h * 300);
}

TEST(model_init_unit__same_seed__same_values_else_others)
{
    size_t count = model_unit_parameters(&shape, 1), weight = 2 * HIDDEN;
    real *a = calloc(3 * count, sizeof *a), *b = a + count, *c = b + count;

    model_init_unit(&shape, 1, 5, a);
    model_init_unit(&shape, 1, 5, b);
    model_init_unit(&shape, 1, 6, c);
    assert_memory_equal(a, b, count * sizeof *a);
    assert_true(a[weight] != c[weight]);
    assert_true(a[0] == 1 && a[HIDDEN] == 0);
    free(a);
}
