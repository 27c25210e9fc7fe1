/* space/model_sample: fixed draws, no repeats, uniformity, strata, filters. */
#include "model_space_fixture.h"
#include "models/cursor.h"
#include "models/filter.h"
#include "models/search.h"
#include "unit_test.h"

/* Twelve mixers in one to four layers, of three kinds (998,738: walked at once) or four (13,528,268: drawn
 * first). */
struct sampled_space {
    struct model_key keys[KEY_COUNT];
    struct model_space space;
    struct model_index *index;
    struct model_sample sample;
};

static void start(struct sampled_space *f, unsigned kinds)
{
    f->space = dhen_space(f->keys, kinds);
    f->index = index_of(&f->space);
    f->sample = (struct model_sample){0};
}

static void sampled_space_free(struct sampled_space *f)
{
    model_sample_free(&f->sample);
    model_index_free(f->index);
}

static void draw(struct sampled_space *f, const struct model_sample_request *request)
{
    model_sample_free(&f->sample);
    FAIL_IF(model_sample_draw(request, &f->sample, &e));
}

/* One stratum of the whole space. */
static void draw_any(struct sampled_space *f, uint64_t seed, uint64_t skip, uint64_t take)
{
    const struct model_stratum any = {.take = take, .skip = skip};
    draw(f, &(struct model_sample_request){.index = f->index, .seed = seed, .strata = &any, .stratum_count = 1});
}

static int compare_ranks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void assert_no_rank_twice(const struct model_sample *sample)
{
    OWNED uint64_t *sorted = malloc(sample->count * sizeof *sorted);
    memcpy(sorted, sample->ranks, sample->count * sizeof *sorted);
    qsort(sorted, sample->count, sizeof *sorted, compare_ranks);
    for (size_t i = 1; i < sample->count; i++)
        assert_true(sorted[i - 1] < sorted[i]);
}

TEST(draw__fixed_seed__fixed_ranks)
{
    static const struct {
        unsigned kinds;
        uint64_t ranks[5];
    } cases[] = {{3, {457693, 547607, 355465, 349697, 405930}}, {4, {2129734, 5797531, 3958575, 4758333, 621395}}};
    for (size_t i = 0; i < 2; i++) {
        HELD(sampled_space) f;
        start(&f, cases[i].kinds);
        draw_any(&f, 42, 0, 5);
        assert_int_equal(f.sample.count, 5);
        for (size_t k = 0; k < 5; k++)
            assert_int_equal(f.sample.ranks[k], cases[i].ranks[k]);
    }
}

TEST(draw__skip_and_take__stretches_of_one_order)
{
    for (unsigned kinds = 3; kinds <= 4; kinds++) {
        HELD(sampled_space) f;
        HELD(sampled_space) stretch;
        start(&f, kinds);
        start(&stretch, kinds);
        draw_any(&f, 7, 0, 300);
        for (size_t skip = 0; skip < 300; skip += 100) {
            draw_any(&stretch, 7, skip, 100);
            assert_int_equal(stretch.sample.count, 100);
            assert_memory_equal(stretch.sample.ranks, f.sample.ranks + skip, 100 * sizeof *f.sample.ranks);
        }
        draw_any(&stretch, 8, 0, 100);
        assert_memory_not_equal(stretch.sample.ranks, f.sample.ranks, 100 * sizeof *f.sample.ranks);
    }
}

TEST(draw__more_than_there_are__all_of_them_once)
{
    static const struct model_stratum strata[] = {
        {.key = "num_zhen_layers", .literal = "1", .take = 40},
        {.key = "num_zhen_layers", .literal = "2", .take = UINT64_MAX},
        {.key = "num_zhen_layers", .literal = "1", .take = UINT64_MAX},
    };
    HELD(sampled_space) f;
    start(&f, 3);
    draw(&f, &(struct model_sample_request){.index = f.index, .strata = strata, .stratum_count = 3});
    assert_int_equal(f.sample.count, 91 + 6006);
    assert_int_equal(f.sample.taken[0], 40);
    assert_int_equal(f.sample.taken[1], 6006);
    assert_int_equal(f.sample.taken[2], 51);
    assert_false(f.sample.cut);
    assert_no_rank_twice(&f.sample);
    for (size_t i = 0; i < f.sample.count; i++)
        assert_true(f.sample.ranks[i] < 91 + 6006);
}

