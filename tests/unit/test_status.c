/* store: the time that is left, and who holds the writer's lock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/lock.h"
#include "store/status.h"

static struct status_attempt attempts[] = {
    {.job_id = 1, .number = 1, .started_ms = 1000},
    {.job_id = 2, .number = 1, .started_ms = 4000},
    {.job_id = 3, .number = 1, .started_ms = 5000},
};

static void status_eta_ms__nothing_left__zero(void **state)
{
    (void)state;
    const struct sweep_status s = {.ok = 5, .mean_ms = 100};
    assert_int_equal(status_eta_ms(&s, 0), 0);
}

static void status_eta_ms__nothing_known__unknown(void **state)
{
    (void)state;
    const struct sweep_status no_mean = {.pending = 5, .mean_ms = -1, .attempt_total = 1};
    const struct sweep_status none_runs = {.pending = 5, .mean_ms = 100};
    assert_int_equal(status_eta_ms(&no_mean, 0), -1);
    assert_int_equal(status_eta_ms(&none_runs, 0), -1);
}

static void status_eta_ms__some_run__rest_of_these_and_the_waiting(void **state)
{
    (void)state;
    struct sweep_status s = {
        .pending = 4, .running = 3, .mean_ms = 3000, .attempts = attempts, .attempt_count = 3, .attempt_total = 3};
    /* Of those that run 0 (it is overdue), 2000 and 3000 are left, and four times 3000 wait. */
    assert_int_equal(status_eta_ms(&s, 5000), (0 + 2000 + 3000 + 4 * 3000) / 3);
    /* A clock that went back makes nothing longer than the mean. */
    assert_int_equal(status_eta_ms(&s, 0), (3 * 3000 + 4 * 3000) / 3);
    /* Those that are not listed have all before them. */
    s.attempt_total = 4;
    assert_int_equal(status_eta_ms(&s, 5000), (0 + 2000 + 3000 + 5 * 3000) / 4);
}

static void writer_lock_is_held__taken_and_released__follows(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_eta_ms__nothing_left__zero),
        cmocka_unit_test(status_eta_ms__nothing_known__unknown),
        cmocka_unit_test(status_eta_ms__some_run__rest_of_these_and_the_waiting),
        cmocka_unit_test(writer_lock_is_held__taken_and_released__follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
