/* process/inherited_mark: what survives exec, and what is left alone. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "process/process.h"
#include "unit_test.h"

static rlim_t soft_limit(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_RTTIME, &limit), 0);
    return limit.rlim_cur;
}

static int begin_without_limit(void **state)
{
    struct rlimit limit;
    (void)state;
    if (getrlimit(RLIMIT_RTTIME, &limit) < 0 || limit.rlim_max != RLIM_INFINITY)
        return -1;
    limit.rlim_cur = RLIM_INFINITY;
    return setrlimit(RLIMIT_RTTIME, &limit);
}

TEST_WITHIN(borne__after_exec_without_environment__by_its_token_and_database, begin_without_limit, NULL)
{
    int wake[2];
    assert_int_equal(pipe(wake), 0);
    pid_t pid = fork();
    if (pid == 0) {
        inherited_mark_set(inherited_mark("database:7-12"));
        dup2(wake[0], 0);
        close(wake[1]);
        execle("/bin/cat", "cat", (char *)NULL, (char *[]){NULL});
        _exit(1);
    }
    close(wake[0]);
    for (int i = 0; i < 1000 && !inherited_mark_borne(pid, "database:7-12"); i++)
        usleep(10000);
    assert_true(inherited_mark_borne(pid, "database:7-12"));
    assert_true(inherited_mark_borne(pid, "database"));
    assert_false(inherited_mark_borne(pid, "database:7-13"));
    assert_false(inherited_mark_borne(pid, "another:7-12"));
    assert_false(inherited_mark_borne(pid, "another"));
    assert_false(inherited_mark_borne(getpid(), "database:7-12"));
    close(wake[1]);
    waitpid(pid, NULL, 0);
}

TEST_WITHIN(set__by_a_runner_that_is_a_job__its_own_mark, begin_without_limit, NULL)
{
    inherited_mark_set(inherited_mark("outer:1-1"));
    inherited_mark_set(inherited_mark("inner:1-2"));
    assert_true(inherited_mark_borne(getpid(), "inner:1-2"));
    inherited_mark_set(inherited_mark("outer:1-1"));
    assert_true(inherited_mark_borne(getpid(), "outer:1-1"));
}

TEST_WITHIN(set__limit_of_somebody_else__stays, begin_without_limit, NULL)
{
    struct rlimit limit = {200000, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_RTTIME, &limit), 0);
    inherited_mark_set(inherited_mark("database:1-1"));
    assert_int_equal(soft_limit(), 200000);
    assert_false(inherited_mark_borne(getpid(), "database"));
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTTIME, &limit) < 0 || limit.rlim_max != RLIM_INFINITY)
        return 77;
    return unit_test_run(argc, argv);
}
