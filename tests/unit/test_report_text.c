/* report: text for people: escapes, columns, cuts, rounded numbers. */
#include <locale.h>

#include "report/saying.h"
#include "report/text.h"
#include "unit_test.h"

TEST_ROWS(printable__acting_characters_and_long_texts__shown_as_escapes_and_cut,
          (const char *text; size_t length, limit; bool ascii; const char *expected; size_t columns),
          {"a\nb\tc\rd", 7, 0, false, "a\\nb\\tc\\rd", 10}, {"\0\x1B[31m\x7F", 7, 0, false, "\\x00\\x1b[31m\\x7f", 16},
          {"\xC2\x9B"
           "2J",
           4, 0, false, "\\u009b2J", 8}, /* C1 CSI */
          {"\xE2\x80\xAE"
           "x\xE2\x81\xA6",
           7, 0, false, "\\u202ex\\u2066", 13},
          {"\xF3\xA0\x81\x81", 4, 0, false, "\\U000e0041", 10},                     /* an invisible tag */
          {"\xED\xA0\x80", 3, 0, false, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3}, /* a surrogate */
          {"abcdef", 6, 6, false, "abcdef", 6}, {"abcdefg", 7, 6, false, "abcde…", 6},
          {"日本語", 9, 5, false, "日本…", 5}, {"日本語", 9, 4, false, "日…", 3}, {"ab\n\n", 4, 5, false, "ab\\n…", 5},
          {"ab\n\n", 4, 4, false, "ab…", 3}, /* never within an escape */
          {"abcdef", 6, 5, true, "ab...", 5}, {"abcdef", 6, 2, true, "..", 2}, {"abc", 3, 1, false, "…", 1},
          {"", 0, 3, false, "", 0})
{
    OWNED_BUFFER out = BUFFER_INIT;
    buffer_add_char(&out, '>');
    assert_int_equal(text_add_printable(&out, row->text, row->length, row->limit, row->ascii), row->columns);
    assert_string_equal(buffer_text(&out) + 1, row->expected);
}

TEST(printable__flood_of_combining_marks__bytes_bounded)
{
    OWNED_BUFFER flood = BUFFER_INIT, out = BUFFER_INIT;
    for (int i = 0; i < 100000; i++)
        buffer_add_text(&flood, "\xCC\x81");
    size_t columns = text_add_printable(&out, flood.data, flood.length, 10, false);
    assert_true(columns <= 10);
    assert_true(out.length <= 170);
}

TEST_ROWS(width__known_characters__columns, (const char *text; size_t width), {"a", 1}, {"é", 1}, {"\u00ad", 1},
          {"\u0301", 0}, {"\u0300", 0}, {"\u036f", 0}, {"\u0370", 1}, {"\u1100", 2}, {"\u1161", 0}, {"\u200b", 0},
          {"\u200d", 0}, {"…", 1}, {"\u3042", 2}, {"\uac00", 2}, {"\uff1d", 2}, {"\ufffd", 1}, {"\U0001f600", 2},
          {"\U00020000", 2}, {"\U000e01ef", 0}, {"\U0010ffff", 1})
{
    assert_string_equal(setlocale(LC_CTYPE, NULL), "C");
    assert_int_equal(text_columns(row->text, strlen(row->text)), row->width);
}

TEST_ROWS(rounded__magnitudes__six_digits_and_whole_integers, (double value; const char *text), {0, "0"},
          {12.3456789, "12.3457"}, {99999.4, "99999.4"}, {99999.6, "100000"}, {1234567.8, "1234568"},
          {-1234567.8, "-1234568"}, {1e15, "1e+15"}, {0.00001234, "1.234e-05"}, {NAN, "NaN"}, {-INFINITY, "-Infinity"},
          {2, "2"})
{
    OWNED_BUFFER out = BUFFER_INIT;
    text_add_rounded(&out, row->value);
    assert_string_equal(buffer_text(&out), row->text);
}