/* Twenty each of one, two and three layers and a hundred of any, all like the base model: of one layer there
 * are none. */
TEST(draw__strata_of_similar_models__filtered_counted_distinct)
{
    static const struct model_stratum strata[] = {
        {.key = "num_zhen_layers", .literal = "1", .take = 20},
        {.key = "num_zhen_layers", .literal = "2", .take = 20},
        {.key = "num_zhen_layers", .literal = "3", .take = 20},
        {.take = 100},
    };
    static const size_t expected[] = {0, 20, 20, 100};
    for (unsigned kinds = 3; kinds <= 4; kinds++) {
        HELD(sampled_space) f;
        struct model_filter similar;
        start(&f, kinds);
        assert_int_equal(model_filter_similar_parameters(&f.space, BASE_PARAMETERS, 0.1, &similar, NULL), 0);
        draw(&f, &(struct model_sample_request){.index = f.index,
                                                .seed = 1,
                                                .filters = &similar,
                                                .filter_count = 1,
                                                .strata = strata,
                                                .stratum_count = 4});
        assert_memory_equal(f.sample.taken, expected, sizeof expected);
        assert_int_equal(f.sample.count, 140);
        assert_no_rank_twice(&f.sample);
        assert_true(similar.removed > 0);
        struct model_cursor *cursor = model_cursor_make(f.index);
        for (size_t i = 0; i < 140; i++) {
            const struct model_candidate *c = model_cursor_seek(cursor, f.sample.ranks[i]);
            assert_true(c->parameters >= similar.low && c->parameters <= similar.high);
            if (i < 40)
                assert_int_equal(c->parts[KEY_TOKENS].stack.layers, i < 20 ? 2 : 3);
        }
        model_cursor_free(cursor);
    }
}

/* So rare that drawing cannot find them all: 4 · 232 uniform models of 13.5 million. */
TEST(draw__rare_in_a_large_space__walk_finds_the_rest)
{
    static const struct model_stratum all = {.take = UINT64_MAX}, some = {.take = 100},
                                      more = {.take = 50, .skip = 100};
    HELD(sampled_space) f;
    struct model_filter uniform;
    struct model_sample_request request = {.seed = 5, .filters = &uniform, .filter_count = 1, .stratum_count = 1};
    uint64_t ranks[150];
    start(&f, 4);
    request.index = f.index;
    assert_int_equal(model_filter_uniform_mixer(&f.space, KEY_TOKENS, NULL, &uniform, NULL), 0);
    request.strata = &some;
    draw(&f, &request);
    assert_int_equal(f.sample.count, 100);
    memcpy(ranks, f.sample.ranks, 100 * sizeof *ranks);
    request.strata = &more;
    draw(&f, &request);
    assert_int_equal(f.sample.count, 50);
    memcpy(ranks + 100, f.sample.ranks, 50 * sizeof *ranks);
    request.strata = &all;
    draw(&f, &request);
    assert_int_equal(f.sample.count, 4 * 232);
    assert_no_rank_twice(&f.sample);
    assert_memory_equal(f.sample.ranks, ranks, sizeof ranks);
}

TEST(draw__walk_limit__short_and_said_so)
{
    static const struct model_stratum some = {.take = 100};
    HELD(sampled_space) f;
    struct model_filter uniform;
    start(&f, 4);
    assert_int_equal(model_filter_uniform_mixer(&f.space, KEY_TOKENS, "LINEAR", &uniform, NULL), 0);
    draw(&f, &(struct model_sample_request){.index = f.index,
                                            .filters = &uniform,
                                            .filter_count = 1,
                                            .strata = &some,
                                            .stratum_count = 1,
                                            .walk_limit = 1000000});
    assert_true(f.sample.count < 100);
    assert_true(f.sample.cut);
}

/* χ² over the 91 models of one layer, ten of them drawn with each of 4,550 seeds. The draws of one seed are
 * without replacement, which makes χ² smaller by the factor 81/90; 90 degrees of freedom exceed 137.2 once in
 * a thousand. */
