#include "unit_test.h"

#include <errno.h>
#include <sys/stat.h>

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

/* 0: none is at hand */
static size_t row_number;
static const char *row_text;

void unit_test_at_row(size_t number, const char *members, const void *row)
{
    row_number = number;
    row_text = strncmp(members, "(const char *", 13) == 0 ? *(const char *const *)row : NULL;
}

int unit_test_tell_row(void **state)
{
    (void)state;
    if (row_number > 0)
        print_error("In row %zu%s%s\n", row_number, row_text ? ": " : "", row_text ? row_text : "");
    row_number = 0;
    return 0;
}

static char apart[64], before[4096];

int unit_test_enter(void **state)
{
    (void)state;
    strcpy(apart, "/tmp/meshsweep-unit-XXXXXX");
    return getcwd(before, sizeof before) && mkdtemp(apart) ? chdir(apart) : -1;
}

int unit_test_leave(void **state)
{
    char command[80];
    snprintf(command, sizeof command, "rm -rf '%s'", apart);
    int rc = chdir(before) | system(command) | unit_test_tell_row(state);
    return rc;
}

void put(const char *path, const char *text)
{
    char *folder = strdup(path);
    for (char *slash = folder; (slash = strchr(slash + 1, '/')); *slash = '/') {
        *slash = '\0';
        mkdir(folder, 0777);
    }
    free(folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

char *text_of(const char *path)
{
    char *text = NULL;
    size_t size;
    assert_non_null(path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    if (getdelim(&text, &size, '\0', file) < 0)
        *(text = realloc(text, 1)) = '\0';
    fclose(file);
    return text;
}

void assert_file(const char *path, const char *expected)
{
    char *text = text_of(path);
    assert_string_equal(text, expected);
    free(text);
}

char **parts_of(const char *text, const char *separators)
{
    const size_t most = strlen(text) / 2 + 2;
    char **parts = calloc(1, most * sizeof *parts + strlen(text) + 1), *rest = (char *)(parts + most);
    assert_non_null(parts);
    strcpy(rest, text);
    for (size_t i = 0; (parts[i] = strsep(&rest, separators)); i++)
        assert_true(i + 1 < most);
    return parts;
}

int unit_test_run(int argc, char **argv)
{
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(program_invocation_short_name, tests, count, group_setup, group_teardown);
}
