/* space/model_search, model_section: counts, the recipe, samples, text and section, failures. */
#include "model_search_fixture.h"

#include "models/search.h"
#include "util/hash.h"

#define RECIPE                                                                                                         \
    "[model_space]\nseed = 1\ninclude_base = true\n" ZHEN_KINDS("\"DOT\", \"LINEAR\", \"ATTENTION\"")                  \
        ZHEN_BASE SIMILAR "[[model_space.sample]]\ntake = 100\n[[model_space.sample]]\ntake = 20\neach = { "           \
                          "num_zhen_layers = [1, 2, 3] }\n"

/* Everything that is handed out. */
struct gathered {
    const struct model_search *search;
    struct buffer text;
    size_t count, bases, by_layers[LAYER_COUNT_MAX + 1];
    int64_t least, most; /* parameters */
    size_t fail_at;      /* 0: never */
};

static void gathered_free(struct gathered *g)
{
    buffer_free(&g->text);
}

static int gather(void *context, const struct model_pick *pick, struct error *e)
{
    struct gathered *g = context;
    if (g->count + 1 == g->fail_at)
        return error_set(e, ERROR_FAILED, "enough");
    const size_t stack = model_space_main_stack(g->search->table);
    if (pick->candidate && stack != MODEL_NO_KEY)
        g->by_layers[pick->candidate->parts[stack].stack.layers]++;
    g->bases += pick->candidate == NULL;
    g->least = g->count == 0 || pick->parameters < g->least ? pick->parameters : g->least;
    g->most = pick->parameters > g->most ? pick->parameters : g->most;
    g->count++;
    model_section_add_toml(g->search, pick, &g->text);
    return 0;
}

/* Opens, hands out everything into `g`; the text is the caller's. 0, or -1 with `e` filled. */
static int hand_out(const char *text, const struct model_search_options *options, struct gathered *g, struct error *e)
{
    static const struct model_search_options none;
    HELD_AT(sweep) *s = sweep_of(text);
    HELD_AT(model_search) *search = NULL;
    uint64_t count = 0;
    *g = (struct gathered){.fail_at = g->fail_at};
    int rc = model_search_open(s, options ? options : &none, &search, e);
    g->search = search;
    if (rc == 0)
        rc = model_search_each(search, gather, g, &count, e);
    if (rc == 0)
        assert_int_equal(count, g->count);
    g->search = NULL;
    return rc;
}

static void assert_handed(const char *text, const struct model_search_options *options, struct gathered *g)
{
    FAIL_IF(hand_out(text, options, g, &e) < 0);
}

TEST(open__spaces_of_the_original__known_counts)
{
    ROWS(cases, const char *text; uint64_t count, by_layers[5]) = {
        {ZHEN_SPACE, 998738, {0, 91, 6006, 107679, 884962}},
        {"[model_space]\n" ZHEN_KINDS("\"DOT\", \"LINEAR\", \"ATTENTION\", \"CONVOLUTION\""),
         13528268,
         {0, 455, 49478, 1202279, 12276056}},
    };
    for (size_t i = 0; i < 2; i++) {
        HELD_AT(sweep) *s = sweep_of(cases[i].text);
        HELD_AT(model_search) *search = search_of(s, NULL);
        assert_int_equal(search->index->count, cases[i].count);
        for (unsigned layers = 1; layers <= 4; layers++)
            assert_int_equal(model_index_count_layers(search->index, DHEN_KEY_TOKENS, layers),
                             cases[i].by_layers[layers]);
    }
}

