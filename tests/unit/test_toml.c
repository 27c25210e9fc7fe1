/* config: TOML text to a tree, its positions and its limits. */
#include "toml/parse.h"
#include "unit_test.h"
#include "util/buffer.h"

static struct toml_node *read_good(const char *text)
{
    struct toml_fault fault = {0};
    struct toml_node *root = NULL;
    FAIL_WHERE(toml_parse(text, strlen(text), &root, &fault) < 0, "%d:%d: %s", fault.line, fault.column, fault.message);
    return root;
}

/* "line:column: message", the caller's. */
static char *read_bad(const char *text, size_t length)
{
    struct toml_fault fault = {0};
    struct toml_node *root = NULL;
    assert_int_equal(toml_parse(text, length, &root, &fault), -1);
    assert_null(root);
    char *line = xasprintf("%d:%d: %s", fault.line, fault.column, fault.message);
    free(fault.message);
    return line;
}

TEST(toml_parse__every_kind__value_and_position)
{
    HELD_AT(toml_node) *root = read_good("a = 1\n"
                                         "  b = -2.5\n"
                                         "c.d = 'x'\n"
                                         "'é' = true\n"
                                         "f = [ 1,\n"
                                         "      \"two\" ]\n"
                                         "[g]\n"
                                         "h = { i = 1 }\n");
    const struct toml_node *a = toml_child(root, "a"), *b = toml_child(root, "b"), *c = toml_child(root, "c");
    const struct toml_node *d = toml_child(c, "d"), *e = toml_child(root, "é"), *f = toml_child(root, "f");
    const struct toml_node *g = toml_child(root, "g"), *two = &f->children[1];
    SAYS("1 4:1 5:-2.5 2:3 7", "%d %d:%d %d:%g %d:%d %d", root->kind, a->kind, (int)a->integer, b->kind, b->real,
         b->key_line, b->key_column, b->column);
    SAYS("1 0 x 3, 6 7", "%d %d %s %d, %d %d", c->kind, c->is_inline, d->text, d->key_column, e->kind, e->column);
    SAYS("2 2 (null) 6:7, 0 1", "%d %zu %s %d:%d, %d %d", f->kind, f->child_count, two->key, two->line, two->column,
         g->is_inline, toml_child(g, "h")->is_inline);
    assert_null(toml_child(root, "z"));
    assert_null(toml_child(a, "a"));
}

