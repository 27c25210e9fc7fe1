/* space/model_space, model_index, model_cursor, model_filter, model_toml: counts, order, positions,
 * parameters. */
#include "model_space_fixture.h"
#include "models/cursor.h"
#include "models/dhen.h"
#include "sweep_file/reader.h"
#include "unit_test.h"
#include "util/rng.h"

TEST(count__lists_and_ranges_of_sizes__multiplied)
{
    static const int64_t features[] = {256, 512};
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    keys[KEY_FEATURES].axis = (struct model_axis){2, features, NULL, 0, 0};
    keys[KEY_OUTPUT].axis = (struct model_axis){5, NULL, NULL, 10, 10};
    HELD_AT(model_index) *index = index_of(&space);
    assert_int_equal(index->count, 998738 * 10);
    assert_int_equal(model_index_count_layers(index, KEY_TOKENS, 2), 6006 * 10);
}

/* Counts a candidate's parameters, or the FLOPs of a training step, from its parts alone. */
static int64_t count_from_scratch(const struct model_candidate *c, bool flops, bool separate)
{
    const struct layer_state *st = &c->parts[KEY_TOKENS].stack;
    unsigned kinds = c->space->keys[KEY_TOKENS].stack.rules.kinds;
    const struct dhen_sizes sizes = {
        model_axis_integer(&c->space->keys[KEY_FEATURES].axis, c->parts[KEY_FEATURES].position),
        model_axis_integer(&c->space->keys[KEY_EMB_DIM].axis, c->parts[KEY_EMB_DIM].position),
        model_axis_integer(&c->space->keys[KEY_OUTPUT].axis, c->parts[KEY_OUTPUT].position),
    };
    int64_t total = 0, inputs = sizes.features, skip = sizes.features;
    for (unsigned layer = 0; layer < st->layers; layer++) {
        int64_t counts[DHEN_MIXER_END] = {0}, one = 0;
        for (unsigned k = 0; k < kinds; k++)
            counts[k + 1] = st->counts[layer * kinds + k];
        assert_true(flops ? dhen_layer_flops(&sizes, inputs, skip, counts, &one)
                          : dhen_layer_parameters(&sizes, inputs, skip, counts, separate, &one));
        total += flops ? 3 * one : one;
        skip = inputs;
        inputs = sizes.output_per_emb * st->sizes[layer];
    }
    return total;
}

/* Sizes before, between and after the stack, so that every kind of step happens. */
TEST(next__sizes_around_the_stack__incremental_count_equals_full_count)
{
    static const unsigned five[] = {5};
    static const int64_t dims[] = {160, 64};
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 4);
    struct model_dhen dhen = dhen_shared;
    keys[KEY_TOKENS].stack.rules.totals = (struct number_set){five, 1};
    keys[KEY_EMB_DIM].axis = (struct model_axis){2, dims, NULL, 0, 0};
    keys[KEY_FEATURES].axis = (struct model_axis){3, NULL, NULL, 100, 206};
    for (int order = 0; order < 4; order++) {
        struct model_key turned[KEY_COUNT];
        for (int k = 0; k < KEY_COUNT; k++)
            turned[k] = keys[(k + order) % KEY_COUNT];
        dhen.separate_weights = order % 2;
        dhen.flops = order < 3;
        space.keys = turned;
        space.dhen = &dhen;
        HELD_AT(model_index) *index = index_of(&space);
        HELD_AT(model_cursor) *cursor = model_cursor_make(index);
        const struct model_candidate *c;
        uint64_t rank = 0;
        while ((c = model_cursor_next(cursor)) != NULL) {
            struct model_part parts[KEY_COUNT];
            struct model_candidate straight = {.space = &(struct model_space){keys, KEY_COUNT, NULL}, .parts = parts};
            for (int k = 0; k < KEY_COUNT; k++)
                parts[(k + order) % KEY_COUNT] = c->parts[k];
            assert_int_equal(c->parameters, count_from_scratch(&straight, false, dhen.separate_weights));
            assert_int_equal(c->flops, dhen.flops ? count_from_scratch(&straight, true, true) : 0);
            assert_int_equal(c->rank, rank++);
        }
        assert_int_equal(rank, index->count);
        assert_int_equal(rank, (56 + 680 + 2160 + 2560) * 6);
    }
}

