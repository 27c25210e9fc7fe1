/* util: values in a line for the shell, by where they stand. */
#include "unit_test.h"
#include "util/shell.h"

/* "@" in the line is where the value goes. A plain one stands as it is everywhere. */
TEST_ROWS(shell_add_value__in_a_line__quoted_as_its_place_asks, (const char *written, *value, *expected),
          {"a @ '@' \"@ $(b @)\" `@` # @\n<<E\n@\nE\n@", "x-1.5",
           "a x-1.5 'x-1.5' \"x-1.5 $(b x-1.5)\" `x-1.5` # x-1.5\n<<E\nx-1.5\nE\nx-1.5"},
          {"@", "größe", "größe"}, {"@", "", "''"},
          /* Special ones are quoted. */
          {"@ x@", "a b", "'a b' x'a b'"}, {"'@'", "it's $x", "'it'\\''s $x'"},
          {"\"@\"", "a \"$x\" `y` \\n \\", "\"a \\\"\\$x\\\" \\`y\\` \\n \\\\\""},
          {"\"'@'\" @", "$x", "\"'\\$x'\" '$x'"}, {"\"$(f @) @\"", "$x", "\"$(f '$x') \\$x\""},
          {"$(f \"@\" (@)) @", "$x", "$(f \"\\$x\" ('$x')) '$x'"}, {"`f @` @", "a$x", "`f 'a\\$x'` 'a$x'"},
          {"\\' @ \\\" @", "a b", "\\' 'a b' \\\" 'a b'"}, {"f # don't @\n@", "a\nb", "f # don't a b\n'a\nb'"},
          {"f a#'b' @", "$", "f a#'b' '$'"},
          /* A name or a sign beside a plain value would take it for a part of itself. */
          {"i=9; f $i@ \"$i@\" $((i@ + $i@))", "1", "i=9; f $i'1' \"$i${-+}1\" $((i1 + $i${-+}1))"},
          {"cat <<E\n$i@\nE", "1", "cat <<E\n$i${-+}1\nE"},
          {"f `g $i@` '$i@' \\$i@ $1@ $?@ ${i}@ x@", "1", "f `g $i'1'` '$i1' \\$i1 $11 $?1 ${i}1 x1"},
          {"f $i@", "-1", "f $i-1"}, {"f ~@ a~@", "root", "f ~'root' a~'root'"},
          {"f @>out x@>out @ >out $((@>1))", "2", "f '2'>out x'2'>out 2 >out $((2>1))"},
          {"@ f @ x@", "A=b", "'A=b' f 'A=b' xA=b"}, {"f \\@ \"\\@\"", "$x", "f \\\n'$x' \"\\\\\\$x\""},
          {"f \\@", "x", "f \\x"},
          /* Here documents last until their ends. */
          {"cat <<E\n'@'\nE\n@", "$x", "cat <<E\n'\\$x'\nE\n'$x'"},
          {"cat <<-'E' @\n@ `\n\tE\n@", "$x", "cat <<-'E' '$x'\n$x `\n\tE\n'$x'"},
          {"cat <<E\nE @\nE\n@", "$x", "cat <<E\nE \\$x\nE\n'$x'"},
          {"$((1<<2)) @\n@ cat <<<E\n@", "$x", "$((1<<2)) '$x'\n'$x' cat <<<E\n'$x'"})
{
    struct shell_line line = SHELL_LINE_INIT;
    OWNED_BUFFER out = BUFFER_INIT;
    char *copy = strdup(row->written), *rest = copy, *part;
    const char *before = NULL;
    while ((part = strsep(&rest, "@"))) {
        if (before)
            shell_add_value(&out, row->value, shell_line_put(&line, before, part));
        before = part;
        buffer_add_text(&out, part);
        shell_line_read(&line, part);
    }
    assert_string_equal(buffer_text(&out), row->expected);
    free(copy);
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