TEST(toml_parse__keys__in_file_order)
{
    HELD_AT(toml_node) *root = read_good("z = 1\na = 2\nm.y = 3\nm.b = 4\n[[t]]\nk = 1\n[[t]]\nj = 1\ni = 1\n");
    static const char *const order[] = {"z", "a", "m", "t"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(root->children[i].key, order[i]);
    assert_string_equal(root->children[2].children[0].key, "y");
    const struct toml_node *second = &toml_child(root, "t")->children[1];
    assert_string_equal(second->children[0].key, "j");
    assert_int_equal(second->line, 7);
}

TEST_ROWS(toml_parse__every_kind__canonical_json, (const char *text, *expected),
          {"a = 9223372036854775807\nb = -9223372036854775808\nc = 0xff\nd = 1_000\n",
           "{\"a\":9223372036854775807,\"b\":-9223372036854775808,\"c\":255,\"d\":1000}"},
          {"b = { z = [1, 2.0, -0.0], a = \"\\\"\" }\na = [true, {}]\nc = [nan, -inf, 1e300]",
           "{\"a\":[true,{}],\"b\":{\"a\":\"\\\"\",\"z\":[1,2.0,0.0]},\"c\":[\"NaN\",\"-Infinity\",1e+300]}"},
          {"a = 1979-05-27\nb = 07:32:00\nc = 1979-05-27T07:32:00Z\nd = 1979-05-27 07:32:00.5-07:00\n",
           "{\"a\":\"1979-05-27\",\"b\":\"07:32:00\",\"c\":\"1979-05-27T07:32:00Z\","
           "\"d\":\"1979-05-27T07:32:00.5-07:00\"}"},
          {"\xEF\xBB\xBF"
           "a = 1\r\nb = \"\"\"\r\nx\"\"\"\r\n",
           "{\"a\":1,\"b\":\"x\"}"},
          {"# nothing but a comment", "{}"},
          /* A character from each range that is looked at closely for being a blank, after an escaped line end. */
          {"a = \"\"\"x\\\n  é\\\n\\\n ᚁ\\\n —\\\n。\\\n ﻼ\"\"\" # é\n'é' = 'é'", "{\"a\":\"xéᚁ—。ﻼ\",\"é\":\"é\"}"})
{
    HELD_AT(toml_node) *root = read_good(row->text);
    OWNED_BUFFER b = BUFFER_INIT;
    toml_add_json(root, &b);
    assert_string_equal(buffer_text(&b), row->expected);
}

TEST_ROWS(toml_parse__syntax_errors__position_and_reason, (const char *text, *position), {"a = [1, 2", "1:10: "},
          {"a = \"x", "1:7: "}, {"a = 1\na = 2\n", "2:"}, {"[t]\nk = 1\n[t]\n", "3:"}, {"ok = 1\n  = 2\n", "2:3: "},
          {"a = 99999999999999999999", "1:"}, {"x = 1\ny = {a = 1\n}", "2:"}, {"a = \"\\uD800\"", "1:"},
          {"a = 08", "1:"}, {"a = tru", "1:8: "}, {"a.b = 1\n[a]\n", "2:"}, {"a = 1 b = 2", "1:"})
{
    OWNED char *line = read_bad(row->text, strlen(row->text));
    if (strncmp(line, row->position, strlen(row->position)) != 0)
        fail_msg("\"%s\": %s, not at %s", row->text, line, row->position);
    assert_true(strlen(strchr(line, ' ')) > 10);
}

#define TEXT(text) text, sizeof(text) - 1
#define NUL_BYTES "not a text file: it contains NUL bytes (UTF-8 is expected)"
#define ASCII "characters beyond ASCII are allowed only in strings and comments"

TEST_ROWS(toml_parse__what_is_no_toml__said_plainly, (const char *text; size_t length; const char *said),
          {TEXT("a = \"x\nb = 1\n"), "1:7: the string has no closing quote on its line"},
          {TEXT("\n\na = \"\xc3\xa9\r\n"), "3:7: the string has no closing quote on its line"},
          {TEXT("a = \"x\x01y\"\n"), "1:7: Error while parsing string: unescaped control characters other than TAB "
                                     "(U+0009) are explicitly prohibited"},
          {TEXT("a = hello"), "1:5: not a number, date, boolean or list; put strings in quotes"},
          {TEXT(""), "0:0: the file is empty; meshsweep init writes one"},
          {TEXT("a = 'é\xff'"), "1:7: not UTF-8: byte 0xFF"}, {TEXT("a = 1\nb = \"\xc3"), "2:6: not UTF-8: byte 0xC3"},
          {TEXT("a = 1\n\0"), "2:1: " NUL_BYTES},
          {TEXT("\xff\xfe"
                "a\0"),
           "1:1: " NUL_BYTES},
          {TEXT("a = \"\\u0000\""), "1:5: a string or key must not contain a NUL character"},
          {TEXT("x = 1\n\"\\u0000\" = 1"), "2:1: a string or key must not contain a NUL character"},
          {TEXT("é = 1"), "1:1: " ASCII}, {TEXT("a = 1\nb = é"), "2:5: " ASCII}, {TEXT("a = \"é\" é"), "1:9: " ASCII},
          {TEXT("\xC2\xA0"
                "a = 1"),
           "1:1: " ASCII},
          {TEXT("[é]"), "1:2: " ASCII},
          {TEXT("a = [1,\xE3\x80\x80"
                "2]"),
           "1:8: " ASCII})
{
    OWNED char *line = read_bad(row->text, row->length);
    assert_string_equal(line, row->said);
}

/* `before` and `count` times `repeated`. */
static char *repeat(const char *before, const char *repeated, size_t count)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, before);
    for (size_t i = 0; i < count; i++)
        buffer_add_text(&b, repeated);
    return buffer_take(&b);
}