TEST(seek__random_positions__rank_returns_and_parameters_agree)
{
    static const int64_t features[] = {512, 128, 256};
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 4);
    keys[KEY_FEATURES].axis = (struct model_axis){3, features, NULL, 0, 0};
    HELD_AT(model_index) *index = index_of(&space);
    HELD_AT(model_cursor) *cursor = model_cursor_make(index);
    struct rng rng = rng_stream(11, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t rank = rng_below(&rng, index->count);
        const struct model_candidate *c = model_cursor_seek(cursor, rank);
        assert_int_equal(c->rank, rank);
        assert_int_equal(model_candidate_rank(c, index), rank);
        assert_int_equal(c->parameters, count_from_scratch(c, false, false));
        c = model_cursor_next(cursor);
        assert_true(c ? model_candidate_rank(c, index) == rank + 1 : rank + 1 == index->count);
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

TEST(next__whole_space_as_text__no_model_twice)
{
    static const unsigned six[] = {6};
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    keys[KEY_TOKENS].stack.rules.totals = (struct number_set){six, 1};
    keys[KEY_OUTPUT].axis = (struct model_axis){2, NULL, NULL, 20, 30};
    HELD_AT(model_index) *index = index_of(&space);
    HELD_AT(model_cursor) *cursor = model_cursor_make(index);
    char **texts = calloc(index->count, sizeof *texts);
    const struct model_candidate *c;
    for (size_t i = 0; (c = model_cursor_next(cursor)) != NULL; i++) {
        struct buffer text = BUFFER_INIT;
        model_candidate_add_toml(c, &text);
        texts[i] = buffer_take(&text);
    }
    qsort(texts, index->count, sizeof *texts, compare_texts);
    for (size_t i = 1; i < index->count; i++)
        assert_string_not_equal(texts[i - 1], texts[i]);
    for (size_t i = 0; i < index->count; i++)
        free(texts[i]);
    free(texts);
}

TEST(next__after_the_last__stays_at_the_end)
{
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    HELD_AT(model_index) *index = index_of(&space);
    HELD_AT(model_cursor) *cursor = model_cursor_make(index);
    assert_non_null(model_cursor_seek(cursor, index->count - 1));
    assert_null(model_cursor_next(cursor));
    assert_null(model_cursor_next(cursor));
    assert_null(model_cursor_seek(cursor, index->count));
    assert_null(model_cursor_next(cursor));
    assert_non_null(model_cursor_seek(cursor, 0));
    assert_int_equal(model_cursor_next(cursor)->rank, 1);
}

TEST(restrict__layers_and_sizes__counts_and_positions_of_the_whole)
{
    static const int64_t features[] = {512, 128, 256};
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    keys[KEY_FEATURES].axis = (struct model_axis){3, features, NULL, 0, 0};
    HELD_AT(model_index) *whole = index_of(&space);
    HELD_AT(model_index) *small = NULL;
    HELD_AT(model_index) *part = NULL;
    assert_int_equal(model_index_restrict(whole, "num_features", "128", &small, NULL), 0);
    assert_int_equal(small->count, 998738);
    assert_int_equal(model_index_restrict(small, "num_zhen_layers", "2", &part, NULL), 0);
    assert_int_equal(part->count, 6006);
    HELD_AT(model_cursor) *cursor = model_cursor_make(part);
    HELD_AT(model_cursor) *check = model_cursor_make(whole);
    const struct model_candidate *c;
    uint64_t seen = 0;
    for (; (c = model_cursor_next(cursor)) != NULL; seen++) {
        uint64_t rank = model_candidate_rank(c, whole);
        assert_int_equal(rank, 998738 + 91 + seen);
        assert_int_equal(model_cursor_seek(check, rank)->parameters, c->parameters);
        assert_int_equal(model_candidate_rank(c, part), seen);
    }
    assert_int_equal(seen, 6006);
}

TEST(restrict__contradiction__empty_and_walks_to_nothing)
{
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    HELD_AT(model_index) *whole = index_of(&space);
    HELD_AT(model_index) *two = NULL;
    HELD_AT(model_index) *none = NULL;
    assert_int_equal(model_index_restrict(whole, "num_zhen_layers", "2", &two, NULL), 0);
    assert_int_equal(model_index_restrict(two, "num_zhen_layers", "3", &none, NULL), 0);
    assert_int_equal(none->count, 0);
    HELD_AT(model_cursor) *cursor = model_cursor_make(none);
    assert_null(model_cursor_next(cursor));
}

TEST(restrict__unknown_key_or_value__refused)
{
    static const struct {
        const char *key, *literal, *message;
    } cases[] = {
        {"nothing", "1", "no key nothing"},
        {"tokens", "1", "no key tokens"},
        {"num_zhen_layers", "5", "num_zhen_layers has no value 5"},
        {"num_zhen_layers", "two", "num_zhen_layers has no value two"},
        {"num_features", "511", "num_features has no value 511"},
    };
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    HELD_AT(model_index) *index = index_of(&space);
    struct model_index *part = NULL;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct error e = ERROR_INIT;
        assert_int_equal(model_index_restrict(index, cases[i].key, cases[i].literal, &part, &e), -1);
        assert_int_equal(e.kind, ERROR_USAGE);
        assert_non_null(strstr(e.text, cases[i].message));
        assert_null(part);
    }
}

