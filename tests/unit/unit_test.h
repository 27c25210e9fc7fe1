/* Includes for unit tests: cmocka, what it wants before it, what most tests call of the C library, allocation, errors,
 * and tests that stand in no list.
 *
 * TEST(function__condition__result) { … } is a test of its program; `state` is cmocka's. Tests run in the order of the
 * file. `test_x PATTERN` runs those whose names match. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A table of cases: TEST_ROWS(name, (const char *text; int64_t ms), {"90", 90000}, {"1d", 86400000}) { … row->text … }
 * does what follows with each row. A failure tells which, by its number and its first member, where that is a text. */
#define TEST_ROWS(name, members, ...) TEST_ROWS_WITHIN(name, NULL, unit_test_tell_row, members, __VA_ARGS__)
#define TEST_ROWS_APART(name, members, ...)                                                                            \
    TEST_ROWS_WITHIN(name, unit_test_enter, unit_test_leave, members, __VA_ARGS__)
#define TEST_ROWS_WITHIN(name, setup, teardown, members, ...)                                                          \
    struct name##__row {                                                                                               \
        UNIT_TEST_MEMBERS members;                                                                                     \
    };                                                                                                                 \
    static const struct name##__row name##__rows[] = {__VA_ARGS__};                                                    \
    static void name##__of(const struct name##__row *row);                                                             \
    TEST_WITHIN(name, setup, teardown)                                                                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < LENGTH(name##__rows); i++) {                                                            \
            unit_test_at_row(i + 1, #members, &name##__rows[i]);                                                       \
            name##__of(&name##__rows[i]);                                                                              \
        }                                                                                                              \
        unit_test_at_row(0, "", NULL);                                                                                 \
    }                                                                                                                  \
    static void name##__of(const struct name##__row *row)
#define UNIT_TEST_MEMBERS(...) __VA_ARGS__
void unit_test_at_row(size_t number, const char *members, const void *row);
int unit_test_tell_row(void **state);

/* Once per program: what goes before its first test and after its last. */
#define TESTS_WITHIN(setup, teardown)                                                                                  \
    __attribute__((constructor)) static void tests_are_within(void)                                                    \
    {                                                                                                                  \
        unit_tests_within(setup, teardown);                                                                            \
    }

/* A test in an empty directory of its own, which is entered, and gone afterwards; TESTS_APART(): a program in one. */
#define TEST_APART(name) TEST_WITHIN(name, unit_test_enter, unit_test_leave)
#define TESTS_APART() TESTS_WITHIN(unit_test_enter, unit_test_leave)
int unit_test_enter(void **state);
int unit_test_leave(void **state);

/* put() writes a file, and makes the folders that it lies in. text_of() is what it holds, the caller's. */
void put(const char *path, const char *text);
char *text_of(const char *path);
void assert_file(const char *path, const char *expected);

/* What stands between the separators, each of one byte; NULL-terminated, the caller's to free as it is. */
char **parts_of(const char *text, const char *separators);

/* Fails the test with the text of an error, which calls in the condition know as `&e`. */
#define FAIL_IF(condition)                                                                                             \
    do {                                                                                                               \
        struct error e = ERROR_INIT;                                                                                   \
        if (condition)                                                                                                 \
            fail_msg("%s", e.text);                                                                                    \
    } while (0)

/* Fails the test with these words where the condition holds; skips it unless it has what it needs. */
#define FAIL_WHERE(condition, ...)                                                                                     \
    do {                                                                                                               \
        if (condition)                                                                                                 \
            fail_msg(__VA_ARGS__);                                                                                     \
    } while (0)
#define NEEDS(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            skip();                                                                                                    \
    } while (0)

/* How often a drawn test is drawn. The variable is set under valgrind and sanitizers, where a round takes up to fifty
 * times as long: what is drawn often or listed to prove a law is proven in the plain build. */
#define rounds_are_few() (getenv("MESHSWEEP_FEW_ROUNDS") != NULL)
/* `all`, or a tenth of them; which is first of a list whose members are looked at one by one, by the variable. */
#define round_step() (rounds_are_few() ? 10 : 1)
#define rounds_of(all) ((all) / round_step())
#define round_first() (rounds_are_few() ? strtoul(getenv("MESHSWEEP_FEW_ROUNDS"), NULL, 10) % 10 : 0)

/* `ROWS(cases, const char *text; int64_t value) = {{"1", 1}, {"2", 2}}` is a table, whose rows have these members. */
#define ROWS(name, ...)                                                                                                \
    static const struct {                                                                                              \
        __VA_ARGS__;                                                                                                   \
    } name[]

/* What a format makes of its arguments is this text. */
#define SAYS(expected, ...)                                                                                            \
    do {                                                                                                               \
        OWNED char *said = xasprintf(__VA_ARGS__);                                                                     \
        assert_string_equal(said, expected);                                                                           \
    } while (0)

/* The call returns -1; the error, which it knows as `&e`, has this text or that part. */
#define FAILS(call) FAILS_WITH_PART(call, "")
#define FAILS_WITH(call, said)                                                                                         \
    do {                                                                                                               \
        struct error e = ERROR_INIT;                                                                                   \
        assert_int_equal(call, -1);                                                                                    \
        assert_string_equal(e.text, said);                                                                             \
    } while (0)
#define FAILS_WITH_PART(call, part)                                                                                    \
    do {                                                                                                               \
        struct error e = ERROR_INIT;                                                                                   \
        assert_int_equal(call, -1);                                                                                    \
        assert_non_null(strstr(e.text, part));                                                                         \
    } while (0)

/* `HELD(plan) p` is a struct plan that plan_free() releases at the end of its block; `HELD_AT(sweep) *s` a pointer to
 * what RELEASES says how to release. */
#define HELD(type) __attribute__((cleanup(type##_free))) struct type
#define HELD_AT(type) __attribute__((cleanup(type##_let_go))) struct type
#define RELEASES(type, release)                                                                                        \
    struct type;                                                                                                       \
    void release(struct type *);                                                                                       \
    static inline void type##_let_go(struct type **held)                                                               \
    {                                                                                                                  \
        release(*held);                                                                                                \
    }

RELEASES(batch_system, batch_system_free)
RELEASES(db, db_close)
RELEASES(formula, formula_free)
RELEASES(line_reader, line_reader_close)
RELEASES(match_cursor, match_close)
RELEASES(memory_lines, memory_lines_free)
RELEASES(model_cursor, model_cursor_free)
RELEASES(model_index, model_index_free)
RELEASES(model_search, model_search_free)
RELEASES(output_reading, output_reading_free)
RELEASES(place_watch, place_watch_free)
RELEASES(prediction_report, prediction_report_free)
RELEASES(predictor, predictor_free)
RELEASES(quantile_sketch, quantile_sketch_free)
RELEASES(reader_set, reader_set_free)
RELEASES(search, search_free)
RELEASES(space, space_free)
RELEASES(sweep, sweep_free)
RELEASES(toml_node, toml_free)

/* Runs the tests: what `main` does, where the program has none of its own. The status for exit. */
int unit_test_run(int argc, char **argv);

void unit_test_add(int line, struct CMUnitTest test);
void unit_tests_within(CMFixtureFunction setup, CMFixtureFunction teardown);
