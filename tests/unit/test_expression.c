/* space/expression: names resolved to columns, and what is refused. */
#include "space_fixture.h"

#include "expression/expression.h"
#include "space/space.h"

static const char sweep_text[] = "[[model]]\nlayers = [2, 4]\nname = \"a\"\nshared = 1\n"
                                 "[[parallel_spec]]\ntp = [1, 2]\nshared = 2\n\"zero_optimization.stage\" = [0, 1]\n"
                                 "[derive]\nhalf = \"layers / 2\"\nquarter = \"half / 2\"\n";

static char *resolved(const char *text)
{
    HELD(built) b = build_text(sweep_text);
    struct expression x = {.sql = NULL};
    struct error e = ERROR_INIT;
    char *out;
    if (expression_resolve(&b.space->names, text, UNKNOWN_IS_ERROR, &x, &e) == 0)
        out = strdup(x.sql);
    else
        out = strdup(e.text);
    return out;
}

/* Names become columns, or the first one that is wrong is told. */
TEST_ROWS(resolve__each_text__columns_or_a_hint, (const char *text, *expected),
          {"layers > 2", "(\"model\".\"layers\" > 2)"}, {"parallel_spec.tp*2", "(\"parallel_spec\".\"tp\"*2)"},
          {"model.shared", "(\"model\".\"shared\")"},
          {"zero_optimization.stage = 1", "(\"parallel_spec\".\"zero_optimization.stage\" = 1)"},
          {"\"zero_optimization.stage\" = 1", "(\"parallel_spec\".\"zero_optimization.stage\" = 1)"},
          {"quarter", "(((\"model\".\"layers\" / 2) / 2))"},
          {"CASE WHEN lower('tp''s') IN ('x') THEN true ELSE NULL END",
           "(CASE WHEN lower('tp''s') IN ('x') THEN true ELSE NULL END)"},
          {"1.5e-3 + .5", "(1.5e-3 + .5)"},
          {"CAST(layers AS INTEGER) = tp", "(CAST(\"model\".\"layers\" AS INTEGER) = \"parallel_spec\".\"tp\")"},
          {"cast(tp as text) || layers", "(cast(\"parallel_spec\".\"tp\" as text) || \"model\".\"layers\")"},
          {"name COLLATE nocase = 'A' AND tp",
           "(\"model\".\"name\" COLLATE nocase = 'A' AND \"parallel_spec\".\"tp\")"},
          /* The word behind it is a type; the one after that is a key again. */
          {"CAST(layers AS layers) + layers", "(CAST(\"model\".\"layers\" AS layers) + \"model\".\"layers\")"},
          {"AS + zzz", "unknown key `zzz`"}, {"layres = 2", "unknown key `layres` (did you mean `layers`?)"},
          {"shared = 2", "ambiguous key `shared` (write model.shared or parallel_spec.shared)"},
          {"zzz", "unknown key `zzz`"}, {"layers) OR (1", "there is one closing parenthesis too many"},
          {"(layers", "a parenthesis is not closed"}, {"layers; DROP TABLE x", "`;` has no meaning in an expression"},
          {"layers -- x", "an expression cannot contain comments"},
          {"layers /* x */", "an expression cannot contain comments"}, {"?1", "`?` has no meaning in an expression"},
          {"'open", "a string is not closed"}, {"\"open", "a quoted name is not closed"},
          {"name = adam", "unknown key `adam` (put strings in single quotes: 'adam')"},
          {"name == adam", "unknown key `adam` (put strings in single quotes: 'adam')"}, {"", "it ends too early"},
          {" ", "it ends too early"}, {"layers >= ", "it ends too early"}, {"tp BETWEEN 1 AND", "it ends too early"},
          {"tp NOT NULL", "(\"parallel_spec\".\"tp\" NOT NULL)"})
{
    OWNED char *out = resolved(row->text);
    assert_string_equal(out, row->expected);
}

TEST_ROWS(build__dangerous_expressions__refused_by_the_guard, (const char *require, *refused),
          {"(SELECT 1)", "a subquery is not allowed here"}, {"load_extension('x')", "load_extension"},
          {"randomblob(1000000000)", "the function randomblob is not allowed here"},
          {"random() > 0", "the function random is not allowed here"}, {"writefile('x', 'y')", "writefile"})
{
    char text[512];
    snprintf(text, sizeof text, "[[model]]\nlayers = 1\n[[rule]]\nname = \"r\"\nrequire = \"%s\"\n", row->require);
    struct error e = build_error(text);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_non_null(strstr(e.text, row->refused));
    assert_non_null(strstr(e.text, "test.toml:3:"));
}

TEST(build__several_wrong_expressions__all_at_once_with_places)
{
    struct error e = build_error("[[model]]\nlayers = [1, 2]\n"
                                 "[derive]\nx = \"layrs + 1\"\n"
                                 "[job]\ncommand = [\"run\", \"{lyers}\"]\n"
                                 "[[rule]]\nname = \"r\"\nrequire = \"foo = 1\"\n");
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_non_null(strstr(e.text, "test.toml:4:1: derived key `x`: unknown key `layrs` (did you mean `layers`?)"));
    assert_non_null(strstr(e.text, "unknown placeholder {lyers} (did you mean `layers`?)"));
    assert_non_null(strstr(e.text, "rule `r`: unknown key `foo`"));
}
