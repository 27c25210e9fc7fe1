#include "unit_test.h"

#include <errno.h>

enum { TESTS_MOST = 200 };

/* Constructors are called in an order that the compiler chooses: tests are kept in that of their lines. */
static struct CMUnitTest tests[TESTS_MOST];
static int lines[TESTS_MOST];
static size_t count;
static CMFixtureFunction group_setup, group_teardown;

void unit_test_add(int line, struct CMUnitTest test)
{
    if (count == TESTS_MOST)
        abort();
    size_t at = count++;
    for (; at > 0 && lines[at - 1] > line; at--) {
        lines[at] = lines[at - 1];
        tests[at] = tests[at - 1];
    }
    lines[at] = line;
    tests[at] = test;
}

void unit_tests_within(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    group_setup = setup;
    group_teardown = teardown;
}

int unit_test_run(int argc, char **argv)
{
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(program_invocation_short_name, tests, count, group_setup, group_teardown);
}
