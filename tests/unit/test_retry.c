/* store: after how long a job is tried again, and where it failed before. */
#include "database_fixture.h"
#include "store/attempts.h"
#include "store/states.h"

TEST(retry_delay__doubles__up_to_the_longest)
{
    const struct retry_policy p = {{0}, 1000, 5000, false, 0};
    const int64_t expected[] = {1000, 2000, 4000, 5000, 5000};
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(retry_delay_ms(&p, i + 1), expected[i]);
}

TEST(retry_delay__extremes__neither_overflow_nor_loop)
{
    const struct retry_policy long_ones = {{0}, INT64_MAX / 3, INT64_MAX, false, 0}, none = {{0}, 0, 5000, false, 0},
                              capped = {{0}, 9000, 5000, false, 0};
    assert_int_equal(retry_delay_ms(&long_ones, INT64_MAX), INT64_MAX);
    assert_int_equal(retry_delay_ms(&none, INT64_MAX), 0);
    assert_int_equal(retry_delay_ms(&capped, 1), 5000);
}

TEST(retry_allowed__class_that_is_none__once)
{
    const struct retry_policy p = {.attempts = {[FAILURE_LOST] = 9}};
    assert_int_equal(retry_allowed(&p, "lost"), 9);
    assert_int_equal(retry_allowed(&p, "cancelled"), 1);
    assert_int_equal(retry_allowed(&p, "no such class"), 1);
}

TEST(places_of_failures__some__each_once_and_the_last_first)
{
    HELD(places) places = PLACES_INIT;
    HELD_AT(db) *db =
        database_with("INSERT INTO job (id, key, sweep_id, rank) VALUES (1, zeroblob(16), 1, 0),"
                      " (2, x'01010101010101010101010101010101', 1, 1);"
                      "INSERT INTO attempt (job_id, number, runner_id, state, failure, host, devices) VALUES"
                      " (1, 1, 1, 'failed', 'exit', NULL, '0,2'), (1, 2, 1, 'failed', 'lost', 'node7', NULL),"
                      " (1, 3, 1, 'ok', NULL, NULL, '1'), (1, 4, 1, 'failed', 'exit', NULL, '0,2'),"
                      " (1, 5, 1, 'failed', 'cancelled', NULL, '5'), (2, 1, 1, 'failed', 'exit', NULL, '6')");
    FAIL_IF(places_of_failures(db, 1, &places, &e));
    assert_int_equal(places.count, 2);
    assert_string_equal(places.items[0].host, "host");
    assert_string_equal(places.items[0].devices, "0,2");
    assert_string_equal(places.items[1].host, "node7");
    assert_null(places.items[1].devices);
}
