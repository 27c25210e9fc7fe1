/* results/best, results/pareto: the winner and the jobs that no other beats, of one objective and of two. */
#include "database_fixture.h"
#include "results/best.h"
#include "results/views.h"

/* A sweep that wants much speed and then little memory. */
static int open_sweep(void **state)
{
    *state =
        database_with("UPDATE sweep SET name = 'two', path = 'two.toml', objective = 'speed', maximise = 1;"
                      "INSERT INTO further_objective (sweep_id, position, metric, maximise) VALUES (1, 1, 'memory', 0);"
                      "INSERT INTO metric_definition (name, unit) VALUES ('speed', 'samples/s'), ('memory', 'B')");
    return 0;
}

/* An ok job with a spec of its own; NaN: it has no such number. */
static void add_job(struct db *db, int64_t id, const char *spec, double speed, double memory)
{
    struct error e = ERROR_INIT;
    const double values[] = {speed, memory};
    static const char *const names[] = {"speed", "memory"};
    int rc = db_run(db, "INSERT INTO spec (id, kind, hash, json) VALUES (?1, 'parallel_spec', randomblob(16), ?2)",
                    VALUES(sql_int(id), sql_text(spec)), &e);
    if (rc == 0)
        rc = db_run(db,
                    "INSERT INTO job (id, key, sweep_id, rank, parallel_id, state, attempt_id)"
                    " VALUES (?1, randomblob(16), 1, ?1, ?1, 'ok', ?1)",
                    VALUES(sql_int(id)), &e);
    if (rc == 0)
        rc = db_run(db,
                    "INSERT INTO attempt (id, job_id, number, runner_id, state, command, started, ended)"
                    " VALUES (?1, ?1, 1, 1, 'ok', '[\"train\"]', 1, 2)",
                    VALUES(sql_int(id)), &e);
    for (int i = 0; rc == 0 && i < 2; i++)
        if (!isnan(values[i]))
            rc = db_run(db, "INSERT INTO summary (attempt_id, name, value, count) VALUES (?1, ?2, ?3, 1)",
                        VALUES(sql_int(id), sql_text(names[i]), sql_real(values[i])), &e);
    if (rc < 0)
        fail_msg("%s", e.text);
}

static cJSON *read_pareto(struct db *db)
{
    cJSON *list;
    FAIL_IF(pareto_read(db, &list, &e) < 0);
    return list;
}

static struct best read_best(struct db *db)
{
    struct best b;
    FAIL_IF(best_read(db, NULL, &b, &e) < 0);
    return b;
}

/* The job, and the first with the same values; -1: none. */
static void assert_point(const cJSON *point, int64_t job, int64_t tie, double speed, double memory)
{
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(point, "values");
    assert_int_equal(json_count_of(point, "job"), job);
    assert_int_equal(json_count_of(point, "tie"), tie);
    assert_true(json_real_of(values, "speed") == speed && json_real_of(values, "memory") == memory);
}

