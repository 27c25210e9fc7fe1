/* run/host_watch: whose fault a start was that failed, and how a run pauses. */
#include <errno.h>

#include "run/host_watch.h"
#include "unit_test.h"
#include "util/clock.h"

static struct host_watch w[1];

static int open_watch(void **state)
{
    host_watch_open(w, ".", 100000, true);
    return unit_test_enter(state);
}

static int close_watch(void **state)
{
    host_watch_close(w);
    return unit_test_leave(state);
}

#define WATCH_TEST(name) TEST_WITHIN(name, open_watch, close_watch)

static enum host_answer judge_by(struct host_watch *by, int64_t job, const char *stage, int error_number,
                                 const char *subject)
{
    const struct outcome o = {.spawn_stage = stage, .error_number = error_number, .spawn_subject = (char *)subject};
    return host_watch_judge(by, job, &o);
}

static enum host_answer judge(int64_t job, const char *stage, int error_number, const char *subject)
{
    return judge_by(w, job, stage, error_number, subject);
}

WATCH_TEST(host_watch_judge__by_what_failed__whose_fault_it_may_be)
{
    static const int of_host[] = {EMFILE, ENFILE, ENOMEM, EAGAIN, ENOSPC, EDQUOT, EIO, EROFS, ESTALE, ETIMEDOUT};
    static const int of_job[] = {E2BIG, ENOEXEC, ELOOP, ENAMETOOLONG, EINVAL};
    for (size_t i = 0; i < LENGTH(of_host); i++)
        assert_int_equal(judge(1, "exec", of_host[i], "/opt/a"), HOST_BLAMES_HOST);
    for (size_t i = 0; i < LENGTH(of_job); i++)
        assert_int_equal(judge(1, "exec", of_job[i], "/opt/a"), HOST_BLAMES_JOB);
    assert_int_equal(judge(1, "fork", EINVAL, NULL), HOST_BLAMES_HOST);
    /* Job files that cannot be made while there is room are the job's own, its log never is. */
    assert_int_equal(judge(1, "job files", EACCES, NULL), HOST_BLAMES_JOB);
    assert_int_equal(judge(1, "log", ENOENT, NULL), HOST_BLAMES_HOST);
    assert_int_equal(judge(1, "exec", ENOENT, "/opt/a"), HOST_UNSURE);
}

WATCH_TEST(host_watch_judge__two_jobs_alike__the_host)
{
    assert_int_equal(judge(1, "exec", ENOENT, "/opt/bin/train"), HOST_UNSURE);
    assert_int_equal(judge(1, "exec", ENOENT, "/opt/bin/train"), HOST_UNSURE);  /* the same job */
    assert_int_equal(judge(2, "exec", EACCES, "/opt/bin/train"), HOST_UNSURE);  /* another error */
    assert_int_equal(judge(3, "chdir", EACCES, "/opt/bin/train"), HOST_UNSURE); /* another act */
    assert_int_equal(judge(4, "chdir", EACCES, "/home/bin/x"), HOST_UNSURE);    /* another directory */
    assert_int_equal(judge(5, "chdir", EACCES, "/home/bin/y"), HOST_BLAMES_HOST);
}

WATCH_TEST(host_watch_judge__a_start_in_between__no_longer_alike)
{
    assert_int_equal(judge(1, "exec", ENOENT, "/opt/bin/train"), HOST_UNSURE);
    assert_false(host_watch_started(w, 2));
    assert_int_equal(judge(3, "exec", ENOENT, "/opt/bin/train"), HOST_UNSURE);
    assert_int_equal(judge(4, "exec", ENOENT, "/opt/bin/train"), HOST_BLAMES_HOST);
}

WATCH_TEST(host_watch_is_host__held_job__blamed_only_once_another_has_started)
{
    assert_true(host_watch_started(w, 9) == false);
    assert_true(host_watch_hold(w, 1, "no processes are left", HOST_NEEDS_START));
    assert_false(host_watch_hold(w, 2, "no processes are left", HOST_NEEDS_START));
    /* While it pauses it is not asked whose fault a start may be. */
    assert_int_equal(judge(7, "exec", ENOENT, "/opt/a"), HOST_BLAMES_HOST);
    /* Nothing has started since: it is the host still. */
    assert_true(host_watch_is_host(w, 1));
    assert_int_equal(judge(1, "fork", EAGAIN, NULL), HOST_BLAMES_HOST);
    assert_true(host_watch_started(w, 3));
    assert_false(host_watch_is_host(w, 1));
    assert_false(host_watch_is_host(w, 2));
    assert_true(host_watch_is_host(w, 3));
    assert_int_equal(judge(1, "fork", EAGAIN, NULL), HOST_BLAMES_JOB);
    /* One that could be started is held no more. */
    assert_false(host_watch_started(w, 1));
    assert_true(host_watch_is_host(w, 1));
    assert_false(host_watch_is_host(w, 2));
    /* A new pause asks anew. */
    assert_true(host_watch_hold(w, 2, "no processes are left", HOST_NEEDS_START));
    assert_true(host_watch_is_host(w, 2));
}

