/* run: lines of any file, and patterns over them. */
#include <regex.h>
#include <sys/stat.h>

#include "pattern/line_pattern.h"
#include "unit_test.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/line_reader.h"

static void put_bytes(const void *bytes, size_t n)
{
    FAIL_IF(file_write_atomic("lines", bytes, n, &e));
}

static void assert_lines(int64_t bytes_most, const char *const *lines)
{
    HELD_AT(line_reader) *r = line_reader_open("lines", bytes_most);
    assert_non_null(r);
    for (; *lines; lines++) {
        const char *line = line_reader_next(r);
        assert_non_null(line);
        assert_string_equal(line, *lines);
    }
    assert_null(line_reader_next(r));
    assert_null(line_reader_next(r));
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(line_reader__line_ends__each_kind_ends_a_line)
{
    put_bytes("a\nb\r\nc\rd", 8);
    assert_lines(0, LINES("a", "b", "", "c", "d"));
    put_bytes("\n\n", 2);
    assert_lines(0, LINES("", ""));
    put_bytes("last\n", 5);
    assert_lines(0, LINES("last"));
}

TEST(line_reader__empty_file__no_line)
{
    put_bytes("", 0);
    assert_lines(0, (const char *const[]){NULL});
}

TEST(line_reader__nul_bytes__blanks)
{
    put_bytes("a\0\0b\n\0", 6);
    assert_lines(0, LINES("a  b", " "));
}

TEST(line_reader__line_over_the_bound__cut_and_the_next_one_whole)
{
    size_t n = 3 * LINE_BYTES_MOST;
    OWNED char *text = xmalloc(n + 6), *cut = xmalloc(LINE_BYTES_MOST + 1);
    memset(text, 'x', n);
    memcpy(text + n, "\nnext\n", 6);
    memset(cut, 'x', LINE_BYTES_MOST);
    cut[LINE_BYTES_MOST] = '\0';
    put_bytes(text, n + 6);
    assert_lines(0, LINES(cut, "next"));
}

/* Every length around the block's: a line end may be the last or the first byte of a block. */
TEST(line_reader__line_end_at_block_border__no_line_lost)
{
    OWNED char *text = xmalloc(LINE_BYTES_MOST + 8);
    for (int around = -3; around <= 3; around++) {
        size_t n = (size_t)(LINE_BYTES_MOST + around);
        memset(text, 'y', n);
        memcpy(text + n, "\nend", 4);
        put_bytes(text, n + 4);
        HELD_AT(line_reader) *r = line_reader_open("lines", 0);
        assert_int_equal(strlen(line_reader_next(r)), n < LINE_BYTES_MOST ? n : LINE_BYTES_MOST);
        assert_string_equal(line_reader_next(r), "end");
        assert_null(line_reader_next(r));
    }
}

TEST(line_reader__larger_than_wanted__head_and_tail_apart)
{
    put_bytes("head1\nhead2\nmiddle\nmiddle\ntail1\ntail2\n", 38);
    assert_lines(24, LINES("head1", "head2", "", "tail1", "tail2"));
    assert_lines(20, LINES("head1", "head", "il1", "tail2"));
    assert_lines(38, LINES("head1", "head2", "middle", "middle", "tail1", "tail2"));
}

TEST(line_reader__no_regular_file__none)
{
    assert_null(line_reader_open(NULL, 0));
    assert_null(line_reader_open("/no/such/file", 0));
    assert_null(line_reader_open("/tmp", 0));
    assert_null(line_reader_open("/dev/zero", 0));
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_null(line_reader_open("fifo", 0)); /* and does not wait for a writer */
}

/* --- patterns --- */

#define NOTHING ((const char *const[]){NULL})

TEST_ROWS(line_pattern__what_every_match_holds__needles, (const char *pattern, *const *needles),
          {"samples/s: ([0-9.]+)", LINES("samples/s: ")},
          {"torch\\.(cuda\\.)?OutOfMemoryError", LINES("OutOfMemoryError")}, {"^loss=", LINES("loss=")},
          {"abcde+f", LINES("abcde")}, {"x]yzw", LINES("x]yzw")}, {"[]abc]defg", LINES("defg")},
          {"[^][:alpha:]x]defg", LINES("defg")}, {"one|three", LINES("one", "three")}, {"(a|b)ccc", LINES("ccc")},
          {"((nested)|[)])tail", LINES("tail")}, {"(?:train|eval) loss (\\d+)", LINES(" loss ")},
          /* Nothing is certain. */
          {"abc?", NOTHING}, {"(abcd)", NOTHING}, {"(abcd)?", NOTHING}, {"abcd|.*", NOTHING}, {"a.b.c", NOTHING},
          {"\\<\\w\\>", NOTHING}, {"ab{0,3}c", NOTHING}, {"x{2}", NOTHING}, {"caf\xC3\xA9?", LINES("caf")})
{
    HELD(line_pattern) p;
    char why[256];
    assert_int_equal(line_pattern_compile(&p, row->pattern, why), 0);
    size_t i = 0;
    for (; row->needles[i]; i++) {
        assert_true(i < p.needle_count);
        assert_string_equal(p.needles[i], row->needles[i]);
    }
    assert_int_equal(p.needle_count, i);
}

static void assert_same_as_regexec(const char *pattern, const char *line)
{
    enum { GROUPS = 5 };
    HELD(line_pattern) p;
    regex_t regex;
    char why[256] = "";
    struct text_range have[GROUPS];
    regmatch_t want[GROUPS];
    FAIL_WHERE(line_pattern_compile(&p, pattern, why) != 0, "%s: %s", pattern, why);
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED), 0);
    assert_int_equal(p.group_count, regex.re_nsub);
    bool matches = regexec(&regex, line, GROUPS, want, 0) == 0;
    if (line_pattern_match(&p, line, GROUPS, have) != matches)
        fail_msg("`%s` and `%s`: regexec says %d", pattern, line, matches);
    for (size_t i = 0; matches && i < GROUPS; i++)
        if (have[i].begin != want[i].rm_so || have[i].end != want[i].rm_eo)
            fail_msg("`%s` and `%s`: group %zu is from %td to %td, not %d to %d", pattern, line, i, have[i].begin,
                     have[i].end, want[i].rm_so, want[i].rm_eo);
    regfree(&regex);
}

