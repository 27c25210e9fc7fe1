/* space/expression: names resolved to columns, and what is refused. */
#include "space_fixture.h"

#include <stdio.h>

#include "expression/expression.h"
#include "space/space.h"

static const char sweep_text[] = "[[model]]\nlayers = [2, 4]\nname = \"a\"\nshared = 1\n"
                                 "[[parallel_spec]]\ntp = [1, 2]\nshared = 2\n\"zero_optimization.stage\" = [0, 1]\n"
                                 "[derive]\nhalf = \"layers / 2\"\nquarter = \"half / 2\"\n";

static char *resolved(const char *text)
{
    struct built b = build_text(sweep_text);
    struct expression x = EXPRESSION_INIT;
    struct error e = ERROR_INIT;
    char *out;
    if (expression_resolve(&b.space->names, text, UNKNOWN_IS_ERROR, &x, &e) == 0)
        out = strdup(x.sql);
    else
        out = strdup(e.text);
    expression_free(&x);
    built_free(&b);
    return out;
}

static void check(const char *text, const char *expected)
{
    char *out = resolved(text);
    assert_string_equal(out, expected);
    free(out);
}

static void resolve__bare_and_qualified_keys__columns(void **state)
{
    (void)state;
    check("layers > 2", "(\"model\".\"layers\" > 2)");
    check("parallel_spec.tp*2", "(\"parallel_spec\".\"tp\"*2)");
    check("model.shared", "(\"model\".\"shared\")");
}

static void resolve__dotted_key__one_column(void **state)
{
    (void)state;
    check("zero_optimization.stage = 1", "(\"parallel_spec\".\"zero_optimization.stage\" = 1)");
    check("\"zero_optimization.stage\" = 1", "(\"parallel_spec\".\"zero_optimization.stage\" = 1)");
}

static void resolve__derived_keys__written_out(void **state)
{
    (void)state;
    check("quarter", "(((\"model\".\"layers\" / 2) / 2))");
}

static void resolve__strings_functions_keywords__left_alone(void **state)
{
    (void)state;
    check("CASE WHEN lower('tp''s') IN ('x') THEN true ELSE NULL END",
          "(CASE WHEN lower('tp''s') IN ('x') THEN true ELSE NULL END)");
    check("1.5e-3 + .5", "(1.5e-3 + .5)");
}

static void resolve__type_or_collation__no_key(void **state)
{
    (void)state;
    check("CAST(layers AS INTEGER) = tp", "(CAST(\"model\".\"layers\" AS INTEGER) = \"parallel_spec\".\"tp\")");
    check("cast(tp as text) || layers", "(cast(\"parallel_spec\".\"tp\" as text) || \"model\".\"layers\")");
    check("name COLLATE nocase = 'A' AND tp", "(\"model\".\"name\" COLLATE nocase = 'A' AND \"parallel_spec\".\"tp\")");
    /* The word behind it is a type; the one after that is a key again. */
    check("CAST(layers AS layers) + layers", "(CAST(\"model\".\"layers\" AS layers) + \"model\".\"layers\")");
    check("AS + zzz", "unknown key `zzz`");
}

static void resolve__unknown_and_ambiguous__hint(void **state)
{
    (void)state;
    check("layres = 2", "unknown key `layres` (did you mean `layers`?)");
    check("shared = 2", "ambiguous key `shared` (write model.shared or parallel_spec.shared)");
    check("zzz", "unknown key `zzz`");
}

static void resolve__unfit_text__refused(void **state)
{
    (void)state;
    check("layers) OR (1", "a closing parenthesis too many");
    check("(layers", "a parenthesis is not closed");
    check("layers; DROP TABLE x", "`;` has no meaning in an expression");
    check("layers -- x", "comments have no place in an expression");
    check("layers /* x */", "comments have no place in an expression");
    check("?1", "`?` has no meaning in an expression");
    check("'open", "a string does not end");
    check("\"open", "a quoted name does not end");
}

static void build__dangerous_expressions__refused_by_the_guard(void **state)
{
    (void)state;
    static const struct {
        const char *require, *refused;
    } cases[] = {
        {"(SELECT 1)", "a subquery may not be used here"},
        {"load_extension('x')", "load_extension"},
        {"randomblob(1000000000)", "the function randomblob may not be used here"},
        {"random() > 0", "the function random may not be used here"},
        {"writefile('x', 'y')", "writefile"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "[[model]]\nlayers = 1\n[[rule]]\nname = \"r\"\nrequire = \"%s\"\n",
                 cases[i].require);
        struct error e = build_error(text);
        assert_int_equal(e.kind, ERROR_USAGE);
        assert_non_null(strstr(e.text, cases[i].refused));
        assert_non_null(strstr(e.text, "test.toml:3:"));
    }
}

static void build__several_wrong_expressions__all_at_once_with_places(void **state)
{
    (void)state;
    struct error e = build_error("[[model]]\nlayers = [1, 2]\n"
                                 "[derive]\nx = \"layrs + 1\"\n"
                                 "[job]\ncommand = [\"run\", \"{lyers}\"]\n"
                                 "[[rule]]\nname = \"r\"\nrequire = \"foo = 1\"\n");
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_non_null(strstr(e.text, "test.toml:4:1: derived key `x`: unknown key `layrs` (did you mean `layers`?)"));
    assert_non_null(strstr(e.text, "unknown placeholder {lyers} (did you mean `layers`?)"));
    assert_non_null(strstr(e.text, "rule `r`: unknown key `foo`"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolve__bare_and_qualified_keys__columns),
        cmocka_unit_test(resolve__dotted_key__one_column),
        cmocka_unit_test(resolve__derived_keys__written_out),
        cmocka_unit_test(resolve__strings_functions_keywords__left_alone),
        cmocka_unit_test(resolve__type_or_collation__no_key),
        cmocka_unit_test(resolve__unknown_and_ambiguous__hint),
        cmocka_unit_test(resolve__unfit_text__refused),
        cmocka_unit_test(build__dangerous_expressions__refused_by_the_guard),
        cmocka_unit_test(build__several_wrong_expressions__all_at_once_with_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