WATCH_TEST(host_watch_is_host__one_job_ends_again_and_again__not_for_ever)
{
    for (int i = 0; i < 3; i++)
        assert_true(host_watch_is_host(w, 1));
    assert_false(host_watch_is_host(w, 1));
    assert_true(host_watch_is_host(w, 2));
}

/* As if the next were due now. */
static int64_t wait_after_next(void)
{
    w->probe_ms = clock_monotonic_ms();
    assert_true(host_watch_may_start(w, false));
    assert_false(host_watch_may_start(w, false));
    return (host_watch_due_ms(w) + 500) / 1000;
}

WATCH_TEST(host_watch_may_start__pause__one_now_and_then_later_each_time)
{
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 32, 60, 60};
    assert_true(host_watch_may_start(w, false));
    assert_true(host_watch_may_start(w, false));
    assert_int_equal(host_watch_due_ms(w), -1);
    host_watch_hold(w, 1, "no processes are left", HOST_NEEDS_START);
    assert_false(host_watch_may_start(w, false));
    assert_in_range(host_watch_due_ms(w), 1, 1000);
    for (size_t i = 0; i < LENGTH(seconds); i++)
        assert_int_equal(wait_after_next(), seconds[i]);
    /* At once, and soon again. */
    assert_true(host_watch_may_start(w, true));
    assert_in_range(host_watch_due_ms(w), 1, 1000);
    assert_int_equal(wait_after_next(), 2);
    w->probe_ms = clock_monotonic_ms() - 5000;
    assert_int_equal(host_watch_due_ms(w), 0);
    assert_true(host_watch_started(w, 2));
    assert_int_equal(host_watch_due_ms(w), -1);
    /* The next pause begins with the shortest wait. */
    host_watch_hold(w, 1, "no processes are left", HOST_NEEDS_START);
    assert_int_equal(wait_after_next(), 1);
}

WATCH_TEST(host_watch_may_start__disk__only_with_room)
{
    w->scratch = "/dev/full/none";
    host_watch_hold(w, 1, "the disk is full", HOST_NEEDS_DISK);
    assert_false(host_watch_may_start(w, true));
    w->scratch = ".";
    assert_true(host_watch_may_start(w, true));
    assert_true(host_watch_started(w, 2));
    /* The needs of another pause are not remembered. */
    w->scratch = "/dev/full/none";
    host_watch_hold(w, 3, "no processes are left", HOST_NEEDS_START);
    assert_true(host_watch_may_start(w, true));
}

WATCH_TEST(host_watch_gives_up__by_time_or_where_nothing_ever_ran)
{
    assert_false(host_watch_gives_up(w));
    host_watch_hold(w, 1, "no such program", HOST_NEEDS_START);
    assert_false(host_watch_gives_up(w));
    w->since_ms = clock_monotonic_ms() - w->give_up_ms + 1000;
    assert_false(host_watch_gives_up(w));
    w->since_ms -= 1000;
    assert_true(host_watch_gives_up(w));
    host_watch_started(w, 2);
    assert_false(host_watch_gives_up(w));

    struct host_watch fresh;
    host_watch_open(&fresh, w->scratch, 100000, false);
    assert_int_equal(judge_by(&fresh, 1, "exec", ENOENT, "/opt/none"), HOST_UNSURE);
    assert_int_equal(judge_by(&fresh, 2, "exec", ENOENT, "/opt/none"), HOST_BLAMES_HOST);
    host_watch_hold(&fresh, 2, "no such program", HOST_NEEDS_START);
    assert_true(host_watch_gives_up(&fresh)); /* it may be the sweep's */
    host_watch_close(&fresh);
    host_watch_open(&fresh, w->scratch, 100000, false);
    assert_int_equal(judge_by(&fresh, 1, "fork", EAGAIN, NULL), HOST_BLAMES_HOST);
    host_watch_hold(&fresh, 1, "no processes are left", HOST_NEEDS_START);
    assert_false(host_watch_gives_up(&fresh)); /* it is certainly not */
    host_watch_close(&fresh);
}
