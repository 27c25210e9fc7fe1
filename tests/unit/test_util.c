/* util: parsing of durations and sizes, text, suggestions, errors. */
#include <sys/stat.h>

#include "unit_test.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/parse.h"
#include "util/string_list.h"
#include "util/suggest.h"
#include "util/utf8.h"

TEST_ROWS(parse_duration__accepted_forms__milliseconds, (const char *text; int64_t ms), {"90", 90000},
          {"1.5h", 5400000}, {"10m", 600000}, {"10 min", 600000}, {"2h30m", 9000000}, {"500ms", 500}, {"1d", 86400000},
          {"0", 0}, {"1m 30s", 90000})
{
    int64_t ms = -1;
    assert_true(parse_duration_ms(row->text, &ms));
    assert_int_equal(ms, row->ms);
}

TEST_ROWS(parse_duration__nonsense__refused_untouched, (const char *text), {""}, {"-1s"}, {"10x"}, {"m"}, {"5m10"},
          {"1e400s"}, {"99y"}, {"100000d"}, {"ten"}, {"0x10"})
{
    int64_t ms = 42;
    assert_false(parse_duration_ms(row->text, &ms));
    assert_int_equal(ms, 42);
}

TEST_ROWS(parse_written_number__points_and_commas__as_they_are_meant,
          (const char *text; char mark; size_t length; const char *digits), {"1,234.5", '.', 7, "1234.5"},
          {"1,234.5", ',', 0, ""}, /* two marks */
          {"1.234,5", ',', 7, "1234.5"}, {"-1.234.567,5 MB", ',', 12, "-1234567.5"}, {"1.234", '.', 5, "1.234"},
          {"1.234", ',', 5, "1234"}, {"0.234", ',', 0, ""}, /* no thousands */
          {"12.5", ',', 0, ""}, {"12,5", '.', 0, ""}, {"1234,567", '.', 0, ""}, {"4,509e+00", ',', 9, "4.509e+00"},
          {"1.2e3", '.', 5, "1.2e3"}, {"12 eggs", '.', 2, "12"}, {"12e", '.', 2, "12"}, {"39,3 %", ',', 4, "39.3"},
          {"", '.', 0, ""}, {"-", '.', 0, ""}, {"OOM", ',', 0, ""})
{
    char digits[NUMBER_BYTES] = "";
    print_message("%s by %c\n", row->text, row->mark);
    assert_int_equal(parse_written_number(row->text, row->mark, digits), row->length);
    if (row->length)
        assert_string_equal(digits, row->digits);
}