/* The jobs that are close to the winner. */
static void assert_close(const struct best *b, size_t count, const int64_t *jobs)
{
    const cJSON *close = cJSON_GetObjectItemCaseSensitive(b->document, "close");
    assert_int_equal(cJSON_GetArraySize(close), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(json_count_of(cJSON_GetArrayItem(close, (int)i), "job"), jobs[i]);
}

TEST_WITHIN(pareto_read__two_objectives__those_that_no_other_beats, open_sweep, close_database)
{
    ROWS(kept, int64_t job, tie; double speed, memory) = {
        {2, -1, 100, 40}, {3, -1, 90, 30}, {7, 3, 90, 30}, {8, 3, 90, 30}, {9, -1, 10, 5},
    };
    add_job(*state, 1, "{\"tp\":1}", 100, 50); /* as fast as 2, but with more */
    add_job(*state, 2, "{\"tp\":2}", 100, 40);
    add_job(*state, 3, "{\"tp\":3}", 90, 30);
    add_job(*state, 4, "{\"tp\":4}", 95, 45);
    add_job(*state, 5, "{\"tp\":5}", 80, 30);
    add_job(*state, 6, "{\"tp\":6}", 120, NAN);
    add_job(*state, 7, "{\"tp\":7}", 90, 30);
    add_job(*state, 8, "{\"tp\":8}", 90, 30);
    add_job(*state, 9, "{\"tp\":9}", 10, 5);
    add_job(*state, 10, "{\"tp\":10}", NAN, 1);
    cJSON *p = read_pareto(*state);
    assert_int_equal(cJSON_GetArraySize(p), sizeof kept / sizeof *kept);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_point(cJSON_GetArrayItem(p, (int)i), kept[i].job, kept[i].tie, kept[i].speed, kept[i].memory);
    cJSON_Delete(p);
}

TEST_WITHIN(best_read__equal_under_the_first_objective__the_second_chooses, open_sweep, close_database)
{
    add_job(*state, 1, "{\"tp\":1}", 100, 50);
    add_job(*state, 2, "{\"tp\":2}", 100, 40);
    add_job(*state, 3, "{\"tp\":3}", 99, 1);
    add_job(*state, 4, "{\"tp\":4}", 97.9, 1); /* further behind than the 2 % that are listed */
    HELD(best) b = read_best(*state);
    assert_string_equal(json_text_of(b.document, "objective"), "speed");
    assert_int_equal(json_count_of(b.beside, "more"), 0);
    assert_int_equal(best_job(&b), 2);
    assert_close(&b, 2, (const int64_t[]){1, 3});
    assert_true(json_real_of(b.document, "value") == 100);
    OWNED char *ranked = NULL;
    FAIL_IF(result_views_refresh(*state, &e) < 0 ||
            db_query_text(*state, "SELECT group_concat(job, ' ') FROM (SELECT * FROM ranking LIMIT 9)", NO_VALUES,
                          &ranked, &e) < 0);
    assert_string_equal(ranked, "2 1 3 4");
}

TEST_WITHIN(best_read__fastest_has_no_second_number__wins_all_the_same, open_sweep, close_database)
{
    add_job(*state, 1, "{\"tp\":1}", 100, 50);
    add_job(*state, 2, "{\"tp\":2}", 120, NAN);
    add_job(*state, 3, "{\"tp\":3}", 119, 20);
    HELD(best) b = read_best(*state);
    assert_int_equal(best_job(&b), 2);
    assert_true(json_real_of(b.document, "value") == 120);
    assert_close(&b, 1, (const int64_t[]){3});
    assert_int_equal(json_count_of(b.beside, "incomplete"), 1);
}

TEST_WITHIN(best_read__more_than_are_listed__says_so, open_sweep, close_database)
{
    for (int64_t id = 1; id <= BEST_LISTED; id++)
        add_job(*state, id, "{}", 100, (double)id);
    HELD(best) b = read_best(*state);
    assert_close(&b, BEST_LISTED - 1, (const int64_t[]){2, 3, 4, 5, 6});
    assert_int_equal(json_count_of(b.beside, "more"), 0);
    best_free(&b);
    add_job(*state, BEST_LISTED + 1, "{}", 100, 99);
    b = read_best(*state);
    assert_close(&b, BEST_LISTED - 1, (const int64_t[]){2, 3, 4, 5, 6});
    assert_int_equal(json_count_of(b.beside, "more"), 1);
}

TEST_WITHIN(best_read__no_job_or_no_objective__said, open_sweep, close_database)
{
    HELD(best) b = read_best(*state);
    struct error e = ERROR_INIT;
    assert_int_equal(best_job(&b), -1);
    best_free(&b);
    must(*state, "UPDATE sweep SET objective = NULL");
    assert_int_equal(best_read(*state, NULL, &b, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    must(*state, "DELETE FROM sweep");
    assert_int_equal(best_read(*state, NULL, &b, &e), -1);
    assert_int_equal(e.kind, ERROR_NOTHING);
}

/* The lower job in the middle stands for an even number; each objective is their mean. */
TEST_WITHIN(pareto_read__replicates__one_by_the_job_in_the_middle, open_sweep, close_database)
{
    must(*state, "INSERT INTO meta VALUES ('replicate', '[\"parallel_spec.seed\"]')");
    add_job(*state, 1, "{\"seed\":1}", 40, 4);
    add_job(*state, 2, "{\"seed\":2}", 10, 1);
    add_job(*state, 3, "{\"seed\":3}", 30, 3);
    add_job(*state, 4, "{\"seed\":4}", 20, 2);
    cJSON *p = read_pareto(*state);
    assert_int_equal(cJSON_GetArraySize(p), 1);
    assert_point(p->child, 4, -1, 25, 2.5);
    cJSON_Delete(p);
    add_job(*state, 5, "{\"seed\":5}", 50, 5);
    p = read_pareto(*state);
    assert_point(p->child, 3, -1, 30, 3);
    cJSON_Delete(p);
}