TEST(find_layers__by_name_or_as_layer_count__the_stack)
{
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    assert_int_equal(model_space_find_layers(&space, "num_zhen_layers"), KEY_TOKENS);
    assert_int_equal(model_space_find_layers(&space, "layer_count"), KEY_TOKENS);
    assert_int_equal(model_space_find_layers(&space, "tokens"), MODEL_NO_KEY);
    space.dhen = NULL;
    assert_int_equal(model_space_main_stack(&space), KEY_TOKENS);
    keys[KEY_OUTPUT].name = "layer_count";
    assert_int_equal(model_space_find_layers(&space, "layer_count"), MODEL_NO_KEY);
    keys[KEY_OUTPUT] = keys[KEY_TOKENS];
    assert_int_equal(model_space_main_stack(&space), MODEL_NO_KEY);
}

TEST(axis_find__ranges_lists_texts__position_or_count)
{
    static const int64_t list[] = {7, 3};
    static const char *const texts[] = {"\"relu\"", "1.5"};
    const struct model_axis range = {10, NULL, NULL, 5, 3}, down = {4, NULL, NULL, 10, -5};
    const struct model_axis integers = {2, list, NULL, 0, 0}, literals = {2, NULL, texts, 0, 0};
    assert_int_equal(model_axis_find(&range, "32"), 9);
    assert_int_equal(model_axis_find(&range, "35"), 10);
    assert_int_equal(model_axis_find(&range, "6"), 10);
    assert_int_equal(model_axis_find(&range, "2"), 10);
    assert_int_equal(model_axis_find(&down, "-5"), 3);
    assert_int_equal(model_axis_find(&integers, "3"), 1);
    assert_int_equal(model_axis_find(&integers, "4"), 2);
    assert_int_equal(model_axis_find(&literals, "1.5"), 1);
    assert_int_equal(model_axis_find(&literals, "relu"), 2);
    assert_int_equal(model_axis_smallest(&down), -5);
    assert_int_equal(model_axis_largest(&down), 10);
    assert_int_equal(model_axis_largest(&integers), 7);
}

TEST(toml__dhen_candidate__block_as_written_by_hand)
{
    static const char expected[] = "[[model]]\n"
                                   "num_features = 512\n"
                                   "emb_dim = 160\n"
                                   "output_per_emb = 50\n"
                                   "num_zhen_layers = 2\n"
                                   "tokens = [[\"DOT\"], [\"DOT\", \"DOT\", \"LINEAR\", \"LINEAR\", \"LINEAR\", "
                                   "\"LINEAR\", \"LINEAR\", \"LINEAR\", \"LINEAR\", \"ATTENTION\", \"ATTENTION\"]]\n";
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    HELD_AT(model_index) *index = index_of(&space);
    HELD_AT(model_cursor) *cursor = model_cursor_make(index);
    OWNED_BUFFER text = BUFFER_INIT;
    /* After the 91 of one layer and the 45 whose second layer has at most eight mixers that are not DOT. */
    model_candidate_add_toml(model_cursor_seek(cursor, 91 + 45 + 2), &text);
    assert_string_equal(buffer_text(&text), expected);
}

