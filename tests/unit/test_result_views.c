/* store: the views results and ranking. */
#include "database_fixture.h"
#include "results/views.h"
#include "util/buffer.h"

static struct db *db;

/* One sweep, two jobs; job 1 ok with a loss of 0.5, job 2 failed twice. */
static int open_database(void **state)
{
    *state = db = database_with(
        "INSERT INTO spec (id, kind, hash, json) VALUES"
        " (1, 'model', x'00000000000000000000000000000001', '{\"layers\":2,\"name\":\"small\",\"state\":\"x\"}'),"
        " (2, 'parallel_spec', x'00000000000000000000000000000002', '{\"Name\":\"p\",\"tp\":4,\"it''s "
        "\\\"odd\\\"\":7}');"
        "INSERT INTO job (id, key, sweep_id, rank, model_id, parallel_id, derived, state, failure, attempt_id) VALUES"
        " (1, x'0A000000000000000000000000000000', 1, 0, 1, 2, '{\"dp\":3}', 'ok', NULL, 1),"
        " (2, x'0B000000000000000000000000000000', 1, 1, 1, NULL, NULL, 'failed', 'exit', 3);"
        "INSERT INTO attempt (id, job_id, number, runner_id, state, failure, message, started, ended, duration_ms)"
        " VALUES (1, 1, 1, 1, 'ok', NULL, NULL, 1700000000000, 1700000001500, 1500),"
        " (2, 2, 1, 1, 'failed', 'exit', 'first', 1, 2, 1), (3, 2, 2, 1, 'failed', 'exit', 'second', 1, 2, 1);"
        "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'loss', 0.5, 1), (1, 'layers', 9, 1);");
    return 0;
}

/* Refreshes the views after that was done. */
static void refresh(const char *sql)
{
    must(db, sql);
    FAIL_IF(result_views_refresh(db, &e) < 0);
}

/* The first row of a query, columns apart by "|", names before when `titles`. */
static void expect_row(const char *sql, bool titles, const char *expected)
{
    OWNED_STMT *s = NULL;
    struct error e = ERROR_INIT;
    OWNED_BUFFER row = BUFFER_INIT;
    FAIL_WHERE(db_prepare(db, sql, &s, &e) < 0, "%s: %s", sql, e.text);
    int rc = stmt_next(s, &e);
    FAIL_WHERE(rc < 0, "%s: %s", sql, e.text);
    for (int i = 0; (rc > 0 || titles) && i < stmt_column_count(s); i++)
        buffer_printf(&row, "%s%s", i ? "|" : "",
                      titles               ? stmt_column_name(s, i)
                      : stmt_is_null(s, i) ? "-"
                                           : stmt_text(s, i));
    assert_string_equal(buffer_text(&row), expected);
}

TEST_WITHIN(results__ok_and_failed_job__wide_rows_and_names_qualified_where_needed, open_database, close_database)
{
    refresh("");
    expect_row("SELECT * FROM results", true,
               "job|key|sweep|in_sweep|model.layers|model.name|model.state|parallel_spec.Name|tp|it's \"odd\"|dp|"
               "state|failure|attempts|metric.layers|loss|duration_ms|max_rss|partial|not_finite|error|directory|"
               "started|ended");
    expect_row("SELECT * FROM results WHERE job = 1", false,
               "1|0a000000000000000000000000000000|one|1|2|small|x|p|4|7|3|ok|-|1|9.0|0.5|1500|-|0|0|-|-|"
               "2023-11-14T22:13:20Z|2023-11-14T22:13:21Z");
    expect_row("SELECT state, failure, attempts, error, tp, dp, loss FROM results WHERE job = 2", false,
               "failed|exit|2|second|-|-|-");
}

TEST_WITHIN(results__job_of_an_older_sweep__not_in_sweep, open_database, close_database)
{
    refresh(
        "INSERT INTO sweep (id, hash, name, path, text, profile_text, tool_version, objective, first_seen, last_seen)"
        " SELECT 2, x'02020202020202020202020202020202', 'two', path, text, profile_text, tool_version, objective,"
        " 1, 9 FROM sweep;"
        "UPDATE job SET sweep_id = 2 WHERE id = 2");
    expect_row("SELECT group_concat(in_sweep || sweep) FROM results", false, "0one,1two");
    expect_row("SELECT count(*) FROM ranking", false, "0");
}