/* Each pattern over each line. */
TEST(line_pattern__any_pattern__same_answer_as_regexec)
{
    OWNED char **patterns =
        parts_of("abc ab?c a(b|c)d abc|def abcd* [a-c]{2}d abc{0}d ^abc$ a\\.b (abc)+d ab+c*d? abc(def)?ghi x| "
                 "[[:digit:]]+abc \\(abc\\) a+b+c+ (ab|cd)(ef|gh)ij a{1,2}bcd abc\\|def a|ab|abc (a|ab)c? a** "
                 "(ab)+? a{2}{2} b{,2}c []x] [^]x]+ [\\.] [a\\] a) ^^a () (|a)b a||b \\<abc\\> \\bdef c\\B \\w+ "
                 "\\W \\S+ \\s [[:alpha:]]+ [[.a.]-c]+ [[=b=]] [a-] [+--] } \\{ \\q \\`a c\\' $ a$|b (.*)c "
                 "([a-c]*)(.*) (\\(|[|])",
                 " ");
    static const char *const lines[] = {"",       "abc",       "ac",      "abd",   "acd",    "def",
                                        "xabcx",  "abcd",      "abd",     "a.b",   "axb",    "abcabcd",
                                        "abcghi", "abcdefghi", "1abc",    "(abc)", "aabbcc", "abefij",
                                        "cdghij", "aabcd",     "abc|def", "ababd", "bad",    "abx",
                                        "x y",    "a\\b",      "{q}",     "-+,",   "caf",    "bbc"};
    for (char **pattern = patterns; *pattern; pattern++)
        for (size_t j = 0; j < LENGTH(lines); j++)
            assert_same_as_regexec(*pattern, lines[j]);
}

