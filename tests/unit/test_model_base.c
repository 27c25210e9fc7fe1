/* space/model_base: what a base counts, and which candidate it is. */
#include "model_search_fixture.h"

#include "models/base.h"

/* A second ATTENTION has weights of its own: 4·D² + 2·2048·D + 2048 + 6·D + O·p + O each, p = 512 once, 200 then. */
TEST(make__separate_weights__every_mixer_counts)
{
    HELD_AT(sweep) *s = sweep_of("[model_space]\nshared_weights = false\n" ZHEN_KINDS("\"DOT\"") ZHEN_BASE);
    struct model_base base;
    assert_int_equal(model_base_make(s->model_space, &base, NULL), 0);
    const int64_t attention = 4 * 160 * 160 + 2 * 2048 * 160 + 2048 + 6 * 160 + 50;
    assert_int_equal(base.parameters, BASE_PARAMETERS + 4 * attention + 50 * (512 + 3 * 200));
}

TEST(make__no_base__nothing)
{
    HELD_AT(sweep) *s = sweep_of(ZHEN_SPACE);
    struct model_base base;
    assert_int_equal(model_base_make(s->model_space, &base, NULL), 0);
    assert_int_equal(base.parameters, 0);
}

TEST_ROWS(make__unknown_or_too_large__refused_with_place, (const char *text, *message),
          {ZHEN_SPACE "[model_space.base]\n" ZHEN_SIZES "num_zhen_layers = 1\ntokens = [\"MAGIC\"]\n",
           "s.toml:13:10: the base: the parameters of MAGIC cannot be counted"},
          {ZHEN_SPACE "[model_space.base]\nnum_features = 512\nemb_dim = 160\noutput_per_emb = 9000000000000000000\n"
                      "num_zhen_layers = 2\ntokens = [\"LINEAR\", \"LINEAR\"]\n",
           "s.toml:13:10: the base has too many parameters to count in 64 bits"},
          {ZHEN_SPACE "[model_space.base]\n" ZHEN_SIZES "num_zhen_layers = 65\ntokens = [\"DOT\"]\n",
           "s.toml:8:1: the base has more than 64 layers"})
{
    HELD_AT(sweep) *s = sweep_of(row->text);
    struct model_base base = {.parameters = 42};
    struct error e = ERROR_INIT;
    assert_int_equal(model_base_make(s->model_space, &base, &e), -1);
    assert_string_equal(e.text, row->message);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_int_equal(base.parameters, 42);
}

/* The rank of the base, or -1. */
static int64_t rank_of(const char *text)
{
    HELD_AT(sweep) *s = sweep_of(text);
    HELD_AT(model_search) *search = search_of(s, NULL);
    uint64_t rank = 0;
    bool found = model_base_find(&search->base, search->index, &rank);
    return found ? (int64_t)rank : -1;
}

#define SMALL_SPACE                                                                                                    \
    "[model_space]\nmixers = [\"DOT\", \"LINEAR\"]\nmixers_per_layer = 2\nnum_zhen_layers = [1, 2]\n"                  \
    "num_features = [4, 8]\nemb_dim = 2\noutput_per_emb = 2\n[model_space.base]\nnum_features = 8\nemb_dim = 2\n"      \
    "output_per_emb = 2\n"

/* There are 2 × (3 + 9) candidates, one layer before two; a layer is DOT DOT, DOT LINEAR or LINEAR LINEAR. */
TEST(find__in_any_order__rank)
{
    assert_int_equal(rank_of(SMALL_SPACE "num_zhen_layers = 1\ntokens = [[\"DOT\", \"DOT\"]]\n"), 12);
    assert_int_equal(rank_of(SMALL_SPACE "num_zhen_layers = 1\ntokens = [\"LINEAR\", \"DOT\"]\n"), 13);
    assert_int_equal(rank_of(SMALL_SPACE "num_zhen_layers = 2\ntokens = [\"LINEAR\", \"DOT\"]\n"), 12 + 3 + 4);
    assert_int_equal(rank_of(SMALL_SPACE
                             "num_zhen_layers = 2\ntokens = [[\"LINEAR\", \"LINEAR\"], [\"LINEAR\", \"DOT\"]]\n"),
                     12 + 3 + 7);
}

TEST(find__outside_the_space__false)
{
    assert_int_equal(rank_of(ZHEN_SPACE ZHEN_BASE), -1);
    assert_int_equal(rank_of(ZHEN_SPACE), -1);
    assert_int_equal(rank_of(SMALL_SPACE "num_zhen_layers = 1\ntokens = [\"DOT\"]\n"), -1);
    assert_int_equal(rank_of(SMALL_SPACE "num_zhen_layers = 3\ntokens = [\"DOT\", \"DOT\"]\n"), -1);
    assert_int_equal(rank_of(SMALL_SPACE "num_zhen_layers = 1\ntokens = [\"DOT\", \"ATTENTION\"]\n"), -1);
    assert_int_equal(rank_of(SMALL_SPACE "num_zhen_layers = 1\ntokens = [\"DOT\", \"DOT\"]\nextra = 1\n"), -1);
    assert_int_equal(rank_of("[model_space.keys]\na = [1, 2]\nb = 3\n[model_space.base]\na = 2\n"), -1);
    assert_int_equal(rank_of("[model_space.keys]\na = [1, 2]\nb = 3\n[model_space.base]\na = 2\nb = 3\n"), 1);
    assert_int_equal(rank_of("[model_space.keys]\na = [1, 2]\n[model_space.base]\na = 3\n"), -1);
}
