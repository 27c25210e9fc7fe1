/* store/function: arguments, results and failures of functions of ours. */
#include <string.h>

#include "database/function.h"
#include "unit_test.h"

/* The sum of its integers; NULL without any; a text fails. */
static int sum(void *context, const struct sql_argument *arguments, int count, int64_t *out, struct error *e)
{
    int calls = ++*(int *)context;
    int integers = 0;
    *out = 0;
    for (int i = 0; i < count; i++) {
        if (arguments[i].type == COLUMN_TEXT)
            return error_set(e, ERROR_USAGE, "call %d: `%s` is no number", calls, arguments[i].text);
        integers += arguments[i].type == COLUMN_INT;
        *out += arguments[i].type == COLUMN_INT ? arguments[i].integer : 0;
    }
    return integers > 0;
}

static int ask(const char *sql, int64_t *out, struct error *e)
{
    struct db *db = NULL;
    int calls = 0;
    assert_int_equal(db_open(NULL, DB_TEMPORARY, &db, e), 0);
    assert_int_equal(db_add_function(db, "model_elements", sum, &calls, e), 0);
    int rc = db_query_int(db, sql, -7, out, e);
    db_close(db);
    return rc;
}

TEST(function__integers_floats_and_nulls__as_they_are)
{
    struct error e = ERROR_INIT;
    int64_t got = 0;
    assert_int_equal(ask("SELECT model_elements(1, 2.5, NULL, x'00', 40)", &got, &e), 0);
    assert_int_equal(got, 41);
    assert_int_equal(ask("SELECT model_elements(1) + model_elements(2) * 10", &got, &e), 0);
    assert_int_equal(got, 21);
}

TEST(function__nothing_to_return__null)
{
    struct error e = ERROR_INIT;
    int64_t got = 0;
    assert_int_equal(ask("SELECT model_elements() IS NULL AND model_elements(1.0) IS NULL", &got, &e), 0);
    assert_int_equal(got, 1);
}

TEST(function__fails__statement_fails_with_its_text)
{
    struct error e = ERROR_INIT;
    int64_t got = 0;
    assert_int_equal(ask("SELECT model_elements(1, 'x')", &got, &e), -1);
    assert_non_null(strstr(e.text, "call 1: `x` is no number"));
    assert_int_equal(ask("SELECT model_elements(1,2,3,4,5,6,7,8,9)", &got, &e), -1);
    assert_non_null(strstr(e.text, "too many arguments"));
}
