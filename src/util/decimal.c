#include "util/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The range in which printf's %g with 15 to 17 digits uses no exponent. Measured metrics lie here. */
#define FIXED_MINIMUM 1e-4
#define FIXED_LIMIT 1e15

/* Writes `digits` with a point before the last `decimals` of them. Returns the length. */
static size_t write_digits(uint64_t digits, int decimals, bool negative, char *out)
{
    char reversed[DECIMAL_BYTES];
    int n = 0;
    for (int written = 0; digits || written <= decimals; written++) {
        if (decimals > 0 && written == decimals)
            reversed[n++] = '.';
        reversed[n++] = (char)('0' + digits % 10);
        digits /= 10;
    }
    char *p = out;
    if (negative)
        *p++ = '-';
    while (n > 0)
        *p++ = reversed[--n];
    *p = '\0';
    return (size_t)(p - out);
}

size_t decimal_from_int64(int64_t value, char out[DECIMAL_BYTES])
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return write_digits(magnitude, 0, value < 0, out);
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 uint128;

static const uint64_t powers[] = {
    1u,
    10u,
    100u,
    1000u,
    10000u,
    100000u,
    1000000u,
    10000000u,
    100000000u,
    1000000000u,
    10000000000u,
    100000000000u,
    1000000000000u,
    10000000000000u,
    100000000000000u,
    1000000000000000u,
    10000000000000000u,
    100000000000000000u,
    1000000000000000000u,
    10000000000000000000u,
};

static uint128 power10(int exponent)
{
    return exponent < 20 ? (uint128)powers[exponent] : (uint128)powers[19] * powers[exponent - 19];
}

/* Exact integer arithmetic: value = m / 2^shift, and scaled = m * 10^decimals is value * 10^decimals in units of
 * 2^-shift. With 17 digits before the point of value * 10^decimals all of it fits in 128 bits (53 + 67 bits for
 * FIXED_MINIMUM), so candidates of 15, 16 and 17 digits are rounded and checked without error. A decimal reads back
 * equal when it lies within half the distance to the neighbouring doubles, 10^decimals / 2 in the same units; powers of
 * two, whose lower neighbour is nearer, need at most 15 digits here and differ by 0. */
static size_t fixed_shortest(double magnitude, bool negative, char *out)
{
    int exponent;
    uint64_t m = (uint64_t)ldexp(frexp(magnitude, &exponent), 53);
    int shift = 53 - exponent;
    int decimals = 16;
    while (decimals > 2 && magnitude >= (double)powers[17 - decimals])
        decimals--;
    while (m * power10(decimals) >> shift < powers[16])
        decimals++;

    uint128 scaled = m * power10(decimals);
    uint64_t whole = (uint64_t)(scaled >> shift);
    uint64_t candidate = whole;
    for (int dropped = 2; dropped >= 0; dropped--) {
        uint64_t unit = powers[dropped];
        candidate = whole - whole % unit;
        uint128 above = scaled - ((uint128)candidate << shift);
        uint128 unit_scaled = (uint128)unit << shift;
        uint128 distance = above;
        if (2 * above > unit_scaled || (2 * above == unit_scaled && candidate / unit % 2)) {
            candidate += unit;
            distance = unit_scaled - above;
        }
        if (2 * distance < power10(decimals) || (2 * distance == power10(decimals) && m % 2 == 0))
            break;
    }
    for (; decimals > 1 && candidate % 10 == 0; decimals--)
        candidate /= 10;
    return write_digits(candidate, decimals, negative, out);
}
#endif

static size_t any_shortest(double value, char *out)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, DECIMAL_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    if (!strpbrk(out, ".e"))
        strcat(out, ".0");
    return strlen(out);
}

size_t decimal_from_double(double value, char out[DECIMAL_BYTES])
{
    if (!isfinite(value))
        return strlen(strcpy(out, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity"));
#ifdef __SIZEOF_INT128__
    double magnitude = fabs(value);
    if (magnitude >= FIXED_MINIMUM && magnitude < FIXED_LIMIT)
        return fixed_shortest(magnitude, value < 0, out);
#endif
    return any_shortest(value, out);
}
