/* Includes for unit tests: cmocka, what it wants before it, allocation, errors, and tests that stand in no list.
 *
 * TEST(function__condition__result) { … } is a test of its program; `state` is cmocka's. Tests run in the order of the
 * file. `test_x PATTERN` runs those whose names match. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/error.h"
#include "util/memory.h"

#define TEST(name) TEST_WITHIN(name, NULL, NULL)

/* A test with its own setup and teardown, functions of cmocka's; either may be NULL. */
#define TEST_WITHIN(name, setup, teardown)                                                                             \
    static void name(void **state);                                                                                    \
    __attribute__((constructor)) static void name##__is_a_test(void)                                                   \
    {                                                                                                                  \
        unit_test_add(__LINE__, (struct CMUnitTest){#name, name, setup, teardown, NULL});                              \
    }                                                                                                                  \
    static void name(__attribute__((unused)) void **state)

/* Once per program: what goes before its first test and after its last. */
#define TESTS_WITHIN(setup, teardown)                                                                                  \
    __attribute__((constructor)) static void tests_are_within(void)                                                    \
    {                                                                                                                  \
        unit_tests_within(setup, teardown);                                                                            \
    }

/* Fails the test with the text of an error, which calls in the condition know as `&e`. */
#define FAIL_IF(condition)                                                                                             \
    do {                                                                                                               \
        struct error e = ERROR_INIT;                                                                                   \
        if (condition)                                                                                                 \
            fail_msg("%s", e.text);                                                                                    \
    } while (0)

/* Runs the tests: what `main` does, where the program has none of its own. The status for exit. */
int unit_test_run(int argc, char **argv);

void unit_test_add(int line, struct CMUnitTest test);
void unit_tests_within(CMFixtureFunction setup, CMFixtureFunction teardown);
