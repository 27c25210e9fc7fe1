/* trainer: the whole model against finite differences, in double precision, and what a pass holds. */
#include <sys/wait.h>

#include "trainer_gradient.h"

enum { LENGTH = 5, MICRO_BATCH = 2, WIDTH = 4, HEAD_COUNT = 2, TOKEN_ROWS = 11 };
static const struct model_shape shape =
    {.layers = 2, .hidden = WIDTH, .heads = HEAD_COUNT, .seq = LENGTH, .vocab = TOKEN_ROWS, .micro_batch = MICRO_BATCH};
static const unsigned char tokens[MICRO_BATCH * LENGTH] = {0, 3, 10, 3, 7, 1, 1, 4, 9, 2};
static const unsigned char targets[MICRO_BATCH * LENGTH] = {3, 10, 3, 7, 1, 1, 4, 9, 2, 0};

struct fixture {
    struct device device;
    struct ranks ranks;
    struct model model;
};

static int setup(void **state, int stage, bool checkpointing)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->ranks.count = 1;
    f->model.shape = shape;
    f->model.shape.checkpointing = checkpointing;
    f->model.zero = (struct zero){.device = &f->device, .ranks = &f->ranks, .stage = stage};
    model_open(&f->model, 1);
    gradient_random(f->model.zero.array[ZERO_PARAMETERS], model_parameters(&shape), 8);
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
    free_state(&f->model.zero);
    free(f);
    return 0;
}

static double pass_loss(void *context)
{
    struct fixture *f = context;
    return model_pass(&f->model, tokens, targets, 0.1);
}

TEST_WITHIN(model_pass__random_parameters__finite_differences, setup_plain, teardown)
{
    struct fixture *f = *state;
    size_t count = model_parameters(&shape);
    real *gradients = calloc(count, sizeof *gradients);
    pass_loss(f);
    memcpy(gradients, f->model.zero.array[ZERO_GRADIENTS], count * sizeof *gradients);
    gradient_check(f->model.zero.array[ZERO_PARAMETERS], gradients, count, pass_loss, f);
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
    double once = f->model.zero.array[ZERO_GRADIENTS][0];
    pass_loss(f);
    assert_true(once != 0);
    assert_close(f->model.zero.array[ZERO_GRADIENTS][0], 2 * once, 1e-12);
}

TEST_WITHIN(model_pass__after_it__device_holds_the_state_alone, setup_plain, teardown)
{
    struct fixture *f = *state;
    size_t before = f->device.used[USE_TOTAL];
    pass_loss(f);
    assert_int_equal(f->device.used[USE_TOTAL], before);
    assert_true(f->device.peak[USE_TOTAL] > before);
}

/* The formula of model.h; sizes here are multiples of the alignment only by luck, so each block is rounded.
 */
TEST_WITHIN(model_pass__peak_of_activations__formula_of_the_header, setup_plain, teardown)
{
    struct fixture *f = *state;
    size_t n = (size_t)MICRO_BATCH * LENGTH, h = WIDTH, a = HEAD_COUNT;
    size_t row_block = device_rounded(n * h * sizeof(real));
    size_t kept = device_rounded((15 * n * h + 4 * n + n * a * LENGTH) * sizeof(real));
    size_t head = 2 * row_block + device_rounded(2 * n * sizeof(real)) + device_rounded(n * TOKEN_ROWS * sizeof(real));
    size_t scratch = device_rounded((5 * n * h + LENGTH * LENGTH) * sizeof(real));
    size_t head_peak = 3 * row_block + 2 * kept + head;
    size_t layer_peak = 2 * row_block + 2 * kept + row_block + scratch;
    pass_loss(f);
    assert_int_equal(f->device.peak[USE_ACTIVATIONS], head_peak > layer_peak ? head_peak : layer_peak);
}

/* The status of a process of its own in which a pass is made on a device of so many bytes. */
static int pass_within(struct fixture *f, size_t capacity)
{
    int wait_status;
    pid_t child = fork();
    if (child == 0) {
        f->device.capacity = capacity;
        if (!freopen("/dev/null", "w", stderr))
            _exit(127);
        pass_loss(f);
        _exit(STATUS_OK);
    }
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status));
    return WEXITSTATUS(wait_status);
}

TEST_WITHIN(model_pass__device_full_anywhere__fails, setup_checkpointing_stage_3, teardown)
{
    struct fixture *f = *state;
    size_t before = f->device.used[USE_TOTAL];
    pass_loss(f);
    size_t peak = f->device.peak[USE_TOTAL];
    for (size_t capacity = before + 64; capacity < peak; capacity += 64)
        assert_int_equal(pass_within(f, capacity), STATUS_FAILED);
    assert_int_equal(pass_within(f, peak), STATUS_OK);
}

TEST(model_parameters__formula_of_the_header__holds)
{
    struct model_shape gpt = {.layers = 3, .hidden = 48, .heads = 4, .seq = 100, .vocab = 300};
    size_t h = 48;
    assert_int_equal(model_parameters(&gpt), (300 + 100) * h + 3 * (12 * h * h + 13 * h) + 2 * h + h * 300);
}

/* A gain, a bias and a weight of the first layer, which lies behind the tables. */
TEST(model_open__same_seed__same_values_else_others)
{
    size_t count = model_parameters(&shape), gain = (TOKEN_ROWS + LENGTH) * WIDTH, weight = gain + 2 * WIDTH;
    static const uint64_t seeds[3] = {5, 5, 6};
    struct device device = {0};
    struct ranks ranks = {.count = 1};
    struct model m[3];
    for (int i = 0; i < 3; i++) {
        m[i] = (struct model){shape, {.device = &device, .ranks = &ranks}};
        model_open(&m[i], seeds[i]);
    }
    const real *a = m[0].zero.array[ZERO_PARAMETERS], *c = m[2].zero.array[ZERO_PARAMETERS];
    assert_memory_equal(a, m[1].zero.array[ZERO_PARAMETERS], count * sizeof *a);
    assert_true(a[gain] == 1 && a[gain + WIDTH] == 0);
    assert_true(a[weight] != c[weight]);
    for (int i = 0; i < 3; i++)
        free_state(&m[i].zero);
}

static double deviation_of(const real *values, size_t count)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += values[i] * values[i];
    return sqrt(squares / (double)count);
}

TEST(model_open__weights__deviate_as_in_gpt_2)
{
    static const struct model_shape wide = {.layers = 8, .hidden = 64, .heads = 4, .seq = 2, .vocab = 256};
    size_t layer = (256 + 2) * 64, qkv = layer + 2 * 64, projection = qkv + 3 * 64 * 64 + 3 * 64;
    struct device device = {0};
    struct ranks ranks = {.count = 1};
    struct model m = {wide, {.device = &device, .ranks = &ranks}};
    model_open(&m, 1);
    const real *values = m.zero.array[ZERO_PARAMETERS];
    assert_close(deviation_of(values, layer), 0.02, 0.001);
    assert_close(deviation_of(values + qkv, 3 * 64 * 64), 0.02, 0.001);
    assert_close(deviation_of(values + projection, 64 * 64), 0.02 / 4, 0.0005);
    free_state(&m.zero);
}