TEST_ROWS(amount__magnitudes__as_people_write_them, (double value; const char *text), {0, "0"}, {5e-5, "under 0.001"},
          {0.0758, "0.0758"}, {12.34, "12.3"}, {999.4, "999"}, {1234.5, "1,234"}, {1e6, "1,000,000"}, {NAN, "NaN"})
{
    OWNED_BUFFER out = BUFFER_INIT;
    text_add_amount(&out, row->value);
    assert_string_equal(buffer_text(&out), row->text);
}

TEST(valid__bad_bytes__each_replaced)
{
    OWNED_BUFFER out = BUFFER_INIT;
    text_add_valid(&out,
                   "\xE2\x82"
                   "a\0\xFF",
                   5);
    assert_int_equal(out.length, 11);
    assert_memory_equal(out.data,
                        "\xEF\xBF\xBD\xEF\xBF\xBD"
                        "a\0\xEF\xBF\xBD",
                        11);
}

static void check_terminal(const char *text, struct text_terminal terminal, const char *expected)
{
    OWNED_BUFFER out = BUFFER_INIT;
    text_add_terminal(&out, text, strlen(text), terminal);
    assert_string_equal(buffer_text(&out), expected);
}

TEST(terminal__text_of_anybody__lines_stay_and_nothing_acts)
{
    const struct text_terminal plain = {false, false}, colour = {false, true}, ascii = {true, false};
    check_terminal("a\n\tb\r\nc", plain, "a\n\tb\nc");
    check_terminal("50%\r60%", plain, "50%\\r60%");
    check_terminal("\x1b]0;title\a \x1b[2J \xE2\x80\xAE", colour, "\\x1b]0;title\\x07 \\x1b[2J \\u202e");
    check_terminal("\x1b[5m\x1b[31", colour, "\\x1b[5m\\x1b[31"); /* no style of ours */
    check_terminal("… × é", plain, "… × é");
    check_terminal("… × é", ascii, "... x \\u00e9");
}

TEST(terminal__styles__with_colour_only)
{
    OWNED_BUFFER out = BUFFER_INIT;
    text_add_styled(&out, text_state_style("ok"), "ok");
    text_add_styled(&out, text_state_style("oom"), " oom");
    text_add_styled(&out, text_state_style("state"), " state");
    check_terminal(buffer_text(&out), (struct text_terminal){false, true},
                   "\x1b[32mok\x1b[0m\x1b[31m oom\x1b[0m state");
    check_terminal(buffer_text(&out), (struct text_terminal){false, false}, "ok oom state");
}

/* SQLite's printf says 0.13 and 3. */
TEST_ROWS(say__values_of_each_kind__as_printf_and_text_have_them, (const char *text, *expected),
          {"say('%.2f %.0f%% %+.1f', 0.125, 2.5, 1)", "0.12 2% +1.0"},
          {"say('%-5s|%5d|%g', 'a', 12, NULL)", "a    |   12|nan"},
          {"say('%.2g %.3g %.3g %.2g', 250, 1234567.8, 999.7, 0.012)", "250 1234568 1000 0.012"},
          {"say('%B, %t, %r', 1572864, 90000, 1234567.5)", "1.5 MiB, 1m30s, 1234568"},
          {"say('%l; %3p', 'a' || char(10) || 'b', 'abcd')", "a b; ab\xe2\x80\xa6"},
          {"told(', mean ', 0.5) || told(', ', NULL) || told(' ', 'a' || char(9))", ", mean 0.5 a\\t"})
{
    HELD_AT(db) *db = NULL;
    FAIL_IF(db_open(NULL, DB_TEMPORARY, &db, &e) < 0 || saying_add_functions(db, &e) < 0);
    OWNED char *sql = xasprintf("SELECT %s", row->text), *text = NULL;
    FAIL_IF(db_query_text(db, sql, NO_VALUES, &text, &e));
    assert_string_equal(text, row->expected);
}
