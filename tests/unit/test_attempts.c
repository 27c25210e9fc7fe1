/* store/attempts, store/runners: what the end of an attempt makes of its job. */

#include "database_fixture.h"
#include "store/attempts.h"
#include "store/runners.h"

struct kept {
    struct db *db;
    struct attempt_store *store;
};

static const struct retry_policy policy = {{[FAILURE_EXIT] = 2, [FAILURE_LOST] = 2}, 1000, 8000, false, 0};

/* Two pending jobs of one sweep, each to succeed `repeat` times. */
static struct kept open_jobs(int64_t repeat)
{
    struct kept k = {0};
    const struct attempt_store_options options = {.sweep_id = 1,
                                                  .runner_id = 1,
                                                  .repeat = repeat,
                                                  .objective = "speed",
                                                  .maximise = true,
                                                  .policy = policy,
                                                  .executor = "local"};
    k.db = database_with("INSERT INTO job (id, key, sweep_id, rank) VALUES (1, randomblob(16), 1, 1),"
                         " (2, randomblob(16), 1, 2);"
                         "INSERT INTO runner VALUES (2, 'host', 'boot', 2, 2, 2, NULL, '0', '{}')");
    FAIL_IF(attempt_store_create(k.db, &options, &k.store, &e) < 0);
    return k;
}

static void kept_free(struct kept *k)
{
    attempt_store_free(k->store);
    db_close(k->db);
}

static int64_t start(struct kept *k, int64_t job_id)
{
    struct claim claim;
    FAIL_IF(attempt_claim(k->store, job_id, NULL, &claim, &e) < 0);
    const struct attempt_start started = {.attempt_id = claim.attempt_id,
                                          .started_ms = 1000,
                                          .command_json = "[\"train\"]",
                                          .environment_json = "{}"};
    FAIL_IF(attempt_record_start(k->store, &started, &e) < 0);
    return claim.attempt_id;
}

static enum job_end end(struct kept *k, int64_t job_id, int64_t attempt_id, const char *failure, enum blame blame)
{
    enum job_end job_end;
    const struct attempt_end ended = {.attempt_id = attempt_id,
                                      .job_id = job_id,
                                      .failure = failure,
                                      .blame = blame,
                                      .message = failure ? "why" : NULL,
                                      .ended_ms = 2000,
                                      .duration_ms = 1000,
                                      .exit_code = failure ? 1 : 0,
                                      .user_ms = -1,
                                      .system_ms = -1};
    FAIL_IF(attempt_record_end(k->store, &ended, &job_end, &e) < 0);
    return job_end;
}

static enum job_end run(struct kept *k, int64_t job_id, const char *failure, enum blame blame)
{
    return end(k, job_id, start(k, job_id), failure, blame);
}

TEST(attempt_record_end__host_failures__do_not_count_against_retries)
{
    HELD(kept) k = open_jobs(1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run(&k, 1, "exit", BLAME_HOST), JOB_END_HELD);
        assert_int_equal(number(k.db, "SELECT held IS NOT NULL AND state = 'pending' FROM job WHERE id = 1"), 1);
        must(k.db, "UPDATE job SET held = NULL");
    }
    /* None of the two attempts that the job itself may fail is used up. */
    assert_int_equal(run(&k, 1, "exit", BLAME_JOB), JOB_END_AGAIN);
    assert_int_equal(run(&k, 1, "exit", BLAME_JOB), JOB_END_FAILED);
    assert_int_equal(number(k.db, "SELECT state = 'failed' AND failure = 'exit' FROM job WHERE id = 1"), 1);
}

TEST(attempt_record_end__lost__last_and_then_held_until_it_ends)
{
    HELD(kept) k = open_jobs(1);
    assert_int_equal(run(&k, 1, "lost", BLAME_NODE), JOB_END_AGAIN);
    assert_int_equal(number(k.db, "SELECT losses * 10 + aside FROM job WHERE id = 1"), 10);
    assert_int_equal(run(&k, 1, "lost", BLAME_NODE), JOB_END_AGAIN);
    assert_int_equal(number(k.db, "SELECT losses * 10 + aside FROM job WHERE id = 1"), 21);
    /* A preemption is no loss. */
    assert_int_equal(run(&k, 1, "lost", BLAME_PREEMPTION), JOB_END_AGAIN);
    assert_int_equal(number(k.db, "SELECT losses FROM job WHERE id = 1"), 2);
    assert_int_equal(run(&k, 1, "lost", BLAME_NODE), JOB_END_HELD);
    assert_int_equal(number(k.db, "SELECT losses FROM job WHERE id = 1"), 3);
    must(k.db, "UPDATE job SET held = NULL");
    assert_int_equal(run(&k, 1, NULL, BLAME_JOB), JOB_END_OK);
    assert_int_equal(number(k.db, "SELECT losses + aside FROM job WHERE id = 1"), 0);
}

TEST(attempts_recover__death_of_a_runner__counts_what_ran_and_clears_the_others)
{
    HELD(kept) k = open_jobs(1);
    struct recovered_counts counts;
    must(k.db, "UPDATE job SET losses = 1, aside = 1");
    start(&k, 1);
    FAIL_IF(attempts_recover(k.db, 2, &policy, &counts, &e));
    assert_int_equal(counts.lost, 1);
    assert_int_equal(counts.aside, 1);
    assert_int_equal(number(k.db, "SELECT losses * 10 + aside FROM job WHERE id = 1"), 21);
    assert_int_equal(number(k.db, "SELECT losses * 10 + aside FROM job WHERE id = 2"), 0);
    assert_int_equal(number(k.db, "SELECT count(*) FROM job WHERE state = 'pending'"), 2);
    /* At a death at which nothing ran nobody is cleared or suspected. */
    FAIL_IF(attempts_recover(k.db, 2, &policy, &counts, &e));
    assert_int_equal(counts.lost, 0);
    assert_int_equal(number(k.db, "SELECT losses * 10 + aside FROM job WHERE id = 1"), 21);
}

static void run_with_speed(struct kept *k, double speed)
{
    const struct summary row = {speed, speed, speed, speed, speed, 0, speed, 1, 0, 1, 1, true};
    int64_t attempt_id = start(k, 1);
    FAIL_IF(attempt_record_summary(k->store, attempt_id, "speed", &row, &e) < 0);
    end(k, 1, attempt_id, NULL, BLAME_JOB);
}

/* The worse of the two in the middle stands for an even number of attempts. */
TEST(attempt_record_end__repeats__the_one_in_the_middle_stands_for_the_job)
{
    HELD(kept) k = open_jobs(5);
    static const double speeds[] = {40, 10, 30, 20, 50};
    static const int64_t middle[] = {40, 10, 30, 20, 30};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        run_with_speed(&k, speeds[i]);
        assert_int_equal(number(k.db, "SELECT CAST(s.value AS INTEGER) FROM job AS j JOIN summary AS s"
                                      " ON s.attempt_id = j.attempt_id WHERE j.id = 1"),
                         middle[i]);
    }
    assert_int_equal(number(k.db, "SELECT state = 'ok' FROM job WHERE id = 1"), 1);
}
