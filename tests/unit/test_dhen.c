/* predict/dhen: parameter counts against the implementation they describe. */

#include "models/dhen.h"
#include "unit_test.h"

static const struct dhen_sizes base_sizes = {.features = 512, .emb_dim = 160, .output_per_emb = 50};

/* Four layers of two ATTENTION, one LINEAR, one DOT: 4 · O = 200 embeddings between layers. */
static int64_t base_model(enum dhen_quantity quantity)
{
    const int64_t counts[DHEN_MIXER_END] = {[DHEN_DOT] = 1, [DHEN_LINEAR] = 1, [DHEN_ATTENTION] = 2};
    static const int64_t layers[][2] = {{512, 512}, {200, 512}, {200, 200}, {200, 200}};
    int64_t total = 0;
    for (size_t i = 0; i < LENGTH(layers); i++) {
        int64_t one = 0;
        assert_true(dhen_layer(&base_sizes, quantity, layers[i][0], layers[i][1], counts, &one));
        total += one;
    }
    return total;
}

TEST(layer__base_model__published_totals)
{
    assert_int_equal(base_model(DHEN_SHARED_PARAMETERS), 215334328);
    assert_int_equal(base_model(DHEN_FLOPS), 1251521536);
}

/* FLOPs by hand: 2·512²·160 + 2·512·512² + 2·512·50·160, 2·50·512·160, … */
TEST_ROWS(mixer__each_kind__formula, (enum dhen_mixer mixer; int64_t parameters, flops),
          {DHEN_DOT, 512LL * 512 * 512 + 512 + 512 * 8000 + 8000, 83886080 + 268435456 + 8192000},
          {DHEN_LINEAR, 50 * 512 + 50, 8192000},
          {DHEN_ATTENTION, 102400 + 655360 + 2048 + 960 + 25650, 8192000 + 10240000 + 1600000 + 65536000},
          {DHEN_CONVOLUTION, 26 + 25650, 4096000 + 8192000})
{
    int64_t parameters = 0, flops = 0;
    assert_true(dhen_mixer(&base_sizes, DHEN_PARAMETERS, 512, row->mixer, &parameters));
    assert_true(dhen_mixer(&base_sizes, DHEN_FLOPS, 512, row->mixer, &flops));
    assert_int_equal(parameters, row->parameters);
    assert_int_equal(flops, row->flops);
}

TEST(mixer__overflow_or_nonsense__refused_untouched)
{
    int64_t got = 42;
    assert_false(dhen_mixer(&base_sizes, DHEN_PARAMETERS, INT64_C(1) << 31, DHEN_DOT, &got));
    assert_false(dhen_mixer(&base_sizes, DHEN_PARAMETERS, 0, DHEN_DOT, &got));
    assert_false(dhen_mixer(&base_sizes, DHEN_PARAMETERS, 512, DHEN_NONE, &got));
    assert_false(dhen_mixer(&base_sizes, DHEN_PARAMETERS, 512, DHEN_MIXER_END, &got));
    assert_false(dhen_frame(&base_sizes, DHEN_PARAMETERS, INT64_MAX / 2, 3, &got));
    assert_int_equal(got, 42);
}

TEST(layer__too_many_separate_mixers__refused)
{
    const int64_t counts[DHEN_MIXER_END] = {[DHEN_DOT] = INT64_MAX / 1000};
    int64_t got = 42;
    assert_false(dhen_layer(&base_sizes, DHEN_PARAMETERS, 512, 512, counts, &got));
    assert_int_equal(got, 42);
    assert_true(dhen_layer(&base_sizes, DHEN_SHARED_PARAMETERS, 512, 512, counts, &got));
}

TEST(flops__overflow_or_nonsense__refused_untouched)
{
    const int64_t counts[DHEN_MIXER_END] = {[DHEN_LINEAR] = INT64_MAX / 1000};
    const struct dhen_sizes wide = {.features = 1, .emb_dim = INT64_MAX / 2, .output_per_emb = 3};
    int64_t got = 42;
    assert_false(dhen_mixer(&base_sizes, DHEN_FLOPS, INT64_C(1) << 31, DHEN_DOT, &got));
    assert_false(dhen_mixer(&wide, DHEN_FLOPS, 1, DHEN_LINEAR, &got));
    assert_false(dhen_mixer(&base_sizes, DHEN_FLOPS, 512, DHEN_NONE, &got));
    assert_false(dhen_frame(&base_sizes, DHEN_FLOPS, 512, 0, &got));
    assert_false(dhen_frame(&base_sizes, DHEN_FLOPS, INT64_C(1) << 40, 1 << 20, &got));
    assert_false(dhen_layer(&base_sizes, DHEN_FLOPS, 512, 512, counts, &got));
    assert_int_equal(got, 42);
}

TEST(mixer_from_name__known_and_unknown__kind_or_none)
{
    assert_int_equal(dhen_mixer_from_name("DOT"), DHEN_DOT);
    assert_int_equal(dhen_mixer_from_name("CONVOLUTION"), DHEN_CONVOLUTION);
    assert_int_equal(dhen_mixer_from_name("dot"), DHEN_NONE);
    assert_int_equal(dhen_mixer_from_name(""), DHEN_NONE);
}
