/* report: the time that is left of a run. */
#include "report/progress.h"
#include "unit_test.h"

static int64_t given(void *context)
{
    return *(const int64_t *)context;
}

TEST(left__nothing_happens__goes_down_with_time)
{
    struct countdown c = COUNTDOWN_INIT;
    int64_t estimate = 60000;
    assert_int_equal(countdown_left_ms(&c, (struct work_left){0, 2, 8}, 1000, given, &estimate), 60000);
    /* Another estimate would be as good, and higher. */
    estimate = 70000;
    assert_int_equal(countdown_left_ms(&c, (struct work_left){0, 2, 8}, 11000, given, &estimate), 50000);
    assert_int_equal(countdown_left_ms(&c, (struct work_left){0, 2, 8}, 99000, given, &estimate), 0);
    assert_int_equal(countdown_left_ms(&c, (struct work_left){1, 2, 7}, 99000, given, &estimate), 70000);
}

TEST(left__unknown__asked_again)
{
    struct countdown c = COUNTDOWN_INIT;
    int64_t estimate = -1;
    assert_int_equal(countdown_left_ms(&c, (struct work_left){0, 1, 1}, 0, given, &estimate), -1);
    estimate = 5000;
    assert_int_equal(countdown_left_ms(&c, (struct work_left){0, 1, 1}, 1000, given, &estimate), 5000);
}

struct sweep_of_equal_jobs {
    int64_t each_ms;
    struct work_left now;
};

static int64_t estimate_of(void *context)
{
    const struct sweep_of_equal_jobs *s = context;
    return countdown_estimate_ms((double)s->each_ms, s->now.pending, s->now.running);
}

/* Slots that begin one after another, jobs of one length: what is said never rises, and never leaps. */
TEST(left__equal_jobs_in_slots__no_saw)
{
    enum { EACH_MS = 60000, JOBS = 40, TICK_MS = 500 };
    for (int64_t slots = 1; slots <= 4; slots++) {
        struct countdown c = COUNTDOWN_INIT;
        struct sweep_of_equal_jobs s = {EACH_MS, {0, slots, JOBS - slots}};
        int64_t last_ms = INT64_MAX;
        for (int64_t now_ms = 0; s.now.finished < JOBS - slots; now_ms += TICK_MS) {
            /* The first jobs end a share of their length after each other, and so do the next. */
            int64_t ended = 0;
            for (int64_t slot = 0; slot < slots; slot++)
                ended += (now_ms + EACH_MS - (slot + 1) * EACH_MS / slots) / EACH_MS;
            s.now = (struct work_left){ended, slots, JOBS - slots - ended};
            int64_t left_ms = countdown_left_ms(&c, s.now, now_ms, estimate_of, &s);
            if (last_ms != INT64_MAX)
                assert_in_range(last_ms - left_ms, 0, 2 * TICK_MS);
            last_ms = left_ms;
        }
        assert_in_range(last_ms, EACH_MS / 2, EACH_MS);
    }
}
