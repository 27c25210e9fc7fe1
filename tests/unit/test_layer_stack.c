/* space/multiset and space/layer_stack: counting, order, positions. */
#include "models/layer_stack.h"
#include "unit_test.h"
#include "util/buffer.h"

/* A number_list; `cases` that use it are not static, as the values are locals. */
#define SET(...)                                                                                                       \
    {                                                                                                                  \
        (unsigned[]){__VA_ARGS__}, sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned)                                \
    }
#define UNBOUND                                                                                                        \
    {                                                                                                                  \
        NULL, 0                                                                                                        \
    }

/* "2.1 0.3" for two layers over two kinds. */
static const char *describe(const struct layer_stack *s, const struct layer_state *st, struct buffer *out)
{
    buffer_clear(out);
    for (unsigned layer = 0; layer < st->layers; layer++)
        for (unsigned k = 0; k < s->kinds; k++)
            buffer_printf(out, "%s%u", k > 0 ? "." : layer > 0 ? " " : "", st->counts[layer * s->kinds + k]);
    return buffer_text(out);
}

struct layer_rules {
    size_t kinds;
    struct number_list layers, sizes, totals;
};

static int try(const struct layer_rules *rules, struct layer_stack *out, struct error *e)
{
    const struct space_key key = {.kinds = {NULL, rules->kinds}, .sizes = rules->sizes, .totals = rules->totals};
    return layer_stack_make(&key, &rules->layers, out, e);
}

static struct layer_stack make(const struct layer_rules *rules)
{
    struct layer_stack s;
    FAIL_IF(try(rules, &s, &e));
    return s;
}

/* To the first stack; false: there is none. */
static bool first(const struct layer_stack *s, struct layer_state *st)
{
    if (s->count > 0)
        layer_stack_unrank(s, 0, st);
    return s->count > 0;
}

/* Walks the whole stack; every position must lead to the same place and back. Returns how many there were. */
static uint64_t walk_and_compare(const struct layer_stack *s)
{
    HELD(layer_state) walked = layer_state_make(s), found = layer_state_make(s);
    OWNED_BUFFER a = BUFFER_INIT, b = BUFFER_INIT;
    uint64_t rank = 0;
    for (bool more = first(s, &walked); more; more = layer_stack_next(s, &walked)) {
        assert_true(rank < s->count);
        assert_int_equal(layer_stack_rank(s, &walked), rank);
        layer_stack_unrank(s, rank, &found);
        assert_string_equal(describe(s, &walked, &a), describe(s, &found, &b));
        assert_true(layer_stack_find(s, walked.layers, walked.counts, &found));
        assert_int_equal(layer_stack_rank(s, &found), rank);
        rank++;
    }
    return rank;
}

TEST(multiset_table__small_and_huge__binomials_and_saturation)
{
    HELD(multiset_table) t = multiset_table_make(64, 256);
    assert_int_equal(multiset_count(&t, 3, 12), 91);
    assert_int_equal(multiset_count(&t, 4, 12), 455);
    assert_int_equal(multiset_count(&t, 1, 200), 1);
    assert_int_equal(multiset_count(&t, 0, 3), 0);
    assert_int_equal(multiset_count(&t, 64, 256), UINT64_MAX);
}

TEST(multiset_next__three_of_three__documented_order)
{
    static const uint16_t expected[][3] = {{3, 0, 0}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {1, 1, 1},
                                           {1, 0, 2}, {0, 3, 0}, {0, 2, 1}, {0, 1, 2}, {0, 0, 3}};
    HELD(multiset_table) t = multiset_table_make(3, 3);
    uint16_t walked[3], found[3];
    multiset_first(walked, 3, 3);
    for (size_t i = 0; i < 10; i++) {
        assert_memory_equal(walked, expected[i], sizeof walked);
        assert_int_equal(multiset_rank(&t, walked, 3), i);
        multiset_unrank(&t, i, 3, found);
        assert_memory_equal(found, expected[i], sizeof found);
        assert_int_equal(multiset_next(walked, 3), i < 9);
    }
    assert_memory_equal(walked, expected[9], sizeof walked);
}

TEST(next__three_mixers_two_kinds__documented_order)
{
    static const char *const expected[] = {"3.0",     "2.1",     "1.2",     "0.3",     "1.0 2.0", "1.0 1.1",
                                           "1.0 0.2", "0.1 2.0", "0.1 1.1", "0.1 0.2", "2.0 1.0", "2.0 0.1",
                                           "1.1 1.0", "1.1 0.1", "0.2 1.0", "0.2 0.1"};
    const struct layer_rules rules = {2, SET(2, 1), UNBOUND, SET(3)};
    HELD(layer_stack) s = make(&rules);
    HELD(layer_state) st = layer_state_make(&s);
    OWNED_BUFFER text = BUFFER_INIT;
    size_t i = 0;
    for (bool more = first(&s, &st); more; more = layer_stack_next(&s, &st), i++) {
        assert_true(i < 16);
        assert_string_equal(describe(&s, &st, &text), expected[i]);
    }
    assert_int_equal(i, 16);
}

