/* Sweep files as text: what is read of them, and the messages on those with faults. */
#pragma once

#include "sweep_file/reader.h"
#include "unit_test.h"

/* The caller's. */
static inline struct sweep *sweep_of(const char *text)
{
    struct error e = ERROR_INIT;
    struct sweep *s = NULL;
    FAIL_WHERE(sweep_parse("s.toml", text, strlen(text), &s, &e) < 0, "%s\n%s", text, e.text);
    return s;
}

static inline void assert_problems(const char *text, const char *expected)
{
    struct error e = ERROR_INIT;
    struct sweep *s = NULL;
    FAIL_WHERE(sweep_parse("s.toml", text, strlen(text), &s, &e) == 0, "accepted:\n%s", text);
    assert_null(s);
    assert_int_equal(e.kind, ERROR_USAGE);
    FAIL_WHERE(strcmp(e.text, expected) != 0, "%s\n--- said\n%s\n--- not\n%s", text, e.text, expected);
}

struct problem_case {
    const char *text, *message; /* without "s.toml:" */
};

static inline void assert_cases(const struct problem_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *expected = xasprintf("s.toml:%s", cases[i].message);
        assert_problems(cases[i].text, expected);
        free(expected);
    }
}

#define ASSERT_CASES(cases) assert_cases(cases, sizeof(cases) / sizeof *(cases))

/* A test of cases alone. */
#define PROBLEMS(name, ...)                                                                                            \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        static const struct problem_case cases[] = {__VA_ARGS__};                                                      \
        ASSERT_CASES(cases);                                                                                           \
    }