TEST(toml__candidates__read_back_as_they_were)
{
    static const uint64_t ranks[] = {17, 400000, 998737};
    struct model_key keys[KEY_COUNT];
    struct model_space space = dhen_space(keys, 3);
    HELD_AT(model_index) *index = index_of(&space);
    HELD_AT(model_cursor) *cursor = model_cursor_make(index);
    struct buffer file = BUFFER_INIT, tokens[3] = {BUFFER_INIT, BUFFER_INIT, BUFFER_INIT};
    struct sweep *sweep = NULL;
    buffer_add_text(&file, "[sweep]\nlist_values = [\"tokens\"]\n[job]\ncommand = [\"true\"]\n");
    for (size_t i = 0; i < 3; i++) {
        const struct model_candidate *c = model_cursor_seek(cursor, ranks[i]);
        model_candidate_add_toml(c, &file);
        model_candidate_add_literal(c, KEY_TOKENS, &tokens[i]);
    }
    FAIL_IF(sweep_parse("models.toml", buffer_text(&file), file.length, &sweep, &e));
    const struct section *models = &sweep->sections[SECTION_MODEL];
    assert_int_equal(models->block_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct axis *last = &models->blocks[i].axes[models->blocks[i].axis_count - 1];
        OWNED_BUFFER read = BUFFER_INIT, expected = BUFFER_INIT;
        assert_int_equal(models->blocks[i].axis_count, 5);
        assert_string_equal(last->keys[0], "tokens");
        assert_int_equal(last->value_count, 1);
        value_add_json(&last->values[0], &read);
        for (const char *p = buffer_text(&tokens[i]); *p; p++)
            if (*p != ' ')
                buffer_add_char(&expected, *p);
        assert_string_equal(buffer_text(&read), buffer_text(&expected));
        buffer_free(&tokens[i]);
    }
    sweep_free(sweep);
    buffer_free(&file);
}

TEST(toml__generic_keys__texts_flat_lists_and_quoted_names)
{
    static const char *const activations[] = {"\"relu\"", "\"gelu\""};
    static const char *const blocks[] = {"conv \"3x3\"", "pool"};
    static const unsigned one[] = {1}, two[] = {2};
    const struct model_key keys[] = {
        {.name = "act fn", .kind = MODEL_KEY_AXIS, .axis = {2, NULL, activations, 0, 0}},
        {.name = "blocks",
         .kind = MODEL_KEY_STACK,
         .stack = {.kinds = blocks, .rules = {2, {one, 1}, {two, 1}, {NULL, 0}}, .flat = true}},
        {.name = "width", .kind = MODEL_KEY_AXIS, .axis = {3, NULL, NULL, -1, 1}},
    };
    const struct model_space space = {keys, 3, NULL};
    HELD_AT(model_index) *index = index_of(&space);
    assert_int_equal(index->count, 2 * 3 * 3);
    HELD_AT(model_cursor) *cursor = model_cursor_make(index);
    OWNED_BUFFER text = BUFFER_INIT;
    const struct model_candidate *c = model_cursor_seek(cursor, 9 + 3);
    model_candidate_add_toml(c, &text);
    assert_string_equal(buffer_text(&text), "[[model]]\n"
                                            "\"act fn\" = \"gelu\"\n"
                                            "blocks = [\"conv \\\"3x3\\\"\", \"pool\"]\n"
                                            "width = -1\n");
    assert_int_equal(c->parameters, 0);
}

