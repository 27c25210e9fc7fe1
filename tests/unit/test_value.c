/* config: values, their equality and their texts. */
#include "config/value.h"
#include "unit_test.h"

#define INT(n)                                                                                                         \
    {                                                                                                                  \
        .kind = VALUE_INT, .integer = (n)                                                                              \
    }
#define BOOL(b)                                                                                                        \
    {                                                                                                                  \
        .kind = VALUE_BOOL, .integer = (b)                                                                             \
    }
#define FLOAT(x)                                                                                                       \
    {                                                                                                                  \
        .kind = VALUE_FLOAT, .real = (x)                                                                               \
    }
#define STRING(s)                                                                                                      \
    {                                                                                                                  \
        .kind = VALUE_STRING, .text = (char *)(s)                                                                      \
    }
#define JSON(s)                                                                                                        \
    {                                                                                                                  \
        .kind = VALUE_JSON, .text = (char *)(s)                                                                        \
    }

TEST(value_equal__type_and_content__both_count)
{
    const struct value all[] = {{.kind = VALUE_NULL}, BOOL(1),       BOOL(0),    INT(1),      INT(0),    FLOAT(1),
                                FLOAT(0.5),           FLOAT(NAN),    STRING(""), STRING("1"), JSON("1"), JSON("[1,2]"),
                                FLOAT(-0.5),          INT(INT64_MAX)};
    for (size_t i = 0; i < LENGTH(all); i++)
        for (size_t j = 0; j < LENGTH(all); j++)
            assert_int_equal(value_equal(&all[i], &all[j]), i == j);
}

TEST(value_next_member__every_kind__read_back)
{
    static const char json[] =
        "{\"a b\":\"\",\"b\":-0.5,\"c\":\"x \\\"}\\n\",\"d\":9223372036854775807,\"e\":true,\"f\":null,"
        "\"g\":[1,{\"h\":\"]\"}],\"i\":{\"j\":1e+300},\"k\\\"\":1e+300,\"l\":false}";
    OWNED_BUFFER again = BUFFER_INIT;
    const char *at = json + 1;
    char *name;
    for (struct value value; value_next_member(&at, &name, &value); value_free(&value)) {
        buffer_add_char(&again, again.length ? ',' : '{');
        buffer_add_json_string(&again, name, strlen(name));
        buffer_add_char(&again, ':');
        value_add_json(&value, &again);
        assert_true(value.kind != VALUE_JSON || strchr("gi", *name));
        free(name);
    }
    assert_string_equal(at, "}");
    buffer_add_text(&again, at);
    assert_string_equal(buffer_text(&again), json);
}

/* SQLite brings such a table into its form, or says what is wrong with it. */
TEST(value_next_member__not_canonical__not_read)
{
    static const char *const cases[] = {"\"a\": 1}", " \"a\":1}", "\"a\":[1, 2]}", "\"a\":tru}", "\"a\":1x}",
                                        "\"a\":}",   "\"a\":1",   "\"a\":[1}",     "a:1}",       "\"a\":\"b}"};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *at = cases[i];
        char *name;
        struct value value;
        FAIL_WHERE(value_next_member(&at, &name, &value), "%s was read", cases[i]);
    }
    const char *great = "\"a\":12345678901234567890}";
    char *name;
    struct value value;
    assert_true(value_next_member(&great, &name, &value) && value.kind == VALUE_FLOAT);
    free(name);
}

TEST_ROWS(value_texts__every_kind__as_json_and_for_a_command_line, (struct value value; const char *json, *text),
          {{.kind = VALUE_NULL}, "null", ""}, {BOOL(1), "true", "true"}, {BOOL(0), "false", "false"},
          {INT(INT64_MIN), "-9223372036854775808", "-9223372036854775808"}, {FLOAT(2), "2.0", "2.0"},
          {FLOAT(1e300), "1e+300", "1e+300"}, {FLOAT(0.1), "0.1", "0.1"}, {FLOAT(NAN), "\"NaN\"", "NaN"},
          {FLOAT(INFINITY), "\"Infinity\"", "Infinity"}, {FLOAT(-INFINITY), "\"-Infinity\"", "-Infinity"},
          {STRING("a \"b\"\n"), "\"a \\\"b\\\"\\n\"", "a \"b\"\n"}, {STRING(""), "\"\"", ""},
          {JSON("[1,{\"a\":2}]"), "[1,{\"a\":2}]", "[1,{\"a\":2}]"})
{
    OWNED_BUFFER b = BUFFER_INIT;
    value_add_json(&row->value, &b);
    assert_string_equal(buffer_text(&b), row->json);
    buffer_clear(&b);
    value_add_text(&row->value, &b);
    assert_string_equal(buffer_text(&b), row->text);
}

TEST(value_copy__string__owns_its_text)
{
    struct value one = {.kind = VALUE_STRING, .text = xstrdup("abc")};
    HELD(value) two = value_copy(&one);
    assert_true(value_equal(&one, &two));
    assert_ptr_not_equal(one.text, two.text);
    value_free(&one);
    assert_int_equal(one.kind, VALUE_NULL);
    assert_string_equal(two.text, "abc");
    value_free(&two);
}
