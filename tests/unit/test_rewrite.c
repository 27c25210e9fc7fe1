/* space/rewrite: what is copied, what is replaced, what is refused. */
#include "expression/rewrite.h"
#include "unit_test.h"

/* "bad" is refused; others stand in angle brackets. */
static int name(void *context, const char *text, bool quoted, struct buffer *sql, struct error *e)
{
    (void)context;
    if (strcmp(text, "bad") == 0)
        return error_set(e, ERROR_USAGE, "no bad");
    if (!quoted && rewrite_is_word_of_sql(text))
        buffer_add_text(sql, text);
    else
        buffer_printf(sql, quoted ? "<<%s>>" : "<%s>", text);
    return 0;
}

static int call(void *context, const char *text, bool empty, struct buffer *sql, struct error *e)
{
    (void)context;
    if (strcmp(text, "bad") == 0)
        return error_set(e, ERROR_USAGE, "no bad function");
    buffer_printf(sql, empty ? "%s_empty(" : "%s_full(", text);
    return 0;
}

static void check(const char *text, bool calls, const char *expected)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    struct error e = ERROR_INIT;
    const struct rewriter r = {name, calls ? call : NULL, NULL};
    int rc = rewrite_expression(text, &r, &sql, &e);
    assert_string_equal(rc ? e.text : buffer_text(&sql), expected);
    if (rc)
        assert_int_equal(e.kind, ERROR_USAGE);
}

TEST_ROWS(rewrite__names_and_quotes__replaced, (const char *text; const char *expected), {"a+1", "(<a>+1)"},
          {"a.b . c", "(<a.b> . <c>)"}, {"\"a\"\"b\".[c d]", "(<<a\"b.c d>>)"},
          {"NOT a AND true", "(NOT <a> AND true)"}, {"'a' || 'b''c' || 1e-3", "('a' || 'b''c' || 1e-3)"})
{
    check(row->text, true, row->expected);
}

TEST(rewrite__calls__name_and_parenthesis_replaced)
{
    check("f(a)", true, "(f_full(<a>))");
    check("f ( ) + g(h())", true, "(f_empty( ) + g_full(h_empty()))");
    check("a IN (1, 2)", true, "(<a> IN (1, 2))");
    check("f(a)", false, "(f(<a>))");
}

TEST_ROWS(rewrite__refused__reason, (const char *text; const char *expected), {"bad", "no bad"},
          {"bad(1)", "no bad function"}, {"f(a", "a parenthesis is not closed"},
          {"f(a))", "there is one closing parenthesis too many"}, {"a -- b", "an expression cannot contain comments"},
          {"a; b", "`;` has no meaning in an expression"}, {"?1", "`?` has no meaning in an expression"},
          {"'a", "a string is not closed"}, {"\"a", "a quoted name is not closed"})
{
    check(row->text, true, row->expected);
}

TEST(rewrite__too_long__refused)
{
    OWNED char *text = malloc(REWRITE_LONGEST + 2);
    memset(text, '1', REWRITE_LONGEST + 1);
    text[REWRITE_LONGEST + 1] = '\0';
    check(text, true, "the expression is longer than 262144 bytes when its derived keys are written out");
}
