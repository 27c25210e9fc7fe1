/* util: how long this process stood still. */
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

#include "unit_test.h"
#include "util/clock.h"

enum { STOPPED_MS = 1300, LATER_MS = 400, LONGEST_MS = 20000 };

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

/* In the child. Status: 0 what was seen first is all; 1 more came after it; 2 never stopped. */
static int stand_still(int ready)
{
    clock_watch_stillness();
    if (write(ready, "", 1) != 1)
        return 2;
    int64_t until = clock_monotonic_ms() + LONGEST_MS, first;
    while ((first = clock_still_us()) == 0)
        if (clock_monotonic_ms() > until)
            return 2;
    sleep_ms(LATER_MS);
    return clock_still_us() == first && first >= STOPPED_MS * 500 ? 0 : 1;
}

/* A job that is started in that moment is not one that stood still. */
TEST(clock_still_us__first_reading_after_a_stop__is_all_of_it)
{
    for (int i = 0; i < 3; i++) {
        int ready[2], status;
        char byte;
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(stand_still(ready[1]));
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(kill(child, SIGSTOP), 0);
        sleep_ms(STOPPED_MS);
        assert_int_equal(kill(child, SIGCONT), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        close(ready[0]);
        close(ready[1]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}