static void assert_repeated_refused(const char *before, const char *repeated, size_t count, const char *message)
{
    OWNED char *text = repeat(before, repeated, count);
    OWNED char *line = read_bad(text, strlen(text));
    assert_string_equal(line, message);
}

TEST(toml_parse__hostile_depth__refused_at_once)
{
    assert_repeated_refused("a = ", "[", 1000000, "1:70: nested deeper than 64 lists or tables");
    assert_repeated_refused("a = ", "{a=", 1000000, "1:198: nested deeper than 64 lists or tables");
    assert_repeated_refused("[", "a.", 1000000, "1:66: a key of more than 32 parts");
    assert_repeated_refused("x = 1\n", "\"é\" . ", 1000000, "2:192: a key of more than 32 parts");
}

TEST(toml_parse__hostile_count__refused_at_once)
{
    OWNED char *text = repeat("a = [", "1,", TOML_MOST_VALUES);
    OWNED char *line = read_bad(text, strlen(text));
    assert_non_null(strstr(line, ": more than 4000000 values in one file"));
}

TEST(toml_parse__deepest_that_is_allowed__read_and_released)
{
    char *open = repeat("a = ", "[", TOML_MOST_NESTING), *close = repeat("", "]", TOML_MOST_NESTING);
    OWNED char *text = xasprintf("%s%s", open, close);
    toml_free(read_good(text));
    free(open);
    free(close);
    free(text);
    OWNED char *key = repeat("", "a.", TOML_MOST_KEY_PARTS - 1);
    text = xasprintf("%sz = 1", key);
    toml_free(read_good(text));
}

TEST(toml_parse__dots_and_brackets_in_strings__not_counted)
{
    OWNED char *dots = repeat("", "a.[{", 200);
    OWNED char *text =
        xasprintf("a = \"%s\\\"%s\" # %s\nb = '%s'\nc = '''%s\n'%s\n''''\nd = \"\"\"\n%s\\\"\"\"%s\"\"\"\n"
                  "e = \"\"\nf = ''''''\n",
                  dots, dots, dots, dots, dots, dots, dots, dots);
    HELD_AT(toml_node) *root = read_good(text);
    assert_int_equal(root->child_count, 6);
}

TEST(toml_add_literal__every_kind__reads_back_equal)
{
    static const char text[] = "a = [1, -2.5, 1e300, inf, -inf, true, \"q\\\"\\u007f\\n\", [], {}]\n"
                               "\"b c\" = { x = [{ y = 1 }], \"d.e\" = \"\" }\n";
    HELD_AT(toml_node) *root = read_good(text);
    OWNED_BUFFER line = BUFFER_INIT, before = BUFFER_INIT, after = BUFFER_INIT;
    toml_add_json(root, &before);
    for (size_t i = 0; i < root->child_count; i++) {
        toml_add_key(root->children[i].key, &line);
        buffer_add_text(&line, " = ");
        toml_add_literal(&root->children[i], &line);
        buffer_add_char(&line, '\n');
    }
    assert_string_equal(buffer_text(&line), "a = [1, -2.5, 1e+300, inf, -inf, true, \"q\\\"\\u007f\\n\", [], {}]\n"
                                            "\"b c\" = { x = [{ y = 1 }], \"d.e\" = \"\" }\n");
    HELD_AT(toml_node) *again = read_good(buffer_text(&line));
    toml_add_json(again, &after);
    assert_string_equal(buffer_text(&after), buffer_text(&before));
}
