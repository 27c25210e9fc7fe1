/* results/status: the time that is left. database/lock: who holds the writer's lock. */
#include <sys/wait.h>

#include "database/lock.h"
#include "database_fixture.h"
#include "results/status.h"

/* Model 1 takes 100 ms, or 300 ms with training 2; model 2 takes 1000 ms. The lost and the cancelled count nowhere. */
static int open_sweep(void **state)
{
    *state = database_with(
        "INSERT INTO sweep (id, hash, name, path, text, profile_text, tool_version, first_seen, last_seen)"
        " VALUES (2, randomblob(16), 'old', 'old.toml', '', '', '0', 1, 1);"
        "INSERT INTO spec (id, kind, hash, json) VALUES (1, 'model', randomblob(16), '{}'),"
        " (2, 'model', randomblob(16), '{}'), (7, 'model', randomblob(16), '{}'), (9, 'model', randomblob(16), '{}');"
        "INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, training_id, state, failure)"
        " VALUES (1, randomblob(16), 1, 1, 1, 1, 1, 'ok', NULL), (2, randomblob(16), 1, 2, 1, 1, 2, 'ok', NULL),"
        " (3, randomblob(16), 1, 3, 1, 2, NULL, 'ok', NULL), (4, randomblob(16), 1, 4, 1, 1, 1, 'failed', 'lost');"
        "INSERT INTO attempt (id, job_id, number, runner_id, state, failure, duration_ms, command, started, ended)"
        " VALUES (1, 1, 1, 1, 'ok', NULL, 100, '[]', 1, 2), (2, 2, 1, 1, 'ok', NULL, 300, '[]', 1, 2),"
        " (3, 3, 1, 1, 'ok', NULL, 1000, '[]', 1, 2), (4, 4, 1, 1, 'failed', 'lost', 77777, '[]', 1, 2),"
        " (5, 4, 2, 1, 'failed', 'cancelled', 77777, '[]', 1, 2)");
    return 0;
}

#define JOB(id, specs, state)                                                                                          \
    "INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, training_id, state) VALUES (" #id                 \
    ", randomblob(16), 1, " #id ", " specs ", '" state "');"
#define RUNS(id, specs, started)                                                                                       \
    JOB(id, specs, "running")                                                                                          \
    "INSERT INTO attempt (id, job_id, number, runner_id, state, command, started) VALUES (" #id ", " #id               \
    ", 1, 1, 'running', '[]', " #started ");"

/* -1: unknown. What was changed is undone. */
static void assert_eta(struct db *db, const char *sql, int64_t now_ms, int64_t expected_ms)
{
    cJSON *status = NULL;
    must(db, "SAVEPOINT before");
    FAIL_IF(db_exec(db, sql, &e));
    FAIL_IF(status_read(db, true, now_ms, &status, NULL, &e));
    must(db, "ROLLBACK TO before; RELEASE before");
    assert_int_equal(json_count_of(status, "eta_ms"), expected_ms);
    cJSON_Delete(status);
}

TEST_WITHIN(status_read__time_left__rest_of_what_runs_and_all_that_waits, open_sweep, close_database)
{
    struct db *db = *state;
    assert_eta(db, "", 0, 0);
    assert_eta(db, JOB(10, "1, 1, 2", "pending"), 0, -1); /* none runs */
    assert_eta(db, "DELETE FROM attempt;" RUNS(10, "1, 1, 2", 0), 0, -1);
    /* The running jobs have 0 (one is overdue), 100 and 250 left; two times 300 wait. */
    assert_eta(db,
               RUNS(10, "1, 1, 1", 4000) RUNS(11, "1, 1, 2", 4800) RUNS(12, "1, 1, 2", 4950)
                   JOB(13, "1, 1, 2", "pending") JOB(14, "1, 1, 2", "pending"),
               5000, (0 + 100 + 250 + 2 * 300) / 3);
    /* Each three times, of which one is done and one runs: four are to come. */
    assert_eta(db,
               RUNS(10, "1, 1, 2", 4950)
                   JOB(11, "1, 1, 2", "pending") "INSERT INTO attempt (id, job_id, number, runner_id, state, command) "
                                                 "VALUES (12, 10, 2, 1, 'ok', '[]');"
                                                 "INSERT INTO meta VALUES ('repeat', '{\"sweep\": 1, \"of\": 3}')",
               5000, 250 + 4 * 300);
    /* A clock that went back makes nothing longer than expected. */
    assert_eta(db, RUNS(10, "1, 1, 1", 4000) RUNS(11, "1, 1, 2", 4800), 0, (100 + 300) / 2);
    /* Those that are not listed have all before them: twelve run, of ten of which 100 to 109 are left. */
    assert_eta(db,
               "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 111)"
               " INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, state)"
               " SELECT i, randomblob(16), 1, i, 1, 2, 'running' FROM n;"
               "INSERT INTO attempt (id, job_id, number, runner_id, state, command, started)"
               " SELECT id, id, 1, 1, 'running', '[]', id FROM job WHERE state = 'running';" JOB(200, "1, 1, 2",
                                                                                                 "pending"),
               1000, (1045 + 3 * 300) / 12);
}

