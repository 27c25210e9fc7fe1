/* store: the time that is left, and who holds the writer's lock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database/lock.h"
#include "results/durations.h"
#include "results/status.h"
#include "unit_test.h"

static struct status_attempt attempts[] = {
    {.job_id = 1, .number = 1, .started_ms = 1000, .expected_ms = -1},
    {.job_id = 2, .number = 1, .started_ms = 4000, .expected_ms = -1},
    {.job_id = 3, .number = 1, .started_ms = 5000, .expected_ms = -1},
};

TEST(status_eta_ms__nothing_left__zero)
{
    const struct sweep_status s = {.ok = 5, .mean_ms = 100};
    assert_int_equal(status_eta_ms(&s, 0), 0);
}

TEST(status_eta_ms__nothing_known__unknown)
{
    const struct sweep_status no_mean = {.to_come = 5, .mean_ms = -1, .attempt_total = 1};
    const struct sweep_status none_runs = {.to_come = 5, .mean_ms = 100};
    assert_int_equal(status_eta_ms(&no_mean, 0), -1);
    assert_int_equal(status_eta_ms(&none_runs, 0), -1);
    /* A search that nothing limits. */
    const struct sweep_status no_limit = {.pending = 5, .to_come = -1, .mean_ms = 100, .attempt_total = 1};
    assert_int_equal(status_eta_ms(&no_limit, 0), -1);
}

TEST(status_eta_ms__some_run__rest_of_these_and_the_waiting)
{
    struct sweep_status s = {.to_come = 4,
                             .running = 3,
                             .mean_ms = 3000,
                             .waiting_ms = -1,
                             .attempts = attempts,
                             .attempt_count = 3,
                             .attempt_total = 3};
    /* Of those that run 0 (it is overdue), 2000 and 3000 are left, and four times 3000 wait. */
    assert_int_equal(status_eta_ms(&s, 5000), (0 + 2000 + 3000 + 4 * 3000) / 3);
    /* A clock that went back makes nothing longer than the mean. */
    assert_int_equal(status_eta_ms(&s, 0), (3 * 3000 + 4 * 3000) / 3);
    /* Those that are not listed have all before them. */
    s.attempt_total = 4;
    assert_int_equal(status_eta_ms(&s, 5000), (0 + 2000 + 3000 + 5 * 3000) / 4);
}

TEST(status_eta_ms__like_ones_known__they_count_instead_of_the_mean)
{
    struct status_attempt two[] = {
        {.job_id = 1, .number = 1, .started_ms = 1000, .expected_ms = 10000},
        {.job_id = 2, .number = 1, .started_ms = 4000, .expected_ms = -1},
    };
    struct sweep_status s = {.to_come = 4,
                             .running = 3,
                             .mean_ms = 3000,
                             .waiting_ms = 500,
                             .attempts = two,
                             .attempt_count = 2,
                             .attempt_total = 3};
    /* 6000 and (by the mean) 2000 are left of those listed; one more runs, of which no more is known than of the
     * waiting. */
    assert_int_equal(status_eta_ms(&s, 5000), (6000 + 2000 + 5 * 500) / 3);
}

/* Model 1 takes 100 ms, or 300 ms with training 2; model 2 takes 1000 ms. */
static const char like_ones[] =
    "CREATE TABLE job (id INTEGER PRIMARY KEY, sweep_id, cluster_id, model_id, training_id, state, witness_id, held "
    "DEFAULT NULL);"
    "CREATE TABLE attempt (id INTEGER PRIMARY KEY, job_id, state, failure, duration_ms, unwatched_ms DEFAULT NULL,"
    " kind DEFAULT 'trial');"
    "INSERT INTO job (id, sweep_id, cluster_id, model_id, training_id, state, witness_id) VALUES (1, 1, 1, 1, 1, 'ok', "
    "NULL), (2, 1, 1, 1, 2, 'ok', NULL), (3, 1, 1, 2, NULL, 'ok', NULL),"
    " (4, 1, 1, 1, 1, 'failed', NULL);"
    "INSERT INTO attempt (id, job_id, state, failure, duration_ms) VALUES (1, 1, 'ok', NULL, 100), (2, 2, 'ok', NULL, "
    "300), (3, 3, 'ok', NULL, 1000),"
    " (4, 4, 'failed', 'lost', 77777), (5, 4, 'failed', 'cancelled', 77777);";

