/* space/model_filter: presets against known counts, composition, failures. */
#include "model_space_fixture.h"
#include "models/cursor.h"
#include "models/filter.h"

/* Candidates within ±10 % of the base model, by number of layers: all of a million, all of 13.5 million. */
TEST(filter__similar_parameters__known_numbers)
{
    ROWS(cases, unsigned kinds; uint64_t total, kept[5]) = {{3, 998738, {0, 0, 780, 15060, 80223}},
                                                            {4, 13528268, {0, 0, 5340, 110580, 601936}}};
    for (size_t i = 0; i < 2; i++) {
        struct space_key keys[KEY_COUNT];
        struct model_space_table space = dhen_space(keys, cases[i].kinds);
        HELD_AT(model_index) *index = index_of(&space);
        HELD_AT(model_cursor) *cursor = model_cursor_make(index);
        struct model_filter filter;
        const struct model_candidate *c = NULL;
        uint64_t kept[5] = {0}, sum = 0;
        filter = model_filter_similar_parameters(BASE_PARAMETERS, 0.1);
        while (model_filters_next(&filter, 1, cursor, &c, NULL) > 0) {
            kept[c->parts[KEY_TOKENS].stack.layers]++;
            sum++;
        }
        assert_memory_equal(kept, cases[i].kept, sizeof kept);
        assert_int_equal(filter.removed, cases[i].total - sum);
    }
}

TEST(filter__separate_weights__known_number)
{
    DHEN_SPACE(3);
    space.shared_weights = false;
    HELD_AT(model_index) *index = index_of(&space);
    HELD_AT(model_cursor) *cursor = model_cursor_make(index);
    struct model_filter filter;
    const struct model_candidate *c;
    uint64_t kept = 0;
    int64_t sum = 0;
    filter = model_filter_similar_parameters(BASE_PARAMETERS, 0.1);
    while ((c = model_cursor_next(cursor)) != NULL) {
        kept += (uint64_t)model_filters_accept(&filter, 1, c, NULL);
        sum += c->parameters;
    }
    assert_int_equal(kept, 82812);
    assert_int_equal(sum, INT64_C(197930002636500));
}

TEST(filter__three_presets_in_a_row__each_counts_what_it_removed)
{
    DHEN_WALK(3);
    struct model_filter filters[3];
    const struct model_candidate *c = NULL;
    uint64_t kept = 0;
    assert_int_equal(model_filter_fixed_layers(&space, KEY_TOKENS, 3, &filters[0], NULL), 0);
    filters[1] = model_filter_similar_parameters(BASE_PARAMETERS, 0.1);
    assert_int_equal(model_filter_uniform_mixer(&space, KEY_TOKENS, "DOT", &filters[2], NULL), 0);
    while (model_filters_next(filters, 3, cursor, &c, NULL) > 0) {
        assert_int_equal(c->parts[KEY_TOKENS].stack.layers, 3);
        for (unsigned layer = 0; layer < 3; layer++)
            assert_int_equal(c->parts[KEY_TOKENS].stack.counts[layer * 3], c->parts[KEY_TOKENS].stack.sizes[layer]);
        kept++;
    }
    assert_int_equal(filters[0].removed, 998738 - 107679);
    assert_int_equal(filters[1].removed, 107679 - 15060);
    assert_int_equal(filters[2].removed, 15060 - kept);
}

/* Compositions of twelve into one to four parts, for each of three kinds. */
TEST(filter__uniform_of_any_kind__compositions_times_kinds)
{
    DHEN_WALK(3);
    struct model_filter filter;
    const struct model_candidate *c = NULL;
    uint64_t kept = 0;
    assert_int_equal(model_filter_uniform_mixer(&space, KEY_TOKENS, NULL, &filter, NULL), 0);
    while (model_filters_next(&filter, 1, cursor, &c, NULL) > 0)
        kept++;
    assert_int_equal(kept, 3 * (1 + 11 + 55 + 165));
}

static int fails(const struct model_filter *f, const struct model_candidate *c, struct error *e)
{
    (void)f;
    (void)c;
    return error_set(e, ERROR_FAILED, "no such function: nope");
}

TEST(filter__of_the_caller_fails__error_returned)
{
    DHEN_WALK(3);
    struct model_filter filter = {.name = "where", .accepts = fails};
    const struct model_candidate *c = NULL;
    FAILS_WITH(model_filters_next(&filter, 1, cursor, &c, &e), "no such function: nope");
    assert_null(c);
    assert_int_equal(filter.removed, 0);
}

TEST(filter__bounds_of_similarity__equal_to_definition)
{
    struct model_filter f = model_filter_similar_parameters(90, 0.1);
    assert_int_equal(f.low, 81);
    assert_int_equal(f.high, 100);
    f = model_filter_similar_parameters(BASE_PARAMETERS, 0);
    assert_int_equal(f.low, BASE_PARAMETERS);
    assert_int_equal(f.high, BASE_PARAMETERS);
    f = model_filter_similar_parameters(INT64_MAX - 1, 0.5);
    assert_int_equal(f.high, INT64_MAX);
}

TEST(filter__nonsense__refused_with_reason)
{
    DHEN_SPACE(3);
    struct model_filter f;
    FAILS(model_filter_fixed_layers(&space, KEY_EMB_DIM, 1, &f, &e));
    FAILS(model_filter_fixed_layers(&space, MODEL_NO_KEY, 1, &f, &e));
    FAILS_WITH(model_filter_uniform_mixer(&space, KEY_TOKENS, "CONVOLUTION", &f, &e),
               "uniform mixer: the model space has no CONVOLUTION");
}
