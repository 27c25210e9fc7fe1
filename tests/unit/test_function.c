/* store/function: arguments, results and failures of functions of ours. */
#include <sys/wait.h>

#include "database/function.h"
#include "database/sqlite.h"
#include "unit_test.h"

/* The sum of its integers; NULL without any; a text fails. */
static int sum(void *context, const struct sql_value *arguments, int count, int64_t *out, struct error *e)
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
    int rc = db_query_int(db, sql, NO_VALUES, -7, out, e);
    db_close(db);
    return rc;
}

TEST(function__integers_floats_and_nulls__as_they_are)
{
    int64_t got = 0;
    FAIL_IF(ask("SELECT model_elements(1, 2.5, NULL, x'00', 40)", &got, &e));
    assert_int_equal(got, 41);
    FAIL_IF(ask("SELECT model_elements(1) + model_elements(2) * 10", &got, &e));
    assert_int_equal(got, 21);
}

TEST(function__nothing_to_return__null)
{
    int64_t got = 0;
    FAIL_IF(ask("SELECT model_elements() IS NULL AND model_elements(1.0) IS NULL", &got, &e));
    assert_int_equal(got, 1);
}

static void twice(const struct sql_value *arguments, struct buffer *out)
{
    buffer_printf(out, "%s%s", arguments[0].text, arguments[0].text);
}

TEST(function__of_texts__text_or_null)
{
    HELD_AT(db) *db = NULL;
    OWNED char *got = NULL;
    FAIL_IF(db_open(NULL, DB_TEMPORARY, &db, &e) < 0 || db_add_text_function(db, "twice", 1, twice, &e) < 0);
    FAIL_IF(db_query_text(db, "SELECT twice('no') || (twice(NULL) IS NULL) || twice('')", NO_VALUES, &got, &e));
    assert_string_equal(got, "nono1");
}

TEST(function__fails__statement_fails_with_its_text)
{
    int64_t got = 0;
    FAILS_WITH_PART(ask("SELECT model_elements(1, 'x')", &got, &e), "call 1: `x` is no number");
    FAILS_WITH_PART(ask("SELECT model_elements(1,2,3,4,5,6,7,8,9)", &got, &e), "too many arguments");
}

static bool is_memory_gone;
static void *(*real_malloc)(int bytes);

static void *malloc_or_not(int bytes)
{
    return is_memory_gone ? NULL : real_malloc(bytes);
}

static bool replace_malloc(void)
{
    sqlite3_mem_methods methods;
    sqlite3_shutdown();
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &methods) != SQLITE_OK)
        return false;
    real_malloc = methods.xMalloc;
    methods.xMalloc = malloc_or_not;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
           sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK;
}

/* The status with which a program ends that has no memory for the statement's first column. */
static int status_without_memory(const char *sql)
{
    struct error e = ERROR_INIT;
    struct db *db = NULL;
    struct stmt *s = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        close(STDERR_FILENO);
        if (!replace_malloc() || db_open(NULL, DB_TEMPORARY, &db, &e) < 0 || db_prepare(db, sql, &s, &e) < 0 ||
            stmt_next(s, &e) <= 0)
            _exit(100);
        is_memory_gone = true;
        _exit(stmt_text(s, 0) ? 101 : 102);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A NULL in its place would be believed. */
TEST(column__no_memory_for_its_text__ends_the_program)
{
    assert_int_equal(status_without_memory("SELECT 17"), 1);
    assert_int_equal(status_without_memory("SELECT 'here'"), 101);
    assert_int_equal(status_without_memory("SELECT NULL"), 102);
}
