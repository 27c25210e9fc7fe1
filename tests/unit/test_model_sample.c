/* models/search: fixed draws, no repeats, uniformity, strata, filters. */
#include "model_search_fixture.h"
#include "models/cursor.h"

/* Twelve mixers in one to four layers, of three kinds (998,738: walked at once) or four (13,528,268: drawn
 * first). */
static const char *const spaces[] = {ZHEN_SPACE, "[model_space]\n" ZHEN_KINDS(
                                                     "\"DOT\", \"LINEAR\", \"ATTENTION\", \"CONVOLUTION\"")};

#define SAMPLE(text) "[[model_space.sample]]\n" text
#define ONE_LAYER "each = { num_zhen_layers = 1 }\n"
#define ANY_UNIFORM "[[model_space.filter]]\npreset = \"uniform-mixer\"\n"

struct drawn {
    struct sweep *sweep;
    struct model_search *search;
    uint64_t *ranks;
    size_t count;
};

static struct drawn draw(const char *space, const char *samples, int64_t seed)
{
    OWNED char *text = xasprintf("%s%s", space, samples);
    const struct model_search_options options = {.seed_given = true, .seed = seed};
    struct drawn d = {.sweep = sweep_of(text)};
    d.search = search_of(d.sweep, &options);
    FAIL_IF(model_search_draw(d.search, &d.ranks, &d.count, &e));
    return d;
}

static void drawn_free(struct drawn *d)
{
    free(d->ranks);
    model_search_free(d->search);
    sweep_free(d->sweep);
}

static int compare_ranks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void assert_no_rank_twice(const struct drawn *d)
{
    OWNED uint64_t *sorted = malloc(d->count * sizeof *sorted);
    memcpy(sorted, d->ranks, d->count * sizeof *sorted);
    qsort(sorted, d->count, sizeof *sorted, compare_ranks);
    for (size_t i = 1; i < d->count; i++)
        assert_true(sorted[i - 1] < sorted[i]);
}

TEST(draw__fixed_seed__fixed_ranks)
{
    static const uint64_t ranks[2][5] = {{457693, 547607, 355465, 349697, 405930},
                                         {2129734, 5797531, 3958575, 4758333, 621395}};
    for (size_t i = 0; i < 2; i++) {
        HELD(drawn) d = draw(spaces[i], SAMPLE("take = 5\n"), 42);
        assert_int_equal(d.count, 5);
        assert_memory_equal(d.ranks, ranks[i], sizeof ranks[i]);
    }
}

TEST(draw__fewer__begin_of_one_order)
{
    for (size_t i = 0; i < 2; i++) {
        HELD(drawn) many = draw(spaces[i], SAMPLE("take = 300\n"), 7);
        HELD(drawn) few = draw(spaces[i], SAMPLE("take = 100\n"), 7);
        HELD(drawn) other = draw(spaces[i], SAMPLE("take = 100\n"), 8);
        assert_int_equal(few.count, 100);
        assert_memory_equal(few.ranks, many.ranks, 100 * sizeof *few.ranks);
        assert_memory_not_equal(other.ranks, many.ranks, 100 * sizeof *other.ranks);
    }
}

TEST(draw__more_than_there_are__all_of_them_once)
{
    HELD(drawn)
    d = draw(spaces[0],
             SAMPLE("take = 40\n" ONE_LAYER) SAMPLE("take = 100000\neach = { num_zhen_layers = 2 }\n")
                 SAMPLE("take = 100000\n" ONE_LAYER),
             0);
    assert_int_equal(d.count, 91 + 6006);
    assert_int_equal(d.search->strata[0].taken, 40);
    assert_int_equal(d.search->strata[1].taken, 6006);
    assert_int_equal(d.search->strata[2].taken, 51);
    assert_false(d.search->cut);
    assert_no_rank_twice(&d);
    for (size_t i = 0; i < d.count; i++)
        assert_true(d.ranks[i] < 91 + 6006);
}

/* Twenty each of one, two and three layers and a hundred of any, all like the base model: of one layer there
 * are none. */
TEST(draw__strata_of_similar_models__filtered_counted_distinct)
{
    static const size_t expected[] = {0, 20, 20, 100};
    for (size_t n = 0; n < 2; n++) {
        HELD(drawn)
        d = draw(spaces[n],
                 ZHEN_BASE SIMILAR SAMPLE("take = 20\neach = { num_zhen_layers = [1, 2, 3] }\n") SAMPLE("take = 100\n"),
                 1);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(d.search->strata[i].taken, expected[i]);
        assert_int_equal(d.count, 140);
        assert_no_rank_twice(&d);
        const struct model_filter *similar = &d.search->filters[0];
        assert_true(similar->removed > 0);
        HELD_AT(model_cursor) *cursor = model_cursor_make(d.search->index);
        for (size_t i = 0; i < 140; i++) {
            const struct model_candidate *c = model_cursor_seek(cursor, d.ranks[i]);
            assert_true(c->parameters >= similar->low && c->parameters <= similar->high);
            if (i < 40)
                assert_int_equal(c->parts[DHEN_KEY_TOKENS].stack.layers, i < 20 ? 2 : 3);
        }
    }
}