TEST(parse_written_number__longer_than_any__refused)
{
    char digits[NUMBER_BYTES], long_one[200];
    memset(long_one, '7', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    assert_int_equal(parse_written_number(long_one, '.', digits), 0);
}

TEST_ROWS(parse_size__units__bytes_or_refused_untouched, (const char *text; int64_t bytes /* 7: refused */),
          {"80GiB", 80LL << 30}, {"24 MiB", 24 << 20}, {"1.5GB", 1500000000}, {"80Gi", 7}, {"-1B", 7},
          {"9999999999TiB", 7})
{
    int64_t bytes = 7;
    bool read = parse_size_bytes(row->text, &bytes);
    FAIL_WHERE(bytes != row->bytes || read != (bytes != 7), "%s", row->text);
}

TEST_ROWS(parse_int64__whole_text_only__else_refused_untouched, (const char *text; int64_t value /* 7: refused */),
          {"-12", -12}, {"12a", 7}, {"", 7}, {"99999999999999999999", 7})
{
    int64_t value = 7;
    bool read = parse_int64(row->text, &value);
    FAIL_WHERE(value != row->value || read != (value != 7), "%s", row->text);
}

TEST_ROWS(format_duration__magnitudes__two_units, (int64_t ms; const char *text), {120, "120ms"}, {45200, "45.2s"},
          {200000, "3m20s"}, {3720000, "1h02m"})
{
    char out[32];
    assert_string_equal(format_duration_ms(row->ms, out, sizeof out), row->text);
}

TEST(buffer_json_string__controls_and_bad_bytes__escaped)
{
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_add_json_string(&b, "a\"\\\n\x01\xff\xc3\xa9\x7f", 9);
    assert_string_equal(buffer_text(&b), "\"a\\\"\\\\\\n\\u0001\xEF\xBF\xBD\xc3\xa9\\u007f\"");
}

TEST(buffer_numbers__least_largest_and_shortest__decimal)
{
    static const int64_t values[] = {0, 7, -10, INT64_MAX, INT64_MIN};
    static const double reals[] = {0.1, 2.0, 1e300};
    OWNED_BUFFER b = BUFFER_INIT;
    for (size_t i = 0; i < LENGTH(values); i++, buffer_add_char(&b, ' '))
        buffer_add_int(&b, values[i]);
    for (size_t i = 0; i < LENGTH(reals); i++, buffer_add_char(&b, ' '))
        buffer_add_double(&b, reals[i]);
    assert_string_equal(buffer_text(&b), "0 7 -10 9223372036854775807 -9223372036854775808 0.1 2.0 1e+300 ");
}

TEST(utf8__overlong_and_surrogates__invalid)
{
    assert_int_equal(utf8_first_invalid("ab\xc0\x80", 4), 2);
    assert_int_equal(utf8_first_invalid("\xed\xa0\x80", 3), 0);
    assert_int_equal(utf8_first_invalid("\xf0\x9f\x98\x80", 4), 4);
    assert_int_equal(utf8_first_invalid("\xe2\x82", 2), 0);
}

TEST(suggest__near_and_far__nearest_or_none)
{
    static const char *const words[] = {"timeout", "command", "environment", "Command", "x"};
    assert_string_equal(SUGGEST("tiemout", i, 3, words[i]).near, "timeout");
    assert_null(SUGGEST("zzz", i, 3, words[i]).near);
    /* Nothing of the word would be left. */
    assert_null(SUGGEST("a", i, 1, words[4]).near);
    assert_string_equal(SUGGEST("X", i, 1, words[4]).near, "x");
    assert_string_equal(SUGGEST("Comand", i, 4, words[i]).near, "command");
    assert_true(SUGGEST("Command", i, 4, words[i]).is_same);
}

TEST(error__lines_and_context__kept_and_cut)
{
    struct error e = ERROR_INIT;
    assert_int_equal(error_add_line(&e, ERROR_USAGE, "one"), -1);
    error_add_line(&e, ERROR_USAGE, "two");
    assert_string_equal(e.text, "one\ntwo");
    error_context(&e, "file %d", 3);
    assert_string_equal(e.text, "file 3: one\ntwo");
    assert_int_equal(e.kind, ERROR_USAGE);
    for (int i = 0; i < 10000; i++)
        error_add_line(&e, ERROR_USAGE, "line %d", i);
    assert_true(strlen(e.text) < sizeof e.text);
    assert_non_null(strstr(e.text, "…"));
}

TEST(error__cut_within_a_character__whole_ones_kept)
{
    struct error e = ERROR_INIT;
    char text[sizeof e.text + 100];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        error_set(&e, ERROR_FAILED, "%s", text);
        assert_int_equal(utf8_first_invalid(e.text, strlen(e.text)), strlen(e.text));
        assert_string_equal(e.text + strlen(e.text) - strlen("…"), "…");
        error_add_line(&e, ERROR_FAILED, "%s", "ä");
        assert_int_equal(utf8_first_invalid(e.text, strlen(e.text)), strlen(e.text));
    }
}

