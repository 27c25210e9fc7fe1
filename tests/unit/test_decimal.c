/* util/decimal: shortest text of doubles, integers. */
#include "unit_test.h"
#include "util/decimal.h"

TEST_ROWS(decimal_double__known_values__exact_text, (double value; const char *text), {0.0, "0.0"}, {-0.0, "-0.0"},
          {0.1, "0.1"}, {2.0, "2.0"}, {-1.5, "-1.5"}, {100.0, "100.0"}, {0.1 + 0.2, "0.30000000000000004"},
          {1.0 / 3, "0.3333333333333333"}, {1e-4, "0.0001"}, {1e-5, "1e-05"}, {123456789012345.6, "123456789012345.6"},
          {999999999999999.9, "999999999999999.9"}, {1e15, "1e+15"}, {9007199254740993.0, "9007199254740992.0"},
          {1e300, "1e+300"}, {5e-324, "4.94065645841247e-324"}, {NAN, "NaN"}, {INFINITY, "Infinity"},
          {-INFINITY, "-Infinity"})
{
    char text[DECIMAL_BYTES];
    size_t length = decimal_from_double(row->value, text);
    assert_string_equal(text, row->text);
    assert_int_equal(length, strlen(text));
}

/* Writes what printf and strtod find by trying. */
static void shortest_by_trial(double value, char out[DECIMAL_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, DECIMAL_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    if (!strpbrk(out, ".e"))
        strcat(out, ".0");
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static double random_double(uint64_t *state, int kind)
{
    uint64_t bits = next_random(state);
    double unit = (double)(next_random(state) >> 11) / 9007199254740992.0;
    double value;
    switch (kind) {
    case 0:
        memcpy(&value, &bits, sizeof value);
        return value;
    case 1:
        return (double)(bits % 1000000007) / 1000;
    case 2:
        return ldexp(1 + (double)(bits & 1) * 0x1p-52, (int)(bits >> 32) % 80 - 20);
    case 3:
        return nextafter(pow(10, (int)(bits >> 33) % 25 - 6), bits & 1 ? 0 : 1e300);
    default:
        return -exp(unit * 45 - 10);
    }
}

TEST(decimal_double__random_values__as_printf_finds_by_trial)
{
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        double value = random_double(&seed, i % 5);
        if (!isfinite(value))
            continue;
        char text[DECIMAL_BYTES], expected[DECIMAL_BYTES];
        decimal_from_double(value, text);
        shortest_by_trial(value, expected);
        assert_string_equal(text, expected);
    }
}

TEST(decimal_int64__extremes__exact_text)
{
    char text[DECIMAL_BYTES];
    assert_int_equal(decimal_from_int64(0, text), 1);
    assert_string_equal(text, "0");
    decimal_from_int64(1000, text);
    assert_string_equal(text, "1000");
    decimal_from_int64(-7, text);
    assert_string_equal(text, "-7");
    assert_int_equal(decimal_from_int64(INT64_MIN, text), 20);
    assert_string_equal(text, "-9223372036854775808");
    decimal_from_int64(INT64_MAX, text);
    assert_string_equal(text, "9223372036854775807");
}
