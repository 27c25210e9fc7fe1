/* database: samples that are kept compressed are those that were there, to the last bit. */
#include "database/samples.h"
#include "database_fixture.h"

enum { SAMPLES = 12000 };

static int make_database(void **state)
{
    *state = database_with(
        "INSERT INTO job (id, key, sweep_id, rank) VALUES (1, zeroblob(16), 1, 0);"
        "INSERT INTO attempt (id, job_id, number, runner_id, state) VALUES (1, 1, 1, 1, 'ok'), (2, 1, 2, 1, 'ok')");
    return 0;
}

/* --- series --- */

static double uniform(void)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(state >> 11) * 0x1p-53;
}

static double decimal(void)
{
    return round(uniform() * 1e4) / 1e3;
}

static double full(void)
{
    return 12 * uniform() - 2;
}

static double of_any_size(void)
{
    return ldexp(uniform() - 0.5, (int)(uniform() * 2080) - 1060);
}

static double whole(void)
{
    return floor(uniform() * 9e15);
}

static double hardly_any(void)
{
    return uniform() * 1e-200;
}

static double same(void)
{
    return 0.1;
}

static double small(void)
{
    return 3e-4 * (1 + cos(3 * uniform())) * uniform();
}

ROWS(series, const char *name; double (*value)(void); double missing, without_step, shift /* how often */) = {
    {"decimal", decimal, 0, 0, 0},        {"full", full, 0, 0, 0},
    {"any size", of_any_size, 0, 0, 0},   {"whole", whole, 0, 0, 0},
    {"tiny", hardly_any, 0, 0, 0},        {"same", same, 0, 0, 0},
    {"learning rate", small, 0, 0, 0.01}, {"not finite", full, 0.3, 0, 0},
    {"irregular", decimal, 0.1, 0, 0.5},  {"few steps", full, 0, 0.1, 0.01},
    {"no steps", decimal, 0, 1, 0.01},    {"no value", full, 1, 0, 0},
};

static void add_samples(struct db *db, int64_t attempt_id, const char *name, size_t of, int count)
{
    OWNED_STMT *s = NULL;
    int64_t sequence = 7, step = -5;
    FAIL_IF(db_prepare(db, "INSERT INTO metric VALUES (?, ?, ?, ?, ?)", &s, &e));
    for (int i = 0; i < count; i++) {
        sequence += 3 + (uniform() < series[of].shift ? (int64_t)(uniform() * 5) : 0);
        step += 10 - (uniform() < series[of].shift ? (int64_t)(uniform() * 40) : 0);
        const double value = series[of].value();
        const bool has_step = uniform() >= series[of].without_step, has_value = uniform() >= series[of].missing;
        FAIL_IF(stmt_run_with(s,
                              VALUES(sql_int(attempt_id), sql_text(name), sql_int(sequence),
                                     has_step ? sql_int(step) : sql_null(), has_value ? sql_real(value) : sql_null()),
                              &e));
    }
}

static void must_be_as_before(struct db *db)
{
    assert_int_equal(number(db, "SELECT count(*) FROM before"), number(db, "SELECT count(*) FROM sample"));
    assert_int_equal(number(db, "SELECT count(*) FROM (SELECT *, typeof(step), typeof(value) FROM before"
                                " EXCEPT SELECT *, typeof(step), typeof(value) FROM sample)"),
                     0);
}

static int64_t archive(struct db *db, int64_t attempt_id, bool dry)
{
    int64_t count = 0;
    FAIL_IF(db_begin(db, &e));
    FAIL_IF(samples_archive(db, attempt_id, dry, &count, &e));
    FAIL_IF(db_commit(db, &e));
    return count;
}

TEST_WITHIN(samples_archive__series_of_all_kinds__the_same_compressed, make_database, close_database)
{
    struct db *db = *state;
    int64_t back = 0, count;
    for (size_t i = 0; i < LENGTH(series); i++)
        add_samples(db, 1, series[i].name, i, SAMPLES);
    add_samples(db, 2, "decimal", 0, 100);
    must(db, "UPDATE metric SET step = iif(sequence % 2, -1, 1) * 9223372036854775807"
             " WHERE name = 'same' AND sequence % 101 < 2");
    must(db, "CREATE TABLE before AS SELECT * FROM metric");
    assert_int_equal(archive(db, 1, true), (int64_t)LENGTH(series) * SAMPLES);
    must_be_as_before(db);
    assert_int_equal(number(db, "SELECT count(*) FROM archived_metric"), 0);
    count = archive(db, 1, false);
    must_be_as_before(db);
    assert_int_equal(number(db, "SELECT count(*) FROM metric WHERE attempt_id = 2"), 100);
    /* Numbers of any size at all stay, and of others only such as no other sample of their piece is like. */
    assert_int_equal(number(db, "SELECT count(*) FROM archived_metric WHERE name = 'any size'"), 0);
    assert_int_equal(number(db, "SELECT count(DISTINCT name) FROM archived_metric"), LENGTH(series) - 1);
    assert_int_equal(count, number(db, "SELECT (SELECT count(*) FROM before) - (SELECT count(*) FROM metric)"));
    assert_in_range(number(db, "SELECT max(n) FROM (SELECT count(*) AS n FROM metric WHERE name <> 'any size'"
                               " AND name <> 'few steps' AND attempt_id = 1 GROUP BY name)"),
                    0, SAMPLES / 40);
    assert_int_equal(archive(db, 1, false), 0);
    FAIL_IF(samples_bring_back(db, 1, true, &back, &e));
    assert_int_equal(back, count);
    FAIL_IF(samples_bring_back(db, 1, false, &back, &e));
    assert_int_equal(back, 2 * count);
    must_be_as_before(db);
    assert_int_equal(number(db, "SELECT count(*) FROM archived_metric"), 0);
}

TEST_WITHIN(samples_archive__short_series_and_curves__left_and_all_forgotten, make_database, close_database)
{
    struct db *db = *state;
    add_samples(db, 1, "short", 0, 63);
    add_samples(db, 1, "curve", 0, 100);
    add_samples(db, 1, "long", 0, 64);
    must(db, "INSERT INTO summary (attempt_id, name, count, point) VALUES (1, 'curve', 100, 3)");
    assert_int_equal(archive(db, 1, false), 64);
    FAIL_IF(samples_forget(db, 1, "long", &e));
    FAIL_IF(samples_forget(db, 1, "short", &e));
    assert_int_equal(number(db, "SELECT count(*) FROM sample"), 100);
    add_samples(db, 1, "long", 0, 100);
    assert_int_equal(archive(db, 1, false), 100);
    must(db, "DELETE FROM attempt WHERE id = 1");
    assert_int_equal(number(db, "SELECT count(*) FROM archived_metric"), 0);
}

TEST_WITHIN(samples_archive__damaged__no_sample_and_no_error, make_database, close_database)
{
    struct db *db = *state;
    add_samples(db, 1, "long", 0, 1000);
    assert_int_equal(archive(db, 1, false), 1000);
    must(db, "UPDATE archived_metric SET json = substr(json, 1, 100)");
    assert_int_equal(number(db, "SELECT count(*) FROM sample"), 0);
    must(db, "UPDATE archived_metric SET bytes = 1 << 40");
    assert_int_equal(number(db, "SELECT count(*) FROM sample"), 0);
}
