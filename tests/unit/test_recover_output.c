/* run: the output of attempts whose runner died. */
#include <fcntl.h>
#include <sys/stat.h>

#include "database_fixture.h"
#include "process/supervisor.h"
#include "run/run_state.h"

#define KEY_DIRECTORY "0a00000000000000"

static struct db *db;

/* Attempts 7 and 8 of one job are open; slot 0 is of 8, slot 1 of 5, which has ended. */
static int set_up(void **state)
{
    if (unit_test_enter(state) < 0)
        return -1;
    put("slots/owners", "");
    db = database_with("INSERT INTO job (id, key, sweep_id, rank, derived, state) VALUES"
                       " (1, x'0A000000000000000000000000000000', 1, 0, '{}', 'running');"
                       "INSERT INTO attempt (id, job_id, number, runner_id, state, started) VALUES"
                       " (5, 1, 1, 1, 'ok', 1), (7, 1, 2, 1, 'running', 5000), (8, 1, 3, 1, 'running', 5000)");
    int fd = slot_owners_open("slots");
    slot_owner_set(fd, 0, 7);
    slot_owner_set(fd, 1, 5);
    slot_owner_set(fd, 0, 8);
    return close(fd);
}

static int tear_down(void **state)
{
    db_close(db);
    return unit_test_leave(state);
}

#define RECOVER_TEST(name) TEST_WITHIN(name, set_up, tear_down)

static void recover(void)
{
    FAIL_IF(recover_outputs(db, "slots", ".", &SECRETS_INIT, &e) < 0);
}

/* How many attempts the condition holds for. */
static void assert_attempts(const char *condition, int64_t expected)
{
    OWNED char *sql = xasprintf("SELECT count(*) FROM attempt WHERE %s", condition);
    assert_int_equal(number(db, sql), expected);
}

RECOVER_TEST(recover_output__open_attempt_had_written__kept_with_it)
{
    put("slots/slot-0.log", "one\ntwo\n");
    put("slots/attempt-8.metrics.jsonl", "{}\n");
    recover();
    assert_file(KEY_DIRECTORY "/3/output.log", "one\ntwo\n");
    assert_file(KEY_DIRECTORY "/3/metrics.jsonl", "{}\n");
    assert_attempts("id = 8 AND directory = '" KEY_DIRECTORY "/3' AND log_bytes = 8 AND log_tail = 'one\ntwo\n'", 1);
    assert_attempts("directory IS NULL", 2);
    recover(); /* again, as after a second crash */
    assert_attempts("directory IS NOT NULL", 1);
}

RECOVER_TEST(recover_output__only_metrics__kept)
{
    put("slots/attempt-7.metrics.jsonl", "{}\n");
    recover();
    assert_file(KEY_DIRECTORY "/2/metrics.jsonl", "{}\n");
    assert_attempts("id = 7 AND directory = '" KEY_DIRECTORY "/2' AND log_bytes = 0", 1);
}

RECOVER_TEST(recover_output__name_taken__nothing_written_over)
{
    put(KEY_DIRECTORY "/3/output.log", "older\n");
    const struct timespec long_ago[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, KEY_DIRECTORY "/3", long_ago, 0), 0);
    put("slots/slot-0.log", "newer\n");
    recover();
    assert_file(KEY_DIRECTORY "/3/output.log", "older\n");
    assert_file(KEY_DIRECTORY "/3-2/output.log", "newer\n");
}

/* The runner died between moving the one file and the other. */
RECOVER_TEST(recover_output__keeping_had_begun__completed_in_the_same_place)
{
    put(KEY_DIRECTORY "/3/output.log", "all\n");
    put("slots/attempt-8.metrics.jsonl", "{}\n");
    recover();
    assert_file(KEY_DIRECTORY "/3/output.log", "all\n");
    assert_file(KEY_DIRECTORY "/3/metrics.jsonl", "{}\n");
    assert_attempts("id = 8 AND directory = '" KEY_DIRECTORY "/3' AND log_tail = 'all\n'", 1);
}

RECOVER_TEST(recover_output__claim_that_had_run__no_longer_a_claim)
{
    must(db, "DROP TRIGGER attempt_state; UPDATE attempt SET state = 'claimed', started = NULL WHERE id IN (7, 8)");
    put("slots/slot-0.log", "one\n");
    recover();
    assert_attempts("id = 8 AND state = 'running' AND started = 1 AND log_tail = 'one\n'", 1);
    assert_attempts("id = 7 AND state = 'claimed' AND directory IS NULL", 1);
}

RECOVER_TEST(recover_output__slot_of_another_attempt__left_alone)
{
    put("slots/slot-1.log", "of five\n");
    put("slots/slot-0.log", "");
    recover();
    assert_file("slots/slot-1.log", "of five\n");
    assert_attempts("directory IS NULL", 3);
}

RECOVER_TEST(recover_output__no_owners_file__nothing)
{
    assert_int_equal(unlink("slots/owners"), 0);
    put("slots/slot-0.log", "whose?\n");
    recover();
    assert_file("slots/slot-0.log", "whose?\n");
    assert_attempts("directory IS NULL", 3);
}
