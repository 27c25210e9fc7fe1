/* util: values in a line for the shell, by where they stand. */
#include "unit_test.h"
#include "util/shell.h"

/* "@" in the line is where the value goes. */
static void check(const char *written, const char *value, const char *expected)
{
    struct shell_line line = SHELL_LINE_INIT;
    OWNED_BUFFER out = BUFFER_INIT;
    char *copy = strdup(written), *rest = copy, *part;
    const char *before = NULL;
    while ((part = strsep(&rest, "@"))) {
        if (before)
            shell_add_value(&out, value, shell_line_put(&line, before, part));
        before = part;
        buffer_add_text(&out, part);
        shell_line_read(&line, part);
    }
    assert_string_equal(buffer_text(&out), expected);
    free(copy);
}

TEST(shell_add_value__plain__as_it_is_everywhere)
{
    static const char line[] = "a @ '@' \"@ $(b @)\" `@` # @\n<<E\n@\nE\n@";
    check(line, "x-1.5", "a x-1.5 'x-1.5' \"x-1.5 $(b x-1.5)\" `x-1.5` # x-1.5\n<<E\nx-1.5\nE\nx-1.5");
    check("@", "größe", "größe");
    check("@", "", "''");
}

TEST(shell_add_value__special__quoted_as_its_place_asks)
{
    check("@ x@", "a b", "'a b' x'a b'");
    check("'@'", "it's $x", "'it'\\''s $x'");
    check("\"@\"", "a \"$x\" `y` \\n \\", "\"a \\\"\\$x\\\" \\`y\\` \\n \\\\\"");
    check("\"'@'\" @", "$x", "\"'\\$x'\" '$x'");
    check("\"$(f @) @\"", "$x", "\"$(f '$x') \\$x\"");
    check("$(f \"@\" (@)) @", "$x", "$(f \"\\$x\" ('$x')) '$x'");
    check("`f @` @", "a$x", "`f 'a\\$x'` 'a$x'");
    check("\\' @ \\\" @", "a b", "\\' 'a b' \\\" 'a b'");
    check("f # don't @\n@", "a\nb", "f # don't a b\n'a\nb'");
    check("f a#'b' @", "$", "f a#'b' '$'");
}

/* A name or a sign beside a plain value would take it for a part of itself. */
TEST(shell_add_value__beside_a_name_or_a_sign__kept_apart)
{
    check("i=9; f $i@ \"$i@\" $((i@ + $i@))", "1", "i=9; f $i'1' \"$i${-+}1\" $((i1 + $i${-+}1))");
    check("cat <<E\n$i@\nE", "1", "cat <<E\n$i${-+}1\nE");
    check("f `g $i@` '$i@' \\$i@ $1@ $?@ ${i}@ x@", "1", "f `g $i'1'` '$i1' \\$i1 $11 $?1 ${i}1 x1");
    check("f $i@", "-1", "f $i-1");
    check("f ~@ a~@", "root", "f ~'root' a~'root'");
    check("f @>out x@>out @ >out $((@>1))", "2", "f '2'>out x'2'>out 2 >out $((2>1))");
    check("@ f @ x@", "A=b", "'A=b' f 'A=b' xA=b");
    check("f \\@ \"\\@\"", "$x", "f \\\n'$x' \"\\\\\\$x\"");
    check("f \\@", "x", "f \\x");
}

/* A shell gets the value from such lines, wherever it stands. */
TEST_ROWS(shell_add_value__beside_a_name__arrives, (const char *text), {"i=9; printf %s $i@"},
          {"i=9; printf %s \"$i@\""}, {"i=9; cat <<E\n$i@\nE\n"}, {"i=9; printf %s `echo $i@`"}, {"printf %s 9@>&1"})
{
    struct shell_line line = SHELL_LINE_INIT;
    OWNED_BUFFER out = BUFFER_INIT;
    char *before = strdup(row->text), *after = strchr(before, '@'), got[16] = "";
    *after++ = '\0';
    buffer_add_text(&out, before);
    shell_line_read(&line, before);
    shell_add_value(&out, "1", shell_line_put(&line, before, after));
    buffer_add_text(&out, after);
    FILE *shell = popen(buffer_text(&out), "r");
    assert_non_null(shell);
    (void)!fread(got, 1, sizeof got - 1, shell);
    assert_int_equal(pclose(shell), 0);
    assert_int_equal(strspn(got, "91"), 2);
    free(before);
}

TEST(shell_add_value__here_documents__until_their_ends)
{
    check("cat <<E\n'@'\nE\n@", "$x", "cat <<E\n'\\$x'\nE\n'$x'");
    check("cat <<-'E' @\n@ `\n\tE\n@", "$x", "cat <<-'E' '$x'\n$x `\n\tE\n'$x'");
    check("cat <<E\nE @\nE\n@", "$x", "cat <<E\nE \\$x\nE\n'$x'");
    check("$((1<<2)) @\n@ cat <<<E\n@", "$x", "$((1<<2)) '$x'\n'$x' cat <<<E\n'$x'");
}

/* Deeper than anybody writes: no place is lost, and no byte past the end is touched. */
TEST(shell_line_read__very_deep__ends)
{
    struct shell_line line = SHELL_LINE_INIT;
    for (int i = 0; i < 1000; i++)
        shell_line_read(&line, "$(\"`<<EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE\n");
    shell_line_put(&line, "", "");
    for (int i = 0; i < 1000; i++)
        shell_line_read(&line, ")\"`");
    assert_int_equal(line.depth <= SHELL_DEPTH_MOST, 1);
}