TEST_WITHIN(ranking__values__finite_ones_in_order, open_database, close_database)
{
    refresh("INSERT INTO job (id, key, sweep_id, rank, state, attempt_id)"
            " SELECT value, randomblob(16), 1, value, 'ok', value FROM json_each('[10,11,12,13,14]');"
            "INSERT INTO attempt (id, job_id, number, runner_id, state)"
            " SELECT value, value, 1, 1, 'ok' FROM json_each('[10,11,12,13,14]');"
            "INSERT INTO summary (attempt_id, name, value, count) VALUES (10, 'loss', NULL, 0),"
            " (11, 'loss', NULL, 3), (12, 'loss', 0.25, 1), (13, 'loss', 0.5, 1), (14, 'loss', NULL, 1)");
    expect_row("SELECT * FROM ranking", true,
               "rank|loss|job|key|sweep|in_sweep|model.layers|model.name|model.state|parallel_spec.Name|tp|it's "
               "\"odd\"|dp|state|failure|attempts|metric.layers|duration_ms|max_rss|partial|not_finite|error|directory|"
               "started|"
               "ended");
    expect_row("SELECT group_concat(rank || ':' || job) FROM ranking", false, "1:12,2:1,2:13");
    refresh("UPDATE sweep SET maximise = 1");
    expect_row("SELECT group_concat(rank || ':' || job) FROM ranking", false, "1:1,1:13,3:12");
}

TEST_WITHIN(ranking__no_objective__empty, open_database, close_database)
{
    refresh("UPDATE sweep SET objective = NULL");
    expect_row("SELECT count(*) FROM ranking WHERE rank IS NULL OR objective IS NULL", false, "0");
}

TEST_WITHIN(result_views_refresh__nothing_new__nothing_written, open_database, close_database)
{
    refresh("");
    int64_t before = number(db, "PRAGMA schema_version");
    refresh("INSERT INTO metric_definition (name) VALUES ('loss')");
    assert_int_equal(number(db, "PRAGMA schema_version"), before);
    refresh("INSERT INTO metric_definition (name) VALUES ('speed'); UPDATE job SET predicted_time = 1 WHERE id = 2");
    expect_row("SELECT speed, predicted_time FROM results WHERE job = 2", false, "-|1.0");
}

TEST_WITHIN(result_views_refresh__within_a_transaction__rolled_back_with_it, open_database, close_database)
{
    assert_int_equal(db_begin(db, NULL), 0);
    refresh("");
    db_rollback(db);
    expect_row("SELECT count(*) FROM sqlite_schema WHERE name = 'results'", false, "0");
}

TEST_WITHIN(result_views_refresh__too_many_columns__left_out_and_said, open_database, close_database)
{
    refresh("INSERT INTO spec (id, kind, hash, json) WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n"
            " WHERE i < 3000) SELECT 99, 'training_spec', zeroblob(16), json_group_object('k' || i, i) FROM n;"
            "UPDATE job SET training_id = 99 WHERE id = 1");
    /* 3000 + 7 of the fixture, less 1500. */
    expect_row("SELECT columns_left_out, k1 FROM results WHERE job = 1", false, "1507|1");
    expect_row("SELECT rank, k1 FROM ranking", false, "1|1");
}

TEST_ROWS(key_sets_add_names__any_object__members_of_its_own, (const char *json, *names), {"{}", ""},
          {"{\"a\":1,\"b\":\"a,b\"}", "\"a\"\"b\""},
          {"{\"a\":[1,\"x\",{\"y\":2}],\"b\":{\"z\":[]},\"c\":null}", "\"a\"\"b\"\"c\""},
          {" { \"a\\\"}\" : \"{,\\\\\" , \"\" : {\"q\":\"r\"} } ", "\"a\\\"}\"\"\""}, {"[\"a\"", ""}, {"{\"a", "\"a"})
{
    OWNED_BUFFER names = BUFFER_INIT;
    key_sets_add_names(row->json, &names);
    assert_string_equal(buffer_text(&names), row->names);
}

/* One set of keys between two objects of another; a key that was there in another order; one name in two sections. */
TEST_WITHIN(result_views_refresh__sets_of_keys_in_turn__each_key_once, open_database, close_database)
{
    refresh("INSERT INTO spec (id, kind, hash, json) VALUES (90, 'parallel_spec', format('%016d', 90), "
            "'{\"qa\":1,\"qb\":[2,\"qz\"]}'),"
            " (91, 'training_spec', format('%016d', 91), '{\"qa\":1}'), (92, 'parallel_spec', format('%016d', 92), "
            "'{\"qc\":1,\"qb\":2}'),"
            " (93, 'parallel_spec', format('%016d', 93), '{\"qa\":7,\"qb\":[]}'), (94, 'parallel_spec', "
            "format('%016d', 94), '{\"q\\u0064\":3}');"
            "UPDATE job SET parallel_id = 92, training_id = 91, derived = '{\"dz\":1,\"da\":2}' WHERE id = 1");
    expect_row("SELECT group_concat(name, ' ') FROM (SELECT name FROM pragma_table_info('results')"
               " WHERE name GLOB '*q[a-z]' OR name GLOB 'd[az]')",
               false, "training_spec.qa parallel_spec.qa qb qc qd da dz");
    expect_row("SELECT \"training_spec.qa\", \"parallel_spec.qa\", qb, qc, da FROM results WHERE job = 1", false,
               "1|-|2|1|2");
}