static void assert_expected(struct db *db, const char *sql, int64_t waiting, double expected_ms)
{
    double ms, attempts;
    must(db, "SAVEPOINT before");
    FAIL_IF(db_exec(db, sql, &e));
    FAIL_IF(status_expected_ms(db, waiting, &ms, &attempts, &e));
    must(db, "ROLLBACK TO before; RELEASE before");
    if (isnan(expected_ms))
        assert_true(isnan(ms));
    else
        assert_float_equal(ms, expected_ms, 1e-6);
}

#define WAITS(id, specs) JOB(id, specs, "pending")

TEST_WITHIN(status_expected_ms__waiting__nearest_match_counts, open_sweep, close_database)
{
    struct db *db = *state;
    assert_expected(db, WAITS(10, "1, 1, 2"), 1, 300);
    assert_expected(db, WAITS(10, "1, 1, 9"), 1, 200); /* the model's */
    assert_expected(db, WAITS(10, "1, 2, NULL"), 1, 1000);
    assert_expected(db, WAITS(10, "1, 7, 1"), 1, 1400.0 / 3); /* nothing like it */
    assert_expected(db, WAITS(10, "1, 1, 2") WAITS(11, "1, 1, 2") WAITS(12, "1, 2, NULL"), 3, 1600.0 / 3);
    assert_expected(db,
                    WAITS(10, "1, 1, 1") WAITS(11, "1, 2, NULL")
                        WAITS(12, "1, 2, NULL") "UPDATE job SET sweep_id = 2 WHERE id = 11; UPDATE job SET witness_id "
                                                "= 4 WHERE id = 12",
                    1, 100);
    assert_expected(db, "", 1, (double)NAN);
    assert_expected(db, "DELETE FROM attempt;" WAITS(10, "1, 1, 2"), 1, (double)NAN);
}

TEST_WITHIN(status_expected_ms__too_many_wait_to_look_at__sampled, open_sweep, close_database)
{
    /* Every other job is of model 2: an odd distance between the ids meets both. */
    assert_expected(*state,
                    "WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 49975)"
                    " INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, training_id, state)"
                    " SELECT i, randomblob(16), 1, i, 1, 1 + i % 2, iif(i % 2, NULL, 2), 'pending' FROM n",
                    49966, 650);
}

TEST_WITHIN(status_expected_ms__none_waits__of_what_runs, open_sweep, close_database)
{
    assert_expected(*state, RUNS(10, "1, 1, 2", 5) RUNS(11, "1, 1, 1", 5), 0, 200);
    assert_expected(*state,
                    RUNS(10, "1, 1, 2", 5)
                        JOB(11, "1, 1, 1",
                            "running") "INSERT INTO attempt (id, job_id, number, runner_id, state, command)"
                                       " VALUES (11, 11, 1, 1, 'claimed', '[]')",
                    0, 300);
}

TEST_APART(writer_lock_is_held__taken_and_released__follows)
{
    assert_false(writer_lock_is_held("x.db"));
    bool is_new;
    int fd = writer_lock_take("x.db", &is_new, NULL);
    assert_true(fd >= 0);
    assert_true(writer_lock_is_held("x.db"));
    writer_lock_release(fd);
    assert_false(writer_lock_is_held("x.db"));
}

/* Returns 0 if the lock that is taken at last is on the file of that name. */
static int take_lock_and_look(void)
{
    bool is_new;
    int fd = -1;
    for (int i = 0; i < 20 && fd < 0; i++)
        fd = writer_lock_take("y.db", &is_new, NULL);
    return fd >= 0 && writer_lock_is_held("y.db") ? 0 : 1;
}

static bool has_opened(pid_t pid, const char *wanted)
{
    char directory[40], link[80], file[400];
    snprintf(directory, sizeof directory, "/proc/%d/fd", (int)pid);
    for (int fd = 3; fd < 64; fd++) {
        snprintf(link, sizeof link, "%s/%d", directory, fd);
        ssize_t n = readlink(link, file, sizeof file - 1);
        if (n > 0 && (file[n] = '\0', strstr(file, wanted)))
            return true;
    }
    return false;
}

TEST_APART(writer_lock_take__file_removed_by_who_held_it__on_the_next_one)
{
    bool is_new;
    int status = -1;
    int fd = writer_lock_take("y.db", &is_new, NULL);
    assert_true(fd >= 0);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        close(fd);
        close(ready[1]);
        close(ready[0]);
        _exit(take_lock_and_look());
    }
    close(ready[1]);
    /* Its end is the end of the child's copies, that of the lock among them. */
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    for (int i = 0; i < 20000 && !has_opened(child, "/y.db.lock"); i++)
        usleep(1000);
    writer_lock_remove(fd, "y.db");
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}