static void assert_waiting(const char *sql, int64_t waiting, double expected_ms)
{
    struct db *db = NULL;
    double ms;
    assert_int_equal(db_open(NULL, DB_TEMPORARY, &db, NULL), 0);
    assert_int_equal(db_exec(db, like_ones, NULL), 0);
    assert_int_equal(db_exec(db, sql, NULL), 0);
    assert_int_equal(durations_of_waiting(db, 1, waiting, &ms, NULL), 0);
    if (isnan(expected_ms))
        assert_true(isnan(ms));
    else
        assert_float_equal(ms, expected_ms, 1e-6);
    db_close(db);
}

#define WAITS(id, specs)                                                                                               \
    "INSERT INTO job (id, sweep_id, cluster_id, model_id, training_id, state, witness_id) VALUES (" #id ", 1, " specs  \
    ", 'pending', NULL);"

TEST(durations_of_waiting__nearest_match_counts)
{
    assert_waiting(WAITS(10, "1, 1, 2"), 1, 300);
    assert_waiting(WAITS(10, "1, 1, 9"), 1, 200); /* the model's */
    assert_waiting(WAITS(10, "1, 2, NULL"), 1, 1000);
    assert_waiting(WAITS(10, "1, 7, 1"), 1, 1400.0 / 3); /* nothing like it */
    assert_waiting(WAITS(10, "1, 1, 2") WAITS(11, "1, 1, 2") WAITS(12, "1, 2, NULL"), 3, 1600.0 / 3);
    assert_waiting(WAITS(10, "1, 1, 1") "INSERT INTO job (id, sweep_id, cluster_id, model_id, training_id, state, "
                                        "witness_id) VALUES (11, 2, 1, 2, NULL, 'pending', NULL),"
                                        " (12, 1, 1, 2, NULL, 'pending', 4);",
                   1, 100);
    assert_waiting("", 0, (double)NAN);
    assert_waiting("DELETE FROM attempt;" WAITS(10, "1, 1, 2"), 1, (double)NAN);
}

TEST(durations_of_waiting__too_many_to_look_at__sampled)
{
    /* Every other job is of model 2: an odd distance between the ids meets both. */
    assert_waiting("WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 49975)"
                   " INSERT INTO job (id, sweep_id, cluster_id, model_id, training_id, state, witness_id) SELECT i, 1, "
                   "1, 1 + i % 2, iif(i % 2, NULL, 2), 'pending', NULL FROM n",
                   49966, 650);
}

static void add_duration(void *context, int64_t job_id, double ms)
{
    double *sum = context;
    *sum += (double)job_id * 1e6 + ms;
}

TEST(durations_of_running__each_by_its_like)
{
    struct db *db = NULL;
    double sum = 0;
    assert_int_equal(db_open(NULL, DB_TEMPORARY, &db, NULL), 0);
    assert_int_equal(db_exec(db, like_ones, NULL), 0);
    assert_int_equal(db_exec(db,
                             "INSERT INTO job (id, sweep_id, cluster_id, model_id, training_id, state, witness_id) "
                             "VALUES (10, 2, 1, 1, 2, 'running', NULL), (11, 1, 1, 1, 1, 'running', NULL);"
                             "INSERT INTO attempt (id, job_id, state, failure, duration_ms) VALUES (10, 10, 'running', "
                             "NULL, NULL), (11, 11, 'claimed', NULL, "
                             "NULL)",
                             NULL),
                     0);
    assert_int_equal(durations_of_running(db, add_duration, &sum, NULL), 0);
    assert_float_equal(sum, 10e6 + 300, 1e-6);
    db_close(db);
}

TEST(writer_lock_is_held__taken_and_released__follows)
{
    char directory[] = "/tmp/meshsweep-lock.XXXXXX";
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    assert_false(writer_lock_is_held("x.db"));
    bool is_new;
    int fd = writer_lock_take("x.db", &is_new, NULL);
    assert_true(fd >= 0);
    assert_true(writer_lock_is_held("x.db"));
    writer_lock_release(fd);
    assert_false(writer_lock_is_held("x.db"));
    unlink("x.db.lock");
    assert_int_equal(chdir("/"), 0);
    rmdir(directory);
}

/* Whether the lock that is taken at last is on the file of that name. */
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

TEST(writer_lock_take__file_removed_by_who_held_it__on_the_next_one)
{
    char directory[] = "/tmp/meshsweep-lock.XXXXXX";
    bool is_new;
    int status = -1;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
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
    unlink("y.db.lock");
    assert_int_equal(chdir("/"), 0);
    rmdir(directory);
}