/* So rare that drawing cannot find them all: 4 · 232 uniform models of 13.5 million. */
TEST(draw__rare_in_a_large_space__walk_finds_the_rest)
{
    HELD(drawn) some = draw(spaces[1], ANY_UNIFORM SAMPLE("take = 150\n"), 5);
    HELD(drawn) all = draw(spaces[1], ANY_UNIFORM SAMPLE("take = 1000\n"), 5);
    assert_int_equal(some.count, 150);
    assert_int_equal(all.count, 4 * 232);
    assert_no_rank_twice(&all);
    assert_memory_equal(all.ranks, some.ranks, 150 * sizeof *some.ranks);
}

TEST(draw__space_too_large_to_walk__short_and_said_so)
{
    HELD(drawn)
    d = draw("[model_space.keys]\na = { from = 1, to = 2000000000 }\n", SAMPLE("take = 100\nwhere = \"a < 9\"\n"), 0);
    assert_true(d.count < 8);
    assert_true(d.search->cut);
}

/* χ² over the 91 models of one layer, ten of them drawn with each of 4,550 seeds. The draws of one seed are
 * without replacement, which makes χ² smaller by the factor 81/90; 90 degrees of freedom exceed 137.2 once in
 * a thousand. */
TEST(draw__many_seeds__each_candidate_equally_often)
{
    NEEDS(!rounds_are_few());
    enum { SEEDS = 4550, TAKE = 10, MODELS = 91, EXPECTED = SEEDS * TAKE / MODELS };
    HELD_AT(sweep) *s = sweep_of(ZHEN_SPACE SAMPLE("take = 10\n" ONE_LAYER));
    HELD_AT(model_search) *search = search_of(s, NULL);
    int hits[MODELS] = {0};
    double chi = 0;
    for (search->options.seed = 0; search->options.seed < SEEDS; search->options.seed++) {
        OWNED uint64_t *ranks = NULL;
        size_t count;
        FAIL_IF(model_search_draw(search, &ranks, &count, &e));
        assert_int_equal(count, TAKE);
        for (size_t i = 0; i < TAKE; i++)
            hits[ranks[i]]++;
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
    for (size_t n = 0; n < 2; n++) {
        HELD(drawn) d = draw(spaces[n], SAMPLE("take = 20000\n"), 99);
        const struct model_index *index = d.search->index;
        double share = (double)model_index_count_layers(index, DHEN_KEY_TOKENS, 3) / (double)index->count;
        uint64_t end = index->count - model_index_count_layers(index, DHEN_KEY_TOKENS, 4);
        uint64_t first = end - model_index_count_layers(index, DHEN_KEY_TOKENS, 3);
        double hits = 0;
        for (size_t i = 0; i < TAKE; i++)
            hits += d.ranks[i] >= first && d.ranks[i] < end;
        double off = hits - TAKE * share;
        assert_true(off * off < 25 * TAKE * share * (1 - share));
        assert_no_rank_twice(&d);
    }
}

/* Every candidate of the second stratum may come up, whatever the first took: the first takes all but one. */
TEST(draw__later_stratum__gets_exactly_what_is_left)
{
    HELD(drawn) d = draw(spaces[0], SAMPLE("take = 90\n" ONE_LAYER) SAMPLE("take = 5\n" ONE_LAYER), 3);
    uint64_t sum = 0;
    assert_int_equal(d.search->strata[0].taken, 90);
    assert_int_equal(d.search->strata[1].taken, 1);
    for (size_t i = 0; i < 91; i++)
        sum += d.ranks[i];
    assert_int_equal(sum, 90 * 91 / 2);
}

TEST(draw__own_filter_of_a_stratum__only_there)
{
    HELD(drawn)
    d = draw(spaces[0], SAMPLE("take = 1000\nwhere = \"mixers('DOT') = mixers()\"\n") SAMPLE("take = 7\n"), 0);
    assert_int_equal(d.search->strata[0].taken, 1 + 11 + 55 + 165);
    assert_int_equal(d.search->strata[1].taken, 7);
}

TEST(draw__failing_filter__error_and_nothing_drawn)
{
    for (size_t n = 0; n < 2; n++) {
        OWNED char *text =
            xasprintf("%s%s", spaces[n],
                      SAMPLE("take = 1\nwhere = \"abs(-9223372036854775807 - layer_count / layer_count) > 0\"\n"));
        HELD_AT(sweep) *s = sweep_of(text);
        HELD_AT(model_search) *search = search_of(s, NULL);
        uint64_t *ranks = NULL;
        size_t count;
        FAILS_WITH_PART(model_search_draw(search, &ranks, &count, &e), "integer overflow");
        assert_null(ranks);
    }
}
