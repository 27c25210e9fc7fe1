/* cli: words as a shell reads them. */
#include "unit_test.h"
#include "util/shell.h"

static void check_word(const char *word, const char *expected)
{
    OWNED_BUFFER b = BUFFER_INIT;
    shell_add_word(&b, word);
    assert_string_equal(buffer_text(&b), expected);
}

TEST_ROWS(shell_add_word__any_text__one_word, (const char *text; const char *expected), {"--lr=1e-3", "--lr=1e-3"},
          {"/a/b.c:d,e@f%g+h", "/a/b.c:d,e@f%g+h"}, {"", "''"}, {"two words", "'two words'"}, {"it's", "'it'\\''s'"},
          {"$HOME", "'$HOME'"}, {"a\nb", "'a\nb'"}, {"~", "'~'"}, {"*", "'*'"}, {"#x", "'#x'"})
{
    check_word(row->text, row->expected);
}

#define WORDS(...) ((char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void check_command(char *const *environment, char *const *command, const char *expected)
{
    OWNED_BUFFER b = BUFFER_INIT;
    shell_add_command(&b, environment, command);
    assert_string_equal(buffer_text(&b), expected);
}

TEST(shell_add_command__settings__before_the_command)
{
    check_command(WORDS(), WORDS("sh", "-c", "echo a"), "sh -c 'echo a'");
    check_command(WORDS("A=1", "_b2=", "C=x y=z"), WORDS("run"), "A=1 _b2='' C='x y=z' run");
}

TEST(shell_add_command__names_no_shell_takes__through_env)
{
    check_command(WORDS("A=1", "a.b=2 3"), WORDS("run"), "env A=1 'a.b=2 3' run");
    check_command(WORDS("2A=1"), WORDS("run"), "env 2A=1 run");
}

TEST(shell_add_command__program_like_a_setting__quoted)
{
    check_command(WORDS(), WORDS("A=1", "A=1"), "'A=1' A=1");
}

static void check_split(const char *line, char *const *expected)
{
    OWNED_LIST words = STRING_LIST_INIT;
    FAIL_IF(shell_split(line, &words, &e));
    for (size_t i = 0; i < words.count; i++) {
        assert_non_null(expected[i]);
        assert_string_equal(words.items[i], expected[i]);
    }
    assert_null(expected[words.count]);
}

TEST(shell_split__quotes_and_backslashes__as_a_shell)
{
    check_split("", WORDS());
    check_split(" \t\n", WORDS());
    check_split(" python3  train.py\t--a=1\n", WORDS("python3", "train.py", "--a=1"));
    check_split("sh -c 'echo \"a b\" \\n' x", WORDS("sh", "-c", "echo \"a b\" \\n", "x"));
    check_split("a\"b c\"'d e'f\\ g", WORDS("ab cd ef g"));
    check_split("'' \"\"", WORDS("", ""));
    check_split("\"\\\"\\$x\\n\" \\'", WORDS("\"$x\\n", "'"));
    check_split("a|b >c $d *", WORDS("a|b", ">c", "$d", "*"));
}

TEST(shell_split__quote_left_open__said)
{
    OWNED_LIST words = STRING_LIST_INIT;
    struct error e = ERROR_INIT;
    assert_int_equal(shell_split("it's", &words, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_string_equal(e.text, "it's: a quote is not closed");
    assert_int_equal(shell_split("a \"b\\\"", &words, &e), -1);
}
