/* space/model_space, model_index, model_cursor, model_filter, model_toml: counts, order, positions,
 * parameters. */
#include "model_space_fixture.h"
#include "models/cursor.h"
#include "models/dhen.h"
#include "sweep_file/reader.h"
#include "util/rng.h"

TEST(count__lists_and_ranges_of_sizes__multiplied)
{
    static int64_t features[] = {256, 512};
    DHEN_SPACE(3);
    keys[KEY_FEATURES] = list_key("num_features", features, 2);
    keys[KEY_OUTPUT] = range_key("output_per_emb", 5, 10, 10);
    HELD_AT(model_index) *index = index_of(&space);
    assert_int_equal(index->count, 998738 * 10);
    assert_int_equal(model_index_count_layers(index, KEY_TOKENS, 2), 6006 * 10);
}

/* Counts a candidate's parameters, or the FLOPs of a training step, from its parts alone. */
static int64_t count_from_scratch(const struct model_candidate *c, enum dhen_quantity quantity)
{
    const struct layer_state *st = &c->parts[KEY_TOKENS].stack;
    const size_t kinds = c->space->keys[KEY_TOKENS].kinds.count;
    const struct dhen_sizes sizes = {
        model_key_integer(&c->space->keys[KEY_FEATURES], c->parts[KEY_FEATURES].position),
        model_key_integer(&c->space->keys[KEY_EMB_DIM], c->parts[KEY_EMB_DIM].position),
        model_key_integer(&c->space->keys[KEY_OUTPUT], c->parts[KEY_OUTPUT].position),
    };
    int64_t total = 0, inputs = sizes.features, skip = sizes.features;
    for (unsigned layer = 0; layer < st->layers; layer++) {
        int64_t counts[DHEN_MIXER_END] = {0}, one = 0;
        for (unsigned k = 0; k < kinds; k++)
            counts[k + 1] = st->counts[layer * kinds + k];
        assert_true(dhen_layer(&sizes, quantity, inputs, skip, counts, &one));
        total += quantity == DHEN_FLOPS ? 3 * one : one;
        skip = inputs;
        inputs = sizes.output_per_emb * st->sizes[layer];
    }
    return total;
}

/* Keys before and after the stack, so that every kind of step happens. */
TEST(next__keys_around_the_stack__incremental_count_equals_full_count)
{
    static unsigned five[] = {5};
    static int64_t dims[] = {160, 64};
    struct space_key keys[KEY_COUNT + 1];
    struct model_space_table space = dhen_space(keys, 4);
    keys[KEY_TOKENS].totals = (struct number_list){five, 1};
    keys[KEY_EMB_DIM] = list_key("emb_dim", dims, 2);
    keys[KEY_FEATURES] = range_key("num_features", 3, 100, 206);
    keys[space.key_count++] = range_key("more", 2, 1, 1);
    for (int i = 0; i < 4; i++) {
        struct model_index *made = NULL;
        space.shared_weights = i % 2 == 0;
        FAIL_IF(model_index_make(&space, i < 3, &made, &e));
        HELD_AT(model_index) *index = made;
        HELD_AT(model_cursor) *cursor = model_cursor_make(index);
        const struct model_candidate *c;
        uint64_t rank = 0;
        while ((c = model_cursor_next(cursor)) != NULL) {
            assert_int_equal(c->parameters, count_from_scratch(c, i % 2 ? DHEN_PARAMETERS : DHEN_SHARED_PARAMETERS));
            assert_int_equal(c->flops, i < 3 ? count_from_scratch(c, DHEN_FLOPS) : 0);
            assert_int_equal(c->rank, rank++);
        }
        assert_int_equal(rank, index->count);
        assert_int_equal(rank, (56 + 680 + 2160 + 2560) * 6 * 2);
    }
}