/* Limits of every kind, alone and together; the walk must agree with the count and with the positions. */
TEST_ROWS(rank__every_kind_of_limits__walk_count_and_positions_agree, (struct layer_rules rules; uint64_t count),
          {{3, SET(1, 2, 3), UNBOUND, SET(7)}, 36 + 720 + 4167}, {{3, SET(2), SET(2), UNBOUND}, 6 * 6},
          {{2, SET(1, 3), SET(1, 2), UNBOUND}, 5 + 125}, {{2, SET(2), SET(1, 3), SET(4)}, 2 * 2 * 4},
          {{2, SET(2), UNBOUND, SET(2, 5)}, 4 + 2 * 2 * 5 + 2 * 3 * 4}, {{1, SET(3), UNBOUND, SET(5)}, 6},
          {{1, SET(9), SET(1), UNBOUND}, 1}, {{4, SET(1, 2, 3, 4), UNBOUND, SET(5)}, 56 + 680 + 2160 + 2560},
          {{2, SET(3), UNBOUND, SET(2)}, 0}, {{2, SET(1), SET(9), SET(5)}, 0})
{
    HELD(layer_stack) s = make(&row->rules);
    assert_int_equal(walk_and_compare(&s), s.count);
    assert_int_equal(s.count, row->count);
}

TEST(rank__largest_countable__last_position_returns)
{
    const struct layer_rules rules = {2, SET(63), SET(1), UNBOUND};
    HELD(layer_stack) s = make(&rules);
    HELD(layer_state) st = layer_state_make(&s);
    assert_int_equal(s.count, UINT64_C(1) << 63);
    layer_stack_unrank(&s, s.count - 1, &st);
    assert_int_equal(layer_stack_rank(&s, &st), s.count - 1);
    assert_false(layer_stack_next(&s, &st));
}

TEST_ROWS(make__bad_rules__refused_with_reason, (struct layer_rules rules; const char *message),
          {{65, SET(1), UNBOUND, SET(3)}, "65 kinds"}, {{3, SET(65), UNBOUND, SET(3)}, "layers: 65 is out of bounds"},
          {{3, SET(1), SET(257), UNBOUND}, "elements in a layer: 257"},
          {{3, SET(1), UNBOUND, SET(2049)}, "elements in all layers: 2049"},
          {{3, SET(64), SET(256), UNBOUND}, "at most 2048"}, {{2, SET(64), SET(1), UNBOUND}, "64 layers than 64 bits"},
          {{2, SET(63, 62, 1), SET(1, 2), UNBOUND}, "more stacks"})
{
    struct layer_stack s;
    struct error e = ERROR_INIT;
    assert_int_equal(try(&row->rules, &s, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    FAIL_WHERE(!strstr(e.text, row->message), "\"%s\" lacks \"%s\"", e.text, row->message);
}

TEST(find__none_of_the_stack__false)
{
    const struct layer_rules rules = {.kinds = 2, .layers = SET(1, 3), .sizes = SET(1, 3), .totals = SET(3, 5)};
    HELD(layer_stack) s = make(&rules);
    HELD(layer_state) st = layer_state_make(&s);
    static const uint16_t rows[][6] = {{2, 1, 0, 0, 0, 0}, {1, 0, 0, 1, 0, 1}, {1, 1, 1, 0, 0, 2},
                                       {3, 0, 3, 0, 1, 0}, {1, 0, 0, 0, 1, 1}, {1, 0, 1, 0, 3, 0}};
    assert_true(layer_stack_find(&s, 1, rows[0], &st));
    assert_true(layer_stack_find(&s, 3, rows[1], &st));
    assert_false(layer_stack_find(&s, 2, rows[1], &st)); /* no such number of layers */
    assert_false(layer_stack_find(&s, 3, rows[2], &st)); /* no such size */
    assert_false(layer_stack_find(&s, 3, rows[3], &st)); /* more than any total */
    assert_false(layer_stack_find(&s, 3, rows[4], &st)); /* an empty layer */
    assert_true(layer_stack_find(&s, 3, rows[5], &st));
    assert_false(layer_stack_find(&s, 1, rows[1], &st)); /* no such total */
}
