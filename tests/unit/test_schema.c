/* database/schema: what a file may define, and whether it is what the migrations make. */
#include "database/open.h"
#include "database/row_sums.h"
#include "database/schema.h"
#include "database_fixture.h"
#include "util/embedded.h"

static int open_private(void **state)
{
    struct error e = ERROR_INIT;
    return db_open(NULL, DB_TEMPORARY, (struct db **)state, &e);
}

static void cannot(struct db *db, const char *sql, const char *why)
{
    struct error e = ERROR_INIT;
    assert_int_equal(db_exec(db, sql, &e), -1);
    if (!strstr(e.text, why))
        fail_msg("%s: %s", sql, e.text);
}

TEST_WITHIN(db_open__view_that_calls_what_it_should_not__refused, open_private, close_database)
{
    must(*state, "CREATE VIEW evil AS SELECT load_extension('evil.so')");
    cannot(*state, "SELECT * FROM evil", "unsafe use of load_extension()");
}

TEST_WITHIN(db_open__edits_of_the_schema_as_text__only_where_allowed, open_private, close_database)
{
    static const char edit[] = "PRAGMA writable_schema = ON;"
                               "UPDATE sqlite_schema SET sql = 'CREATE TABLE t (y)' WHERE name = 't'";
    must(*state, "CREATE TABLE t (x)");
    cannot(*state, edit, "table sqlite_master may not be modified");
    db_allow_schema_edits(*state, true);
    must(*state, edit);
    must(*state, "PRAGMA writable_schema = RESET");
    db_allow_schema_edits(*state, false);
    must(*state, "SELECT y FROM t");
    cannot(*state, edit, "table sqlite_master may not be modified");
}

TEST_WITHIN(row_sum__numbers__equal_where_the_values_are, open_private, close_database)
{
    FAIL_IF(row_sums_add(*state, &e));
    assert_int_equal(number(*state, "SELECT row_sum(20) = row_sum(20.0) AND row_sum(9007199254740992) ="
                                    " row_sum(9007199254740992.0) AND row_sum(0.0) = row_sum(-0.0)"),
                     1);
    assert_int_equal(number(*state, "SELECT row_sum(9007199254740993) <> row_sum(9007199254740992)"
                                    " AND row_sum(9223372036854775807) <> row_sum(9223372036854775806)"
                                    " AND row_sum('1') <> row_sum(1) AND row_sum(NULL) <> row_sum(0)"),
                     1);
    /* As SQLite sorts them. */
    assert_int_equal(number(*state, "SELECT sorted_row_sum(1, x) IS NOT NULL FROM (SELECT column1 AS x FROM (VALUES"
                                    " (-9223372036854775808), (-9223372036854775807), (-9007199254740993), (-1.5), (0),"
                                    " (2.5), (9007199254740992.0), (9007199254740993), (9223372036854775295),"
                                    " (9223372036854775806), (9223372036854775807), (1e300), ('a')) ORDER BY 1)"),
                     1);
}

TEST_WITHIN(single_row_sum__rows_with_the_same_first_values__left_out, open_private, close_database)
{
    FAIL_IF(row_sums_add(*state, &e));
    assert_int_equal(number(*state,
                            "SELECT single_row_sum(1, x, y) = row_sum(x, y) FILTER (WHERE x IN (1, 4)) FROM (SELECT"
                            " column1 AS x, column2 AS y FROM (VALUES (1, 1), (2, 1), (2, 2), (3, 1), (3, 1), (3, 2),"
                            " (4, 1), ('a', 1), ('a', 2)))"),
                     1);
}

static int open_blank(void **state)
{
    struct error e = ERROR_INIT;
    return store_open_blank(STORE_NEWEST, (struct db **)state, &e);
}

static char sum[HASH_HEX_BYTES]; /* of the database that was asked of last */

static bool is_known(struct db *db)
{
    bool is;
    FAIL_IF(schema_is_known(db, false, sum, &is, &e));
    return is;
}

/* An unknown sum makes every opening compare the parts one by one. After a migration it stands in the message. */
static void must_be_known(struct db *db)
{
    FAIL_WHERE(!is_known(db), "one of schema_sums in src/database/schema.c is to be %s", sum);
}

TEST_WITHIN(schema_is_known__what_the_migrations_make__yes, open_blank, close_database)
{
    must_be_known(*state);
    must(*state, embedded_text("sql/attempt_sums.sql"));
    must_be_known(*state);
}

static int open_migrated(void **state)
{
    struct error e = ERROR_INIT;
    return store_open_blank(STORE_NEWEST - 1, (struct db **)state, &e);
}

/* A new database has the tables from sql/schema.sql, an old one from the migrations; scripts/schema.sh makes the former
 * of the latter. */
TEST_WITHIN(schema_is_known__migration_by_migration__the_same, open_migrated, close_database)
{
    must_be_known(*state);
}

/* Drops each table, index and trigger, so that none is left out of the sum. */
TEST_WITHIN(schema_is_known__a_part_is_gone__no, open_blank, close_database)
{
    OWNED_LIST drops = STRING_LIST_INIT;
    must(*state, embedded_text("sql/attempt_sums.sql"));
    FAIL_IF(db_query_texts(*state, "SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema WHERE sql IS NOT NULL",
                           NO_VALUES, &drops, &e));
    assert_true(drops.count > 40);
    for (size_t i = 0; i < drops.count; i++) {
        must(*state, "BEGIN");
        must(*state, drops.items[i]);
        if (is_known(*state))
            fail_msg("not missed: %s", drops.items[i]);
        must(*state, "ROLLBACK");
    }
}

TEST_WITHIN(schema_is_known__tables_views_and_indexes_of_others__yes_but_no_trigger, open_blank, close_database)
{
    must(*state, "CREATE TABLE mine (x); CREATE INDEX mine_x ON mine (abs(x)); CREATE VIEW v AS SELECT * FROM mine");
    assert_true(is_known(*state));
    must(*state, "CREATE INDEX mine_too ON job (rank)");
    assert_false(is_known(*state)); /* which is to be looked at */
    must(*state, "DROP INDEX mine_too; CREATE TRIGGER t AFTER INSERT ON mine BEGIN SELECT 1; END");
    assert_false(is_known(*state));
    must(*state, "DROP TRIGGER t; CREATE TABLE results (x)");
    assert_false(is_known(*state));
}