TEST(draw__many_seeds__each_candidate_equally_often)
{
    enum { SEEDS = 4550, TAKE = 10, MODELS = 91, EXPECTED = SEEDS * TAKE / MODELS };
    static const struct model_stratum one_layer = {.key = "num_zhen_layers", .literal = "1", .take = TAKE};
    HELD(sampled_space) f;
    int hits[MODELS] = {0};
    double chi = 0;
    start(&f, 3);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        draw(&f,
             &(struct model_sample_request){.index = f.index, .seed = seed, .strata = &one_layer, .stratum_count = 1});
        assert_int_equal(f.sample.count, TAKE);
        for (size_t i = 0; i < TAKE; i++)
            hits[f.sample.ranks[i]]++;
    }
    for (int i = 0; i < MODELS; i++)
        chi += (double)(hits[i] - EXPECTED) * (hits[i] - EXPECTED) / EXPECTED;
    assert_true(chi / (81.0 / 90) < 137.2);
    assert_true(chi / (81.0 / 90) > 52.3); /* nor more even than chance: below that once in a thousand */
}

/* Both ways of drawing: layers come up as often as they occur (within five standard deviations). */
TEST(draw__layers_of_the_sample__as_frequent_as_in_the_space)
{
    enum { TAKE = 20000 };
    for (unsigned kinds = 3; kinds <= 4; kinds++) {
        HELD(sampled_space) f;
        start(&f, kinds);
        draw_any(&f, 99, 0, TAKE);
        double share = (double)model_index_count_layers(f.index, KEY_TOKENS, 3) / (double)f.index->count;
        uint64_t first = f.index->count - model_index_count_layers(f.index, KEY_TOKENS, 4) -
                         model_index_count_layers(f.index, KEY_TOKENS, 3);
        uint64_t end = f.index->count - model_index_count_layers(f.index, KEY_TOKENS, 4);
        double hits = 0;
        for (size_t i = 0; i < TAKE; i++)
            hits += f.sample.ranks[i] >= first && f.sample.ranks[i] < end;
        double off = hits - TAKE * share;
        assert_true(off * off < 25 * TAKE * share * (1 - share));
        assert_no_rank_twice(&f.sample);
    }
}

/* Every candidate of the second stratum may come up, whatever the first took: the first takes all but one. */
TEST(draw__later_stratum__gets_exactly_what_is_left)
{
    static const struct model_stratum strata[] = {
        {.key = "num_zhen_layers", .literal = "1", .take = 90},
        {.key = "num_zhen_layers", .literal = "1", .take = 5},
    };
    HELD(sampled_space) f;
    uint64_t sum = 0;
    start(&f, 3);
    draw(&f, &(struct model_sample_request){.index = f.index, .seed = 3, .strata = strata, .stratum_count = 2});
    assert_int_equal(f.sample.taken[0], 90);
    assert_int_equal(f.sample.taken[1], 1);
    for (size_t i = 0; i < 91; i++)
        sum += f.sample.ranks[i];
    assert_int_equal(sum, 90 * 91 / 2);
}

TEST(draw__own_filter_of_a_stratum__only_there)
{
    HELD(sampled_space) f;
    struct model_filter dot;
    start(&f, 3);
    assert_int_equal(model_filter_uniform_mixer(&f.space, KEY_TOKENS, "DOT", &dot, NULL), 0);
    const struct model_stratum strata[] = {{.take = UINT64_MAX, .filters = &dot, .filter_count = 1}, {.take = 7}};
    draw(&f, &(struct model_sample_request){.index = f.index, .strata = strata, .stratum_count = 2});
    assert_int_equal(f.sample.taken[0], 1 + 11 + 55 + 165);
    assert_int_equal(f.sample.taken[1], 7);
}

static int fails(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    (void)f;
    (void)c;
    return error_set(e, ERROR_FAILED, "division by zero");
}

TEST(draw__unknown_value_or_failing_filter__error_and_nothing_drawn)
{
    static const struct model_stratum five = {.key = "num_zhen_layers", .literal = "5", .take = 1}, any = {.take = 1};
    for (unsigned kinds = 3; kinds <= 4; kinds++) {
        HELD(sampled_space) f;
        struct model_filter broken = {.name = "where", .accepts = fails};
        start(&f, kinds);
        struct model_sample_request request = {.index = f.index, .strata = &five, .stratum_count = 1};
        FAILS_WITH(model_sample_draw(&request, &f.sample, &e), "num_zhen_layers has no value 5");
        request = (struct model_sample_request){.index = f.index,
                                                .strata = &any,
                                                .stratum_count = 1,
                                                .filters = &broken,
                                                .filter_count = 1};
        FAILS_WITH(model_sample_draw(&request, &f.sample, &e), "division by zero");
        assert_null(f.sample.ranks);
        assert_null(f.sample.taken);
    }
}