/* The space of three kinds is refused with these words after that was done to it. */
#define REFUSED(words, ...)                                                                                            \
    do {                                                                                                               \
        struct model_key keys[KEY_COUNT];                                                                              \
        struct model_space space = dhen_space(keys, 3);                                                                \
        struct layer_rules *rules = &keys[KEY_TOKENS].stack.rules;                                                     \
        struct model_index *index = NULL;                                                                              \
        struct error e = ERROR_INIT;                                                                                   \
        (void)rules;                                                                                                   \
        __VA_ARGS__;                                                                                                   \
        assert_int_equal(model_index_make(&space, &index, &e), -1);                                                    \
        assert_null(index);                                                                                            \
        assert_int_equal(e.kind, ERROR_USAGE);                                                                         \
        if (!strstr(e.text, words))                                                                                    \
            fail_msg("\"%s\" lacks \"%s\"", e.text, words);                                                            \
    } while (0)

TEST(make__bad_space__refused_with_reason)
{
    static const unsigned thirteen[] = {13}, sixty_three[] = {63}, thirty_nine[] = {39}, one[] = {1};
    static const int64_t same_twice[] = {512, 128, 512}, not_positive[] = {512, 0};
    static const char *const texts_twice[] = {"\"a\"", "\"a\""}, *const strange[] = {"DOT", "LINEAR", "MAGIC"};
    static const char *const kinds_twice[] = {"DOT", "LINEAR", "DOT"};
    struct model_dhen without_width = dhen_shared, axis_as_tokens = dhen_shared, with_flops = dhen_shared;
    without_width.emb_dim = "width";
    axis_as_tokens.tokens = "emb_dim";
    with_flops.flops = true;
    REFUSED("without keys", space.key_count = 0);
    REFUSED("num_features: 512 is given twice",
            keys[KEY_FEATURES].axis = (struct model_axis){3, same_twice, NULL, 0, 0});
    REFUSED("num_features: \"a\" is given twice",
            keys[KEY_FEATURES].axis = (struct model_axis){2, NULL, texts_twice, 0, 0});
    REFUSED("num_zhen_layers is given twice", keys[KEY_FEATURES].name = "num_zhen_layers");
    REFUSED("emb_dim: no value", keys[KEY_EMB_DIM].axis.count = 0);
    REFUSED("emb_dim: a range of 2 values with step 0",
            keys[KEY_EMB_DIM].axis = (struct model_axis){2, NULL, NULL, 5, 0});
    REFUSED("emb_dim: a range beyond 64 bits",
            keys[KEY_EMB_DIM].axis = (struct model_axis){3, NULL, NULL, 1, INT64_MAX / 2 + 1});
    REFUSED("the parameters of MAGIC are not known", keys[KEY_TOKENS].stack.kinds = strange);
    REFUSED("tokens: DOT is given twice", keys[KEY_TOKENS].stack.kinds = kinds_twice);
    REFUSED("tokens: a flat list describes exactly one layer, but there are more; give a list of lists",
            keys[KEY_TOKENS].stack.flat = true);
    REFUSED("output_per_emb: counting parameters needs positive integers",
            keys[KEY_OUTPUT].axis = (struct model_axis){2, not_positive, NULL, 0, 0});
    REFUSED("width: it is missing", space.dhen = &without_width);
    REFUSED("emb_dim: counting parameters needs layers of mixers", space.dhen = &axis_as_tokens);
    REFUSED("the model space is empty", rules->layers = (struct number_set){thirteen, 1});
    REFUSED("tokens: the number of layers is missing", rules->layers = (struct number_set){NULL, 0});
    REFUSED("more parameters than 64 bits", keys[KEY_OUTPUT].axis.first = INT64_C(1) << 30);
    /* Within 64 bits in parameters, beyond them in FLOPs. */
    REFUSED("more FLOPs than 64 bits", space.dhen = &with_flops; keys[KEY_EMB_DIM].axis.first = INT64_C(1) << 29);
    /* 3^39 stacks are countable, 3^39 times ten are not. */
    REFUSED("more candidates than 64 bits",
            *rules = (struct layer_rules){.kinds = 3, .layers = {thirty_nine, 1}, .sizes = {one, 1}};
            keys[KEY_OUTPUT].axis = (struct model_axis){10, NULL, NULL, 1, 1});
    REFUSED("tokens: more stacks of 63 layers than 64 bits",
            *rules = (struct layer_rules){.kinds = 3, .layers = {sixty_three, 1}, .sizes = {one, 1}});
}