TEST(count__similar_models__known_numbers_and_what_was_removed)
{
    HELD_AT(sweep) *s =
        sweep_of(ZHEN_SPACE ZHEN_BASE SIMILAR
                 "[[model_space.filter]]\npreset = \"fixed-layers\"\nlayers = 3\n"
                 "[[model_space.filter]]\nname = \"few attentions\"\nwhere = \"mixers('ATTENTION') < 3\"\n");
    HELD_AT(model_search) *search = search_of(s, NULL);
    struct model_counts counts = {0};
    assert_int_equal(model_search_count(search, &counts, NULL), 0);
    assert_int_equal(search->filters[0].removed, 998738 - 96063);
    assert_int_equal(search->filters[1].removed, 96063 - 15060);
    assert_int_equal(search->filters[2].removed, 15060 - counts.kept);
    assert_string_equal(search->filters[2].name, "few attentions");
    assert_int_equal(counts.kept_by_layers[3], counts.kept);
    assert_true(counts.kept > 0);
    free(counts.kept_by_layers);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every [[model]] block differs from all others. */
static void assert_distinct(const char *text, size_t count)
{
    OWNED char *copy = strdup(text);
    char **blocks = calloc(count + 1, sizeof *blocks);
    size_t n = 0;
    for (char *p = copy; p; p = strstr(p, "[[model]]")) {
        assert_true(n < count);
        blocks[n++] = p;
        p += strlen("[[model]]");
    }
    assert_int_equal(n, count);
    for (size_t i = 1; i < n; i++)
        blocks[i][-1] = '\0';
    qsort(blocks, n, sizeof *blocks, compare_texts);
    for (size_t i = 1; i < n; i++)
        assert_string_not_equal(blocks[i - 1], blocks[i]);
    free(blocks);
}

/* The premise of the original's 141 models: all within a tenth of the base. */
TEST(each__recipe_of_the_original__base_and_140_similar_models)
{
    HELD(gathered) g = {0};
    assert_handed(RECIPE, NULL, &g);
    assert_int_equal(g.count, 141);
    assert_int_equal(g.bases, 1);
    assert_int_equal(g.by_layers[1], 0);
    assert_true(g.by_layers[2] >= 20 && g.by_layers[3] >= 20);
    assert_int_equal(g.by_layers[2] + g.by_layers[3] + g.by_layers[4], 140);
    assert_true(g.least >= 0.9 * BASE_PARAMETERS && g.most <= BASE_PARAMETERS / 0.9);
    assert_distinct(buffer_text(&g.text), 141);
}

/* The same models on every machine, for ever: a change of this hash is a change of what a seed means. */
TEST(each__same_seed__same_models)
{
    const struct model_search_options other = {.seed_given = true, .seed = 2};
    HELD(gathered) g = {0};
    HELD(gathered) again = {0};
    char hex[HASH_HEX_BYTES];
    assert_handed(RECIPE, NULL, &g);
    struct hash128 hash = hash_bytes(g.text.data, g.text.length);
    assert_string_equal(hash_hex(&hash, hex), "dbc1fbbd9906a167eebb987ce378c7e8");
    assert_handed(RECIPE, &other, &again);
    assert_int_equal(again.count, 141);
    assert_string_not_equal(buffer_text(&again.text), buffer_text(&g.text));
}

TEST_ROWS(open__no_seed_of_its_own__that_of_the_sweep, (const char *text; int64_t seed),
          {"[sweep]\nseed = 7\n[model_space.keys]\na = 1\n", 7},
          {"[sweep]\nseed = 7\n[model_space]\nseed = 8\nkeys = { a = 1 }\n", 8})
{
    HELD_AT(sweep) *s = sweep_of(row->text);
    HELD_AT(model_search) *search = search_of(s, NULL);
    assert_int_equal(search->options.seed, row->seed);
}

#define NUMBERS "[model_space.keys]\na = { from = 1, to = 3 }\nb = [\"x\", \"y\"]\n"

TEST(each__no_sample__documented_order_offset_and_limit)
{
    HELD(gathered) g = {0};
    assert_handed(NUMBERS, NULL, &g);
    assert_string_equal(buffer_text(&g.text), "[[model]]\na = 1\nb = \"x\"\n[[model]]\na = 1\nb = \"y\"\n"
                                              "[[model]]\na = 2\nb = \"x\"\n[[model]]\na = 2\nb = \"y\"\n"
                                              "[[model]]\na = 3\nb = \"x\"\n[[model]]\na = 3\nb = \"y\"\n");
    buffer_free(&g.text);
    static const struct model_search_options middle = {.offset = 2, .limit = 3};
    static const struct model_search_options filtered = {.offset = 1, .limit = 1, .where = "b = 'y'"};
    assert_handed(NUMBERS, &middle, &g);
    assert_string_equal(buffer_text(&g.text),
                        "[[model]]\na = 2\nb = \"x\"\n[[model]]\na = 2\nb = \"y\"\n[[model]]\na = 3\nb = \"x\"\n");
    buffer_free(&g.text);
    assert_handed(NUMBERS, &filtered, &g);
    assert_string_equal(buffer_text(&g.text), "[[model]]\na = 2\nb = \"y\"\n");
}

TEST(each__base_among_the_candidates__handed_out_once)
{
    HELD(gathered) g = {0};
    assert_handed("[model_space]\ninclude_base = true\n[model_space.base]\na = 2\nb = \"y\"\n" NUMBERS, NULL, &g);
    assert_int_equal(g.count, 6);
    assert_int_equal(g.bases, 1);
    assert_ptr_equal(strstr(buffer_text(&g.text), "[[model]]\na = 2\nb = \"y\"\n[[model]]\na = 1\n"),
                     buffer_text(&g.text));
    assert_distinct(buffer_text(&g.text), 6);
}

TEST(each__strata_of_every_value__as_many_of_each)
{
    HELD(gathered) g = {0};
    assert_handed(ZHEN_SPACE
                  "[[model_space.sample]]\ntake = 30\neach = \"layer_count\"\n"
                  "[[model_space.sample]]\ntake = 5\neach = { num_zhen_layers = 1 }\nwhere = \"mixers('DOT') "
                  "= 0\"\n",
                  NULL, &g);
    assert_int_equal(g.count, 125);
    assert_int_equal(g.by_layers[1], 35);
    assert_int_equal(g.by_layers[4], 30);
    assert_distinct(buffer_text(&g.text), 125);
}

TEST_ROWS(each__nothing_left__which_filter_and_how_many,
          (const char *text, *message; struct model_search_options options),
          {NUMBERS "[[model_space.filter]]\nwhere = \"a > 2\"\n",
           "no model is left of 6 candidates: a > 2 removed 4, --where removed 2",
           {.where = "b = 'z'"}},
          {NUMBERS, "there are 6 models, so none is left after skipping 6", {.offset = 6}},
          {NUMBERS, "there are 6 models, so none is left after skipping 100", {.offset = 100}},
          {NUMBERS, "there are 3 models, so none is left after skipping 3", {.offset = 3, .where = "b = 'x'"}},
          {ZHEN_SPACE ZHEN_BASE SIMILAR "[[model_space.sample]]\ntake = 20\neach = { num_zhen_layers = 1 }\n",
           "no model is left of 91 candidates: similar-parameters removed 91",
           {0}},
          {ZHEN_SPACE "[[model_space.sample]]\ntake = 2\nwhere = \"params < 0\"\n",
           "no model is left of 998738 candidates: params < 0 removed 998738",
           {0}},
          /* Random draws come first in a space of this size; they are not counted twice. */
          {"[model_space.keys]\na = { from = 1, to = 1100000 }\n[[model_space.sample]]\ntake = 2\n",
           "no model is left of 1100000 candidates: --where removed 1100000",
           {.where = "a < 0"}},
          {"[model_space.keys]\na = { multiset = [\"x\"], total = 2, layers = [1, 3] }\n"
           "[[model_space.sample]]\ntake = 1\neach = { layer_count = 3 }\n",
           "no model is left: no part of the sample has any candidates",
           {0}})
{
    HELD(gathered) g = {0};
    struct error e = ERROR_INIT;
    assert_int_equal(hand_out(row->text, &row->options, &g, &e), -1);
    assert_string_equal(e.text, row->message);
    assert_int_equal(e.kind, ERROR_NOTHING);
    assert_int_equal(g.count, 0);
}

TEST(each__taker_fails__its_error)
{
    static const char *const texts[] = {NUMBERS, NUMBERS "[[model_space.sample]]\ntake = 4\n"};
    for (size_t i = 0; i < 2; i++) {
        HELD(gathered) g = {.fail_at = 3};
        FAILS_WITH(hand_out(texts[i], NULL, &g, &e), "enough");
    }
}

TEST_ROWS(open__bad_space__refused_with_place, (const char *text, *message),
          {"[model_space.keys]\na = { multiset = [\"x\"], total = 2, layers = 3 }\n",
           "s.toml:1:1: [model_space]: the model space is empty: no stack of layers meets its limits"},
          {"[model_space.keys]\na = { from = 1, to = 9000000000000000000 }\nb = [1, 2, 3]\n",
           "s.toml:1:1: [model_space]: more candidates than 64 bits can count"},
          {"[model_space]\nmixers = [\"DOT\"]\ntotal_mixers = 12\nnum_zhen_layers = 1\nnum_features = "
           "9000000000000000000\n"
           "emb_dim = 160\noutput_per_emb = 50\n",
           "s.toml:1:1: [model_space]: the largest model may have more parameters than 64 bits can count"},
          {"[model_space]\nmixers = [\"MAGIC\"]\ntotal_mixers = 12\nnum_zhen_layers = 1\n" ZHEN_SIZES,
           "s.toml:1:1: [model_space]: tokens: the parameters of MAGIC are not known"},
          {NUMBERS "[[model_space.filter]]\nwhere = \"width = 1\"\n[[model_space.filter]]\nwhere = \"base.a = 1\"\n"
                   "[[model_space.filter]]\npreset = \"fixed-layers\"\nlayers = 2\n"
                   "[[model_space.sample]]\ntake = 1\nwhere = \"depth = 1\"\n",
           "s.toml:5:9: unknown key `width`\n"
           "s.toml:7:9: `base.a`: there is no [model_space.base] to compare with\n"
           "s.toml:9:10: fixed layers: the model space has no layers to look at\n"
           "s.toml:11:1: unknown key `depth`"},
          {NUMBERS "[[model_space.sample]]\ntake = 1\neach = { a = [3, 4] }\n"
                   "[[model_space.sample]]\ntake = 1\neach = { b = \"z\" }\n",
           "s.toml:4:1: a has no value 4\ns.toml:7:1: b has no value \"z\""},
          {NUMBERS "[[model_space.sample]]\ntake = 1\neach = \"layer_count\"\n",
           "s.toml:4:1: the model space has no key layer_count with single values"},
          {"[model_space.keys]\na = { from = 1, to = 10001 }\n[[model_space.sample]]\ntake = 1\neach = \"a\"\n",
           "s.toml:3:1: a sample of more than 10000 parts"})
{
    HELD(gathered) g = {0};
    struct error e = ERROR_INIT;
    assert_int_equal(hand_out(row->text, NULL, &g, &e), -1);
    assert_string_equal(e.text, row->message);
    assert_int_equal(e.kind, ERROR_USAGE);
}

static void count_calls(void *context, uint64_t looked_at)
{
    uint64_t *reported = context;
    assert_true(looked_at > reported[0]);
    reported[0] = looked_at;
    reported[1]++;
}

TEST(each__long_walk__progress_reported)
{
    uint64_t reported[2] = {0, 0};
    const struct model_search_options options = {.where = "a <= 455",
                                                 .progress = count_calls,
                                                 .progress_context = reported};
    HELD(gathered) g = {0};
    assert_handed("[model_space.keys]\na = { from = 1, to = 2100000 }\n", &options, &g);
    assert_int_equal(g.count, 455);
    assert_int_equal(reported[1], 2100000 >> 20);
    assert_int_equal(reported[0], reported[1] << 20);
}

TEST_ROWS(list_values__keys_with_lists__named, (const char *text, *names), {ZHEN_SPACE, "[\"tokens\"]"}, {NUMBERS, ""},
          {"[model_space.keys]\na = [[1], 2]\nb = { multiset = [\"x\"], total = 1 }\nc = 1\n", "[\"a\", \"b\"]"},
          {"[model_space]\ninclude_base = true\nkeys = { a = 1 }\n[model_space.base]\na = [1]\nd = [2]\ne = 3\n",
           "[\"a\", \"d\"]"})
{
    HELD_AT(sweep) *s = sweep_of(row->text);
    HELD_AT(model_search) *search = search_of(s, NULL);
    OWNED_BUFFER names = BUFFER_INIT;
    model_section_add_list_values(search, &names);
    assert_string_equal(buffer_text(&names), row->names);
}

static bool values_equal(const struct section *a, const struct section *b)
{
    bool equal = a->block_count == b->block_count;
    for (size_t i = 0; equal && i < a->block_count; i++) {
        const struct block *x = &a->blocks[i], *y = &b->blocks[i];
        equal = x->axis_count == y->axis_count;
        for (size_t k = 0; equal && k < x->axis_count; k++)
            equal = strcmp(x->axes[k].keys[0], y->axes[k].keys[0]) == 0 && x->axes[k].value_count == 1 &&
                    y->axes[k].value_count == 1 && value_equal(&x->axes[k].values[0], &y->axes[k].values[0]);
    }
    return equal;
}

/* Read from the text that is printed, the models are the same as those put into the section directly. */
TEST(fill__models__as_read_from_their_text)
{
    static const char *const texts[] =
        {RECIPE, "[model_space.keys]\na = [1.5, 2, \"x\", [1, \"y\"], { z = 1 }]\nyes = [true, false]\n"
                 "b = { multiset = [\"p\", \"q\"], total = [1, 2] }\n\"c.d\" = { from = 1, to = 2 }\n"};
    for (size_t i = 0; i < 2; i++) {
        HELD_AT(sweep) *s = sweep_of(texts[i]);
        HELD_AT(model_search) *search = search_of(s, NULL);
        HELD(gathered) g = {.search = search};
        const struct hash128 before = s->hash;
        uint64_t count = 0;
        assert_int_equal(model_section_fill(search, s, &count, NULL), 0);
        assert_memory_not_equal(&s->hash, &before, sizeof before);
        buffer_add_text(&g.text, "[sweep]\nlist_values = ");
        model_section_add_list_values(search, &g.text);
        buffer_add_char(&g.text, '\n');
        assert_int_equal(model_search_each(search, gather, &g, &count, NULL), 0);
        HELD_AT(sweep) *read = sweep_of(buffer_text(&g.text));
        assert_int_equal(read->sections[SECTION_MODEL].block_count, count);
        assert_true(values_equal(&s->sections[SECTION_MODEL], &read->sections[SECTION_MODEL]));
    }
}

TEST(fill__other_models__other_hash)
{
    struct hash128 hashes[3];
    for (int i = 0; i < 3; i++) {
        HELD_AT(sweep) *s = sweep_of(RECIPE);
        const struct model_search_options options = {.seed_given = true, .seed = i == 1 ? 5 : 4};
        HELD_AT(model_search) *search = search_of(s, &options);
        uint64_t count = 0;
        assert_int_equal(model_section_fill(search, s, &count, NULL), 0);
        hashes[i] = s->hash;
    }
    assert_memory_equal(&hashes[0], &hashes[2], sizeof *hashes);
    assert_memory_not_equal(&hashes[0], &hashes[1], sizeof *hashes);
}

TEST(fill__too_many_models__refused_section_untouched)
{
    HELD_AT(sweep) *s = sweep_of("[[model]]\na = 0\n[model_space.keys]\na = { from = 1, to = 100001 }\n");
    HELD_AT(model_search) *search = search_of(s, NULL);
    struct error e = ERROR_INIT;
    uint64_t count = 0;
    assert_int_equal(model_section_fill(search, s, &count, &e), -1);
    assert_string_equal(e.text, "more than 100000 models: a sweep takes a sample of them ([[model_space.sample]])");
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_int_equal(s->sections[SECTION_MODEL].block_count, 1);
}