/* The C library reads these as a plain "d", a backslash or an error. */
TEST_ROWS(line_pattern__as_in_python__means_the_same, (const char *pattern, *line, *group),
          {"loss: (\\d+)", "loss: ddd, loss: 25", "25"}, {"(\\D+)", "12ab3", "ab"},
          {"loss: ([\\d.eE+-]+)", "loss: 2.5e-3,", "2.5e-3"}, {"([^\\s,]+)$", "a b,c-d", "c-d"},
          {"name=([\\w.-]+)", "name=a_1.b-c\\d", "a_1.b-c"}, {"(?:train|eval) loss ([\\d.]+)", "eval loss 0.5", "0.5"})
{
    HELD(line_pattern) p;
    struct text_range have[2];
    char why[256] = "";
    FAIL_WHERE(line_pattern_compile(&p, row->pattern, why) != 0, "%s: %s", row->pattern, why);
    assert_int_equal(p.group_count, 1);
    FAIL_WHERE(!line_pattern_match(&p, row->line, 2, have), "`%s` does not match `%s`", row->pattern, row->line);
    assert_int_equal(have[1].end - have[1].begin, strlen(row->group));
    assert_memory_equal(row->line + have[1].begin, row->group, strlen(row->group));
}

TEST(line_pattern__not_a_pattern__said_why)
{
    struct line_pattern p;
    char why[256] = "";
    OWNED char **others =
        parts_of("a(b *a a|* (+) ^* {2} a{ a{x} a{1,2 [a [[:alpha:] a\\ (a)\\1 [[:nonsense:]] a{2,1} [c-a] "
                 "((a{999}){999}){999}",
                 " ");
    for (char **other = others; *other; other++) {
        why[0] = '\0';
        FAIL_WHERE(line_pattern_compile(&p, *other, why) == 0, "`%s` is a pattern", *other);
        assert_string_not_equal(why, "");
    }
}

TEST(line_pattern__bytes_that_are_no_text__as_any_character)
{
    struct line_pattern p;
    struct text_range groups[2];
    char why[256];
    assert_int_equal(line_pattern_compile(&p, "^name .* loss ([0-9]+)$", why), 0);
    assert_true(line_pattern_match(&p, "name \xE9t\xE9 loss 12", 2, groups));
    assert_int_equal(groups[1].begin, 14);
    assert_int_equal(groups[1].end, 16);
    line_pattern_free(&p);
    assert_int_equal(line_pattern_compile(&p, "^caf\xC3\xA9?$", why), 0);
    assert_true(line_pattern_match(&p, "caf", 0, NULL));
    line_pattern_free(&p);
}

TEST(line_pattern__within_a_text__ends_are_those_of_the_text)
{
    HELD(line_pattern) p;
    char why[256];
    assert_int_equal(line_pattern_compile(&p, "^b|b$|\\bc", why), 0);
    assert_false(line_pattern_match_within(&p, "abba", (struct text_range){1, 3}, 0, NULL));
    assert_true(line_pattern_match_within(&p, "bab", (struct text_range){1, 3}, 0, NULL));
    assert_false(line_pattern_match_within(&p, "bcb ", (struct text_range){1, 3}, 0, NULL));
}

/* With a matcher that tries one way after another, each of these takes years. */
TEST(line_pattern__pathological__linear)
{
    static const char *const patterns[] = {"(x+x+)+y", "(x|xx)*y", "(x*)*y", "((x?){50}x{50})+y", "(.*)(.*)(.*)(.*)y$"};
    OWNED char *line = xmalloc(60001);
    char why[256];
    memset(line, 'x', 60000);
    line[60000] = '\0';
    const int64_t began_ms = clock_monotonic_ms();
    for (size_t i = 0; i < LENGTH(patterns); i++) {
        HELD(line_pattern) p;
        struct text_range groups[3];
        assert_int_equal(line_pattern_compile(&p, patterns[i], why), 0);
        assert_false(line_pattern_match(&p, line, 3, groups));
    }
    assert_in_range(clock_monotonic_ms() - began_ms, 0, 5000);
}

TESTS_APART()
