/* database/db: queries that are kept after their end run again as if they were new. */
#include "database/sqlite.h"
#include "database_fixture.h"

static const char numbers[] = "SELECT n FROM number WHERE n > ?1 ORDER BY n";

static int compiled;

/* SQLite asks once for each SELECT that it compiles. */
static int count(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)context, (void)a, (void)b, (void)c, (void)d;
    compiled += action == SQLITE_SELECT;
    return SQLITE_OK;
}

static int enter(void **state)
{
    struct db *db = NULL;
    FAIL_IF(db_open(NULL, DB_TEMPORARY, &db, &e));
    must(db, "CREATE TABLE number (n); INSERT INTO number VALUES (1), (2), (3)");
    sqlite3_set_authorizer(db->handle, count, NULL);
    compiled = 0;
    *state = db;
    return 0;
}

/* The sum of the numbers above `least`; adds `again` of those above each of them. */
static int64_t sum_above(struct db *db, int64_t least, bool again)
{
    struct error e = ERROR_INIT;
    struct stmt *s = NULL;
    int64_t sum = 0;
    int rc;
    while ((rc = db_next(db, numbers, VALUES(sql_int(least)), &s, &e)) > 0)
        sum += stmt_int(s, 0) + (again ? 100 * sum_above(db, stmt_int(s, 0), false) : 0);
    assert_int_equal(rc, 0);
    assert_null(s);
    return sum;
}

TEST_WITHIN(query__run_again__compiled_once, enter, close_database)
{
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sum_above(*state, 0, false), 6);
        assert_int_equal(sum_above(*state, 2, false), 3);
    }
    assert_int_equal(compiled, 1);
}

TEST_WITHIN(query__within_itself__each_its_own_rows, enter, close_database)
{
    for (int i = 0; i < 3; i++)
        assert_int_equal(sum_above(*state, 0, true), 6 + 100 * (5 + 3));
    assert_int_equal(compiled, 2);
}

TEST_WITHIN(query_of_one_value__run_again__from_its_first_row, enter, close_database)
{
    int64_t first = 0;
    OWNED char *text = NULL;
    for (int i = 0; i < 3; i++) {
        FAIL_IF(db_query_int(*state, numbers, VALUES(sql_int(i)), -1, &first, &e));
        assert_int_equal(first, i + 1);
    }
    FAIL_IF(db_query_text(*state, numbers, VALUES(sql_int(1)), &text, &e));
    assert_string_equal(text, "2");
    assert_int_equal(compiled, 1);
    /* A value that is not given is NULL again. */
    assert_int_equal(number(*state, numbers), -1);
}

/* What has come to its end neither locks a table nor knows it as it was. */
TEST_WITHIN(query__table_made_anew__as_it_is_now, enter, close_database)
{
    assert_int_equal(sum_above(*state, 0, false), 6);
    must(*state, "DROP TABLE number; CREATE TABLE number (other, n); INSERT INTO number VALUES (5, 7)");
    assert_int_equal(sum_above(*state, 0, false), 7);
}

TEST_WITHIN(query__more_than_are_kept__still_right, enter, close_database)
{
    for (int i = 0; i < 3 * DB_STATEMENTS_KEPT; i++) {
        OWNED char *sql = xasprintf("SELECT max(n) + %d FROM number", i % (2 * DB_STATEMENTS_KEPT));
        assert_int_equal(number(*state, sql), 3 + i % (2 * DB_STATEMENTS_KEPT));
    }
}
