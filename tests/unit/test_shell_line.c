/* util: values in a line for the shell, by where they stand. */
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include "util/shell_line.h"

/* "@" in the line is where the value goes. */
static void check(const char *written, const char *value, const char *expected)
{
    struct shell_line line = SHELL_LINE_INIT;
    struct buffer out = BUFFER_INIT;
    char *copy = strdup(written), *rest = copy, *part;
    bool first = true;
    while ((part = strsep(&rest, "@"))) {
        if (!first)
            shell_add_value(&out, value, shell_line_put(&line));
        first = false;
        buffer_add_text(&out, part);
        shell_line_read(&line, part);
    }
    assert_string_equal(buffer_text(&out), expected);
    buffer_free(&out);
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
    shell_line_put(&line);
    for (int i = 0; i < 1000; i++)
        shell_line_read(&line, ")\"`");
    assert_int_equal(line.depth <= SHELL_DEPTH_MOST, 1);
}