TEST(seek__random_positions__rank_returns_and_parameters_agree)
{
    static int64_t features[] = {512, 128, 256};
    DHEN_SPACE(4);
    keys[KEY_FEATURES] = list_key("num_features", features, 3);
    HELD_AT(model_index) *index = index_of(&space);
    HELD_AT(model_cursor) *cursor = model_cursor_make(index);
    struct rng rng = rng_stream(11, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t rank = rng_below(&rng, index->count);
        const struct model_candidate *c = model_cursor_seek(cursor, rank);
        assert_int_equal(c->rank, rank);
        assert_int_equal(model_candidate_rank(c, index), rank);
        assert_int_equal(c->parameters, count_from_scratch(c, DHEN_SHARED_PARAMETERS));
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
    static unsigned six[] = {6};
    DHEN_SPACE(3);
    keys[KEY_TOKENS].totals = (struct number_list){six, 1};
    keys[KEY_OUTPUT] = range_key("output_per_emb", 2, 20, 30);
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
    DHEN_WALK(3);
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
    static int64_t features[] = {512, 128, 256};
    DHEN_SPACE(3);
    keys[KEY_FEATURES] = list_key("num_features", features, 3);
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
    DHEN_SPACE(3);
    HELD_AT(model_index) *whole = index_of(&space);
    HELD_AT(model_index) *two = NULL;
    HELD_AT(model_index) *none = NULL;
    assert_int_equal(model_index_restrict(whole, "num_zhen_layers", "2", &two, NULL), 0);
    assert_int_equal(model_index_restrict(two, "num_zhen_layers", "3", &none, NULL), 0);
    assert_int_equal(none->count, 0);
    HELD_AT(model_cursor) *cursor = model_cursor_make(none);
    assert_null(model_cursor_next(cursor));
}

TEST_ROWS(restrict__unknown_key_or_value__refused, (const char *key, *literal, *message),
          {"nothing", "1", "no key nothing"}, {"tokens", "1", "no key tokens"},
          {"num_zhen_layers", "5", "num_zhen_layers has no value 5"},
          {"num_zhen_layers", "two", "num_zhen_layers has no value two"},
          {"num_features", "511", "num_features has no value 511"})
{
    DHEN_INDEX(3);
    struct model_index *part = NULL;
    struct error e = ERROR_INIT;
    assert_int_equal(model_index_restrict(index, row->key, row->literal, &part, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_non_null(strstr(e.text, row->message));
    assert_null(part);
}

TEST(find_layers__by_name_or_as_layer_count__the_stack)
{
    DHEN_SPACE(3);
    assert_int_equal(model_space_find_layers(&space, "num_zhen_layers"), KEY_TOKENS);
    assert_int_equal(model_space_find_layers(&space, "layer_count"), KEY_TOKENS);
    assert_int_equal(model_space_find_layers(&space, "tokens"), MODEL_NO_KEY);
    space.dhen = false;
    assert_int_equal(model_space_main_stack(&space), KEY_TOKENS);
    keys[KEY_OUTPUT].name = "layer_count";
    assert_int_equal(model_space_find_layers(&space, "layer_count"), MODEL_NO_KEY);
    keys[KEY_OUTPUT] = keys[KEY_TOKENS];
    assert_int_equal(model_space_main_stack(&space), MODEL_NO_KEY);
}

TEST(key_find__ranges_lists_texts__position_or_count)
{
    static int64_t list[] = {7, 3};
    static char *texts[] = {"\"relu\"", "1.5"};
    const struct space_key range = range_key("r", 10, 5, 3), down = range_key("d", 4, 10, -5);
    const struct space_key integers = list_key("i", list, 2);
    const struct space_key literals = {.kind = SPACE_KEY_VALUES, .value_count = 2, .literals = texts};
    assert_int_equal(model_key_find(&range, "32"), 9);
    assert_int_equal(model_key_find(&range, "35"), 10);
    assert_int_equal(model_key_find(&range, "6"), 10);
    assert_int_equal(model_key_find(&range, "2"), 10);
    assert_int_equal(model_key_find(&down, "-5"), 3);
    assert_int_equal(model_key_find(&integers, "3"), 1);
    assert_int_equal(model_key_find(&integers, "4"), 2);
    assert_int_equal(model_key_find(&literals, "1.5"), 1);
    assert_int_equal(model_key_find(&literals, "relu"), 2);
    assert_int_equal(model_key_largest(&range), 32);
    assert_int_equal(model_key_largest(&integers), 7);
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
    DHEN_WALK(3);
    OWNED_BUFFER text = BUFFER_INIT;
    /* After the 91 of one layer and the 45 whose second layer has at most eight mixers that are not DOT. */
    model_candidate_add_toml(model_cursor_seek(cursor, 91 + 45 + 2), &text);
    assert_string_equal(buffer_text(&text), expected);
}

TEST(toml__candidates__read_back_as_they_were)
{
    static const uint64_t ranks[] = {17, 400000, 998737};
    DHEN_WALK(3);
    struct buffer file = BUFFER_INIT, tokens[3] = {BUFFER_INIT, BUFFER_INIT, BUFFER_INIT};
    HELD_AT(sweep) *sweep = NULL;
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
    buffer_free(&file);
}

TEST(toml__generic_keys__texts_flat_lists_and_quoted_names)
{
    static char *activations[] = {"\"relu\"", "\"gelu\""}, *blocks[] = {"conv \"3x3\"", "pool"};
    static unsigned one[] = {1}, two[] = {2};
    struct space_key keys[] = {
        {.name = "act fn", .kind = SPACE_KEY_VALUES, .value_count = 2, .literals = activations},
        {.name = "blocks",
         .kind = SPACE_KEY_MULTISET,
         .kinds = {blocks, 2},
         .layers = {one, 1},
         .sizes = {two, 1},
         .flat = true},
        range_key("width", 3, -1, 1),
    };
    const struct model_space_table space = {.keys = keys, .key_count = 3};
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
        struct space_key keys[KEY_COUNT], *tokens = &keys[KEY_TOKENS];                                                 \
        struct model_space_table space = dhen_space(keys, 3);                                                          \
        struct model_index *index = NULL;                                                                              \
        struct error e = ERROR_INIT;                                                                                   \
        bool flops = false;                                                                                            \
        (void)tokens;                                                                                                  \
        __VA_ARGS__;                                                                                                   \
        assert_int_equal(model_index_make(&space, flops, &index, &e), -1);                                             \
        assert_null(index);                                                                                            \
        assert_int_equal(e.kind, ERROR_USAGE);                                                                         \
        if (!strstr(e.text, words))                                                                                    \
            fail_msg("\"%s\" lacks \"%s\"", e.text, words);                                                            \
    } while (0)

TEST(make__bad_space__refused_with_reason)
{
    static unsigned thirteen[] = {13}, sixty_three[] = {63}, thirty_nine[] = {39}, one[] = {1};
    static char *strange[] = {"DOT", "LINEAR", "MAGIC"};
    REFUSED("the parameters of MAGIC are not known", tokens->kinds.items = strange);
    REFUSED("the model space is empty", tokens->layers = (struct number_list){thirteen, 1});
    REFUSED("more parameters than 64 bits", keys[KEY_OUTPUT].first = INT64_C(1) << 30);
    /* Within 64 bits in parameters, beyond them in FLOPs. */
    REFUSED("more FLOPs than 64 bits", flops = true; keys[KEY_EMB_DIM].first = INT64_C(1) << 29);
    /* 3^39 stacks are countable, 3^39 times ten are not. */
    REFUSED("more candidates than 64 bits", tokens->layers = (struct number_list){thirty_nine, 1};
            tokens->sizes = (struct number_list){one, 1}; tokens->totals = (struct number_list){NULL, 0};
            keys[KEY_OUTPUT] = range_key("output_per_emb", 10, 1, 1));
    REFUSED("tokens: more stacks of 63 layers than 64 bits", tokens->layers = (struct number_list){sixty_three, 1};
            tokens->sizes = (struct number_list){one, 1}; tokens->totals = (struct number_list){NULL, 0});
}