TEST(utf8_cut__each_place__at_a_character)
{
    const char *text = "aä€\xF0\x9F\x98\x80z";
    static const size_t left[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    for (size_t most = 0; most < LENGTH(left); most++)
        assert_int_equal(utf8_cut(text, 11, most), left[most]);
    /* Bytes that are no text are cut as asked. */
    assert_int_equal(utf8_cut("\x80\x80\x80\x80\x80\x80\x80\x80", 8, 6), 6);
}

TEST(hash__known_vector__canonical)
{
    char hex[HASH_HEX_BYTES];
    struct hash128 h = hash_bytes("", 0);
    /* XXH3-128 of nothing with seed 0, from the xxHash specification's reference vectors. */
    assert_string_equal(hash_hex(&h, hex), "99aa06d3014798d86001c324468d497f");
}

TEST_ROWS(hash__from_a_prefix__the_first_and_the_last_that_begin_so, (const char *digits, *first, *last),
          {"0a1", "0a100000000000000000000000000000", "0a1fffffffffffffffffffffffffffff"},
          {"", "00000000000000000000000000000000", "ffffffffffffffffffffffffffffffff"},
          {"99AA06D3014798D86001C324468D497F", "99aa06d3014798d86001c324468d497f", "99aa06d3014798d86001c324468d497f"})
{
    char hex[HASH_HEX_BYTES];
    const struct hash128 first = hash_from_prefix(row->digits, false), last = hash_from_prefix(row->digits, true);
    assert_string_equal(hash_hex(&first, hex), row->first);
    assert_string_equal(hash_hex(&last, hex), row->last);
}

TEST(string_list__added_and_taken__terminated_at_each_length)
{
    OWNED_LIST l = STRING_LIST_INIT;
    for (size_t n = 0; n < 9; n++) {
        assert_int_equal(l.count, n);
        assert_true(n == 0 ? l.items == NULL : l.items[n] == NULL);
        char *text = xasprintf("%zu", n);
        assert_int_equal(string_list_find(&l, text), n);
        string_list_add(&l, text);
        assert_int_equal(string_list_find(&l, text), n);
        assert_true(strings_have(l.items, text));
    }
    char **taken = string_list_take(&l);
    assert_string_equal(taken[8], "8");
    assert_null(taken[9]);
    assert_null(l.items);
    strings_free(taken);
    taken = string_list_take(&l);
    assert_null(taken[0]);
    strings_free(taken);
}

TEST(settings__whole_names_alone__among_them)
{
    char *const names[] = {"HOME", "PATH", NULL};
    assert_true(setting_is_among("PATH=/bin", names));
    assert_true(setting_is_among("PATH", names));
    assert_false(setting_is_among("PATHS=/bin", names));
    assert_false(setting_is_among("PAT=/bin", names));
    assert_false(setting_is_among("PATH=/bin", NULL));
    assert_false(strings_have(names, "PATH=/bin"));
}

TEST(path_name__each_form__last_component)
{
    assert_string_equal(path_name("/a/b.toml"), "b.toml");
    assert_string_equal(path_name("b.toml"), "b.toml");
    assert_string_equal(path_name("a/"), "");
}

static int from, to; /* empty files */

static int open_two(void **state)
{
    (void)state;
    from = fileno(tmpfile()), to = fileno(tmpfile());
    return from < 0 || to < 0;
}

static void assert_holds(off_t at, const char *expected)
{
    char got[16] = {0};
    assert_int_equal(pread(to, got, strlen(expected), at), strlen(expected));
    assert_string_equal(got, expected);
}

TEST_WITHIN(file_copy_range__a_part__and_no_more_than_is_there, open_two, NULL)
{
    assert_int_equal(file_write_all(from, "0123456789", 10), 0);
    assert_int_equal(file_copy_range(from, 3, 6, to), 0);
    assert_int_equal(lseek(to, 0, SEEK_END), 3);
    assert_holds(0, "345");
    assert_int_equal(file_copy_range(from, 3, 11, to), -1);
}

TEST_WITHIN(file_copy__holes__stay_holes, open_two, NULL)
{
    enum { SIZE = 64 << 20 };
    struct stat status;
    assert_int_equal(file_copy(from, to), 0);
    assert_int_equal(pwrite(from, "one", 3, 0) + pwrite(from, "two", 3, SIZE), 6);
    assert_int_equal(ftruncate(from, 2 * SIZE), 0);
    assert_int_equal(file_copy(from, to), 0);
    assert_holds(0, "one");
    assert_holds(SIZE, "two");
    assert_int_equal(fstat(to, &status), 0);
    assert_int_equal(status.st_size, 2 * SIZE);
    assert_true(status.st_blocks < SIZE / 512);
}

TEST(buffer_add_quoted__each_quote__doubled)
{
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_add_quoted(&b, "it's \"so\"", '\'');
    buffer_add_quoted(&b, "a\"b", '"');
    assert_string_equal(buffer_text(&b), "'it''s \"so\"'\"a\"\"b\"");
}
