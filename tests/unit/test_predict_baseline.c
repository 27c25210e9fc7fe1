/* predict: the models that need no model, and DeepSpeed's estimates. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predict/baseline.h"
#include "predict/model_states.h"

static void memory_line_fit__two_points__the_line_through_them(void **state)
{
    (void)state;
    struct memory_line line;
    struct error e = ERROR_INIT;
    assert_int_equal(memory_line_fit((const double[]){2, 6}, (const double[]){10e9, 18e9}, 2, &line, &e), 0);
    assert_true(line.base_bytes == 6e9 && line.bytes_per_sample == 2e9);
    assert_true(memory_line_bytes(&line, 10) == 26e9);
    assert_true(memory_line_largest(&line, 80e9) == 37);
    assert_true(memory_line_largest(&line, 7e9) == 0);
    assert_true(memory_line_largest(&line, 1e30) == 1e6);
}

static void memory_line_fit__no_line__refused_untouched(void **state)
{
    (void)state;
    static const struct {
        double x[2], y[2];
        size_t count;
    } cases[] = {{{1, 1}, {2, 3}, 2}, {{1, 2}, {3, 3}, 2},   {{1, 2}, {4, 3}, 2}, {{1}, {2}, 1},
                 {{0}, {0}, 0},       {{1, 2}, {1, NAN}, 2}, {{-1, 2}, {1, 2}, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memory_line line = {42, 42};
        struct error e = ERROR_INIT;
        assert_int_equal(memory_line_fit(cases[i].x, cases[i].y, cases[i].count, &line, &e), -1);
        assert_true(line.base_bytes == 42 && e.kind == ERROR_FAILED);
    }
}

static void baseline_compare__constant_utilisation__baseline_wins_over_a_model_that_is_off(void **state)
{
    (void)state;
    const struct timed_run runs[] = {{1.2, 2, 1}, {2.4, 4, 2}, {3.6, 6, 3}, {4.8, 8, 4}};
    struct baseline_comparison c;
    struct error e = ERROR_INIT;
    assert_int_equal(baseline_compare(runs, 4, 10, &c, &e), 0);
    assert_int_equal(c.compared, 3);
    assert_true(c.baseline_wins && c.baseline_error == 0 && fabs(c.model_error - 0.4) < 1e-12);
    assert_int_equal(baseline_compare(runs, 4, 2, &c, &e), 0);
    assert_int_equal(c.compared, 2);
}

/* The baseline of a run must not know the run. */
static void baseline_compare__changing_utilisation__model_wins(void **state)
{
    (void)state;
    const struct timed_run runs[] = {{1, 1, 1}, {2.1, 2, 1}, {3.9, 4, 1}};
    struct baseline_comparison c;
    struct error e = ERROR_INIT;
    assert_int_equal(baseline_compare(runs, 3, 10, &c, &e), 0);
    assert_false(c.baseline_wins);
    assert_true(fabs(c.baseline_error - (0.5 + (1 - 1.5 / 4)) / 2) < 1e-12);
}

static void baseline_compare__senseless__refused(void **state)
{
    (void)state;
    const struct timed_run good[] = {{1, 1, 1}, {1, 1, 1}}, bad[] = {{1, 1, 1}, {1, 0, 1}};
    struct baseline_comparison c = {.compared = 42};
    struct error e = ERROR_INIT;
    assert_int_equal(baseline_compare(good, 1, 10, &c, &e), -1);
    assert_int_equal(baseline_compare(good, 2, 0, &c, &e), -1);
    assert_int_equal(baseline_compare(bad, 2, 10, &c, &e), -1);
    assert_int_equal(c.compared, 42);
}

#define GIB 1073741824.0

/* DeepSpeed's memory page: t5-3b, 2851 million parameters, 32 million in the largest layer, one node of 8.
 * Its stage 2 without offload (15.93 GB) is of releases that held 4 bytes per parameter on every device; see
 * model_states.h. */
static void model_states_estimate__t5_3b__page_of_the_documentation(void **state)
{
    (void)state;
    static const struct {
        int64_t zero;
        enum offload offload;
        bool sharded;
        double host_gib, device_gib;
    } cases[] = {{2, OFFLOAD_OPTIMIZER, false, 127.45, 5.31}, {2, OFFLOAD_NONE, false, 127.45, 11.28},
                 {3, OFFLOAD_PARAMETERS, true, 71.69, 0.12},  {3, OFFLOAD_PARAMETERS, false, 127.45, 0.12},
                 {3, OFFLOAD_OPTIMIZER, true, 63.72, 0.78},   {3, OFFLOAD_OPTIMIZER, false, 127.45, 0.78},
                 {3, OFFLOAD_NONE, true, 1.43, 6.09},         {3, OFFLOAD_NONE, false, 127.45, 6.09}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct model_states_input input = {2851e6, 32e6, 1, 8, cases[i].zero, cases[i].offload, cases[i].sharded};
        struct model_states s;
        struct error e = ERROR_INIT;
        assert_int_equal(model_states_estimate(&input, &s, &e), 0);
        assert_true(fabs(s.host_bytes / GIB - cases[i].host_gib) < 0.006);
        assert_true(fabs(s.device_bytes / GIB - cases[i].device_gib) < 0.006);
    }
}

/* The same page: t5-large on 4 devices, in MiB. */
static void model_states_estimate__t5_large__cases_of_the_documentation(void **state)
{
    (void)state;
    static const double mib[] = {[OFFLOAD_NONE] = 3291, [OFFLOAD_OPTIMIZER] = 477, [OFFLOAD_PARAMETERS] = 125};
    for (int offload = OFFLOAD_NONE; offload <= OFFLOAD_PARAMETERS; offload++) {
        const struct model_states_input input = {737.67e6, 32.90e6, 1, 4, 3, (enum offload)offload, true};
        struct model_states s;
        struct error e = ERROR_INIT;
        assert_int_equal(model_states_estimate(&input, &s, &e), 0);
        assert_true(fabs(floor(s.device_bytes / 1048576) - mib[offload]) <= 1);
    }
}

static void model_states_estimate__senseless__refused(void **state)
{
    (void)state;
    const struct model_states_input cases[] = {{0, 1, 1, 8, 2, OFFLOAD_NONE, false},
                                               {NAN, 1, 1, 8, 2, OFFLOAD_NONE, false},
                                               {1e9, 1, 0, 8, 2, OFFLOAD_NONE, false},
                                               {1e9, 1, 1, 8, 1, OFFLOAD_NONE, false},
                                               {1e9, 1, 1, 8, 2, OFFLOAD_PARAMETERS, false},
                                               {1e30, 1, 1, 8, 2, OFFLOAD_NONE, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_states s = {42, 42};
        struct error e = ERROR_INIT;
        assert_int_equal(model_states_estimate(&cases[i], &s, &e), -1);
        assert_true(s.device_bytes == 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_line_fit__two_points__the_line_through_them),
        cmocka_unit_test(memory_line_fit__no_line__refused_untouched),
        cmocka_unit_test(baseline_compare__constant_utilisation__baseline_wins_over_a_model_that_is_off),
        cmocka_unit_test(baseline_compare__changing_utilisation__model_wins),
        cmocka_unit_test(baseline_compare__senseless__refused),
        cmocka_unit_test(model_states_estimate__t5_3b__page_of_the_documentation),
        cmocka_unit_test(model_states_estimate__t5_large__cases_of_the_documentation),
        cmocka_unit_test(model_states_estimate__senseless__refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
