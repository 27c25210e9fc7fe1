/* store/guard: expressions end, and say so. */
#include "database/guard.h"
#include "unit_test.h"

static const char without_end[] =
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < ?1";

static struct stmt *prepare(struct db *db, const char *sql)
{
    struct stmt *s = NULL;
    FAIL_IF(db_prepare(db, sql, &s, &e) < 0);
    return s;
}

static int open_memory(void **state)
{
    struct error e = ERROR_INIT;
    return db_open(NULL, DB_TEMPORARY, (struct db **)state, &e);
}

static int close_memory(void **state)
{
    db_close(*state);
    return 0;
}

TEST_WITHIN(guard_next__without_end__stopped_with_the_sentence, open_memory, close_memory)
{
    struct db *db = *state;
    struct error e = ERROR_INIT;
    struct stmt *s = prepare(db, without_end);
    guard_limit_time(db, 20, "that takes too long");
    stmt_bind_at(s, 1, sql_int(0)); /* no row ever */
    assert_int_equal(guard_next(s, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_string_equal(e.text, "that takes too long");
    stmt_free(s);
    /* A statement that is not guarded goes on. */
    int64_t n = 0;
    assert_int_equal(db_query_int(db, "SELECT 7", NO_VALUES, 0, &n, &e), 0);
    assert_int_equal(n, 7);
}

TEST_WITHIN(guard_next__many_rows__share_the_allowance, open_memory, close_memory)
{
    struct db *db = *state;
    struct error e = ERROR_INIT;
    OWNED_STMT *s = prepare(db, without_end);
    guard_limit_time(db, 20, "that takes too long");
    stmt_bind_at(s, 1, sql_int(INT64_MAX));
    int64_t rows = 0;
    int rc;
    while ((rc = guard_next(s, &e)) > 0)
        rows++;
    assert_int_equal(rc, -1);
    assert_true(rows > 0);
    assert_string_equal(e.text, "that takes too long");
    /* A new allowance is for what comes then. */
    guard_limit_time(db, 100000, "never");
    assert_int_equal(guard_next(s, &e), 1);
}

TEST_WITHIN(guard_next__other_errors__as_stmt_next_says_them, open_memory, close_memory)
{
    struct db *db = *state;
    OWNED_STMT *s = prepare(db, "SELECT abs(-9223372036854775807 - 1)");
    guard_limit_time(db, 100000, "never");
    FAILS_WITH_PART(guard_next(s, &e), "integer overflow");
}

static const char *const columns[] = {"a", "b", "model.name", "it's \"odd\""};
static const char subquery[] = "a subquery is not allowed here", any[] = "";

TEST_ROWS(check_where__each_text__an_expression_over_columns_or_what_is_wrong,
          (const char *text, *refused /* NULL: it is one */), {"a = 1", NULL}, {"a = 1 -- why", NULL},
          {"a = ')' OR b = \"a\"", NULL}, {"(a) IN (1, 2)", NULL}, {"1 --", NULL},
          {"a > 2 AND \"model.name\" LIKE 'x%'", NULL}, {"abs(\"it's \"\"odd\"\"\") < 3 -- all of them", NULL},
          {"0) OR (1", any}, {"0) OR a IN (1", any}, {"a) ORDER BY (b", any}, {"1) UNION SELECT (1", subquery},
          {"1 UNION SELECT 1", any}, {"1 ORDER BY a", any}, {"1; DROP TABLE results", any}, {"1 /* and so on", any},
          {"1, 2", any}, {"", any}, {"c > 2", "no such column: c"}, {"a > (SELECT 1)", subquery},
          {"EXISTS (WITH x AS (SELECT load_extension('x')) SELECT 1 FROM x)", subquery},
          {"load_extension('x')", "the function load_extension is not allowed here"},
          {"a >", "near \")\": syntax error"}, {"a > ?)", "near \")\": syntax error"})
{
    struct error e = ERROR_INIT;
    print_message("%s\n", row->text);
    assert_int_equal(guard_check_where(row->text, columns, 4, &e), row->refused ? -1 : 0);
    if (row->refused)
        assert_int_equal(e.kind, ERROR_USAGE);
    if (row->refused && *row->refused)
        assert_string_equal(e.text, row->refused);
}

TEST_WITHIN(limit_processor__without_end__ended_with_an_error, open_memory, close_memory)
{
    struct db *db = *state;
    int64_t n = 0;
    guard_limit_processor(db, 20);
    struct stmt *s = prepare(db, without_end);
    stmt_bind_at(s, 1, sql_int(0));
    FAILS_WITH(stmt_next(s, &e), "an expression failed: interrupted: it would take too long; ask for less");
    stmt_free(s);
    guard_limit_processor(db, 0);
    FAIL_IF(db_query_int(db, "SELECT 7", NO_VALUES, 0, &n, &e));
    assert_int_equal(n, 7);
}

/* Calls of one function each that would take seconds to hours: nothing looks at a limit while one runs. */
TEST_WITHIN(limit_values__endless_calls_long_texts_and_patterns__refused, open_memory, close_memory)
{
    struct db *db = *state;
    ROWS(cases, const char *sql, *said) = {
        {"SELECT trim(printf('%.*c', 60000, 'a'), printf('%.*c', 6000, 'b') || 'a')", ""},
        {"SELECT ltrim(printf('%.*c', 60000, 'a'), printf('%.*c', 6000, 'b') || 'a')", ""},
        {"SELECT rtrim(printf('%.*c', 60000, 'a'), printf('%.*c', 6000, 'b') || 'a')", ""},
        {"SELECT hex(printf('%.*c', 50000, 'a'))", ""},
        {"SELECT replace(printf('%.*c', 60000, 'a'), 'a', 'aa')", ""},
        {"SELECT quote(printf('%.*c', 60000, char(39)))", ""},
        {"SELECT 'a' LIKE replace(printf('%.*c', 1000, 'a'), 'a', '%_')", ""},
        {"SELECT 'a' LIKE printf('%.*c', 1001, '%') ESCAPE '!'", ""},
        {"SELECT length(replace(printf('%*d', 1000, 1), ' ', printf('%*d', 1000, 1)))", "64 KiB"},
        {"SELECT 'a' LIKE printf('%*d', 1001, 1)", "pattern too complex"},
        {"SELECT 'a' GLOB printf('%*d', 1001, 1)", "pattern too complex"},
    };
    guard_limit_values(db);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct error e = ERROR_INIT;
        OWNED_STMT *s = prepare(db, cases[i].sql);
        if (stmt_next(s, &e) >= 0 || !strstr(e.text, cases[i].said))
            fail_msg("not refused: %s: %s", cases[i].sql, e.text);
    }
    int64_t yes = 0;
    FAIL_IF(
        db_query_int(db, "SELECT 'abc' LIKE 'a%' AND length(printf('%*d', 60000, 1)) = 60000", NO_VALUES, 0, &yes, &e));
    assert_int_equal(yes, 1);
}
