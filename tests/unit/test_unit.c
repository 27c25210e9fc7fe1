/* util: units as programs print them. */
#include "unit_test.h"
#include "util/unit.h"

TEST_ROWS(convert__one_dimension__factor, (double value; const char *from, *to; double expected),
          {76.67, "ms", "s", 0.07667}, {34, "us", "ms", 0.034}, {2, "minutes", "s", 120},
          {81.9, "TFLOPS", "FLOPS", 81.9e12}, {2048, "MB", "GiB", 2048e6 / 1073741824}, {3, "GiB", "MiB", 3072},
          {336.23, "M", "", 336.23e6}, {1.5, "B", "", 1.5e9}, {1.2, "K", "s", 1200}, {4, "it/s", "s/it", 0.25},
          {250, "ms/it", "it/s", 4}, {7, "samples/sec", "samples/s", 7}, {5, "%", "%", 5}, {9, "", "s", 9},
          {9, "on", "s", 9}, {9, "ms", "furlongs", 9}, {9, "apples", "apples", 9}, {9, "K", "apples/s/tree", 9000},
          {9, "M", "tok/s", 9e6}, {3, "KiB", "B", 3072})
{
    double got = NAN;
    assert_true(unit_convert(row->value, row->from, row->to, &got));
    assert_true(fabs(got - row->expected) <= 1e-12 * fabs(row->expected));
}

TEST_ROWS(convert__other_dimension__refused_and_untouched, (const char *text, *expected), {"ms", "samples/s"},
          {"GB", "s"}, {"tokens/s", "samples/s"}, {"s", "it/s"})
{
    double got = 42;
    assert_false(unit_convert(1, row->text, row->expected, &got));
    assert_true(got == 42);
}
