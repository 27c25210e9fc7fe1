#include "join/formula_range.h"

#include <math.h>
#include <string.h>

/* --- ranges --- */

const struct range range_anything = {.maybe_null = true,
                                     .maybe_text = true,
                                     .maybe_number = true,
                                     .low = -INFINITY,
                                     .high = INFINITY};

static void widen(struct range *r)
{
    if (r->low > EXACT_MOST)
        r->low = EXACT_MOST;
    else if (!(r->low >= -EXACT_MOST))
        r->low = -INFINITY;
    if (r->high < -EXACT_MOST)
        r->high = -EXACT_MOST;
    else if (!(r->high <= EXACT_MOST))
        r->high = INFINITY;
}

struct range range_of_datum(const struct datum *c)
{
    struct range r = {.exact = true, .datum = *c};
    if (c->kind == DATUM_INT || c->kind == DATUM_REAL) {
        r.low = r.high = c->kind == DATUM_INT ? (double)c->integer : c->real;
        widen(&r);
    }
    return r;
}

static bool can_be_number(const struct range *r)
{
    return r->exact ? r->datum.kind == DATUM_INT || r->datum.kind == DATUM_REAL : r->maybe_number;
}

static bool can_be_real(const struct range *r)
{
    return r->exact ? r->datum.kind == DATUM_REAL : r->maybe_real;
}

static bool same_cell(const struct datum *a, const struct datum *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == DATUM_TEXT)
        return a->text == b->text || strcmp(a->text, b->text) == 0;
    return a->kind == DATUM_NULL || a->integer == b->integer;
}

void range_cover(struct range *all, const struct range *one)
{
    if (all->exact && one->exact && same_cell(&all->datum, &one->datum))
        return;
    bool had_number = can_be_number(all), has_number = can_be_number(one);
    struct range r = {.maybe_null = range_can_be_null(all) || range_can_be_null(one),
                      .maybe_text = range_can_be_text(all) || range_can_be_text(one),
                      .maybe_number = had_number || has_number,
                      .maybe_real = can_be_real(all) || can_be_real(one)};
    if (r.maybe_number) {
        r.low = !had_number || (has_number && one->low < all->low) ? one->low : all->low;
        r.high = !had_number || (has_number && one->high > all->high) ? one->high : all->high;
    }
    *all = r;
}

struct range range_of_integer(int64_t integer)
{
    struct range r = {.exact = true, .datum = {DATUM_INT, {.integer = integer}}};
    r.low = r.high = (double)integer;
    widen(&r);
    return r;
}

struct range range_of_real(double real)
{
    const struct datum c = {isnan(real) ? DATUM_NULL : DATUM_REAL, {.real = real}};
    return range_of_datum(&c);
}

struct range range_of_null(void)
{
    return (struct range){.exact = true, .datum = {DATUM_NULL, {0}}};
}

/* --- truth --- */

unsigned range_truth(const struct range *r)
{
    if (r->exact && r->datum.kind == DATUM_NULL)
        return CAN_BE_NULL;
    if (r->exact && r->datum.kind == DATUM_INT)
        return r->datum.integer ? CAN_BE_TRUE : CAN_BE_FALSE;
    if (r->exact && r->datum.kind == DATUM_REAL)
        return r->datum.real != 0 ? CAN_BE_TRUE : CAN_BE_FALSE;
    unsigned bits = range_can_be_null(r) ? CAN_BE_NULL : 0;
    if (range_can_be_text(r))
        return bits | CAN_BE_TRUE | CAN_BE_FALSE;
    if (r->maybe_number && !(r->low == 0 && r->high == 0))
        bits |= CAN_BE_TRUE;
    if (r->maybe_number && r->low <= 0 && r->high >= 0)
        bits |= CAN_BE_FALSE;
    return bits;
}

struct range range_of_truth(unsigned bits)
{
    switch (bits) {
    case CAN_BE_TRUE:
        return range_of_integer(1);
    case CAN_BE_FALSE:
        return range_of_integer(0);
    case CAN_BE_NULL:
        return range_of_null();
    default:
        return (struct range){.maybe_null = (bits & CAN_BE_NULL) != 0,
                              .maybe_number = true,
                              .low = bits & CAN_BE_FALSE ? 0 : 1,
                              .high = bits & CAN_BE_TRUE ? 1 : 0};
    }
}

/* --- arithmetic --- */

static bool is_integer(const struct range *r)
{
    return r->exact && r->datum.kind == DATUM_INT;
}

static double real_of(const struct datum *c)
{
    return c->kind == DATUM_INT ? (double)c->integer : c->real;
}

/* As SQLite casts. */
static int64_t integer_of(const struct datum *c)
{
    if (c->kind == DATUM_INT)
        return c->integer;
    if (c->real <= -9223372036854775808.0)
        return INT64_MIN;
    return c->real >= 9223372036854775808.0 ? INT64_MAX : (int64_t)c->real;
}

/* By 64 and more all bits go, and by a negative number the other way. */
static int64_t shift(bool left, int64_t a, int64_t by)
{
    if (by < 0)
        return shift(!left, a, by > -64 ? -by : 64);
    if (by >= 64)
        return left || a >= 0 ? 0 : -1;
    return left ? (int64_t)((uint64_t)a << by) : a >> by;
}

static int64_t integer_of_bits(enum formula_op op, int64_t a, int64_t b)
{
    switch (op) {
    case OP_BITS_BOTH:
        return a & b;
    case OP_BITS_ANY:
        return a | b;
    default:
        return shift(op == OP_SHIFT_LEFT, a, b);
    }
}

/* False where SQLite goes on with doubles. */
static bool work_out_integers(enum formula_op op, int64_t a, int64_t b, struct range *out)
{
    int64_t result = 0;
    if ((op == OP_DIVIDE || op == OP_REMAINDER) && b == 0) {
        *out = range_of_null();
        return true;
    }
    if ((op == OP_ADD && __builtin_add_overflow(a, b, &result)) ||
        (op == OP_SUBTRACT && __builtin_sub_overflow(a, b, &result)) ||
        (op == OP_MULTIPLY && __builtin_mul_overflow(a, b, &result)) || (op == OP_DIVIDE && b == -1 && a == INT64_MIN))
        return false;
    if (op == OP_DIVIDE)
        result = a / b;
    else if (op == OP_REMAINDER)
        result = b == -1 ? 0 : a % b;
    else if (op >= OP_BITS_BOTH)
        result = integer_of_bits(op, a, b);
    *out = range_of_integer(result);
    return true;
}

static struct range work_out_reals(enum formula_op op, const struct datum *x, const struct datum *y)
{
    double a = real_of(x), b = real_of(y);
    int64_t divisor = integer_of(y);
    switch (op) {
    case OP_ADD:
        return range_of_real(a + b);
    case OP_SUBTRACT:
        return range_of_real(a - b);
    case OP_MULTIPLY:
        return range_of_real(a * b);
    case OP_DIVIDE:
        return b == 0 ? range_of_null() : range_of_real(a / b);
    case OP_BITS_BOTH:
    case OP_BITS_ANY:
    case OP_SHIFT_LEFT:
    case OP_SHIFT_RIGHT:
        return range_of_integer(integer_of_bits(op, integer_of(x), divisor));
    default:
        if (divisor == 0)
            return range_of_null();
        return range_of_real(divisor == -1 ? 0 : (double)(integer_of(x) % divisor));
    }
}

static double product(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

static void span(const double *corners, int count, struct range *r)
{
    r->low = r->high = corners[0];
    for (int i = 1; i < count; i++) {
        r->low = corners[i] < r->low ? corners[i] : r->low;
        r->high = corners[i] > r->high ? corners[i] : r->high;
    }
}

/* Of integers the quotient is cut towards zero, of others not: both are covered. */
static void bound_quotient(const struct range *a, const struct range *b, struct range *r)
{
    if (b->low <= 0 && b->high >= 0) {
        r->maybe_null = true;
        r->low = -INFINITY;
        r->high = INFINITY;
        return;
    }
    const double corners[] = {a->low / b->low, a->low / b->high, a->high / b->low, a->high / b->high};
    span(corners, 4, r);
    r->low = fmin(r->low, trunc(r->low));
    r->high = fmax(r->high, trunc(r->high));
}

static void bound_remainder(const struct range *a, const struct range *b, struct range *r)
{
    double divisor = fmax(fabs(b->low), fabs(b->high)), number = fmax(fabs(a->low), fabs(a->high));
    double most = fmax(0, fmin(divisor - 1, number));
    r->maybe_null |= b->low < 1 && b->high > -1;
    r->low = a->low < 0 ? -most : 0;
    r->high = a->high > 0 ? most : 0;
}

static bool is_held(const struct range *r)
{
    return r->low >= -EXACT_MOST && r->high <= EXACT_MOST;
}

/* All bits up to the highest one of a number that is not negative. */
static double all_bits(double a)
{
    return a >= 1 ? (double)(INT64_MAX >> (__builtin_clzll((unsigned long long)a) - 1)) : 0;
}

/* Of what is no integer the digits before the point count. */
static void bound_bits(enum formula_op op, const struct range *a, const struct range *b, struct range *r)
{
    double reach = all_bits(fmax(fmax(-a->low, a->high), fmax(-b->low, b->high)));
    bool left = a->low >= 0, right = b->low >= 0;
    r->low = -INFINITY;
    r->high = INFINITY;
    if (op > OP_BITS_ANY || !is_held(a) || !is_held(b))
        return;
    r->low = -reach - 1;
    r->high = reach;
    if (op == OP_BITS_BOTH && b->low == -1 && b->high == -1) {
        r->low = trunc(a->low);
        r->high = trunc(a->high);
    } else if (op == OP_BITS_ANY && left && right) {
        r->low = trunc(fmax(a->low, b->low));
    } else if (op == OP_BITS_BOTH && (left || right)) {
        r->low = 0;
        r->high = trunc(left && right ? fmin(a->high, b->high) : left ? a->high : b->high);
    }
}

static struct range bound(enum formula_op op, const struct range *a, const struct range *b)
{
    if (range_can_be_text(a) || range_can_be_text(b))
        return range_anything;
    struct range r = {.maybe_null = range_can_be_null(a) || range_can_be_null(b), .maybe_number = true};
    if (op == OP_ADD || op == OP_SUBTRACT) {
        r.low = op == OP_ADD ? a->low + b->low : a->low - b->high;
        r.high = op == OP_ADD ? a->high + b->high : a->high - b->low;
        r.maybe_null |= isinf(r.low) || isinf(r.high);
    } else if (op == OP_MULTIPLY) {
        const double corners[] = {product(a->low, b->low), product(a->low, b->high), product(a->high, b->low),
                                  product(a->high, b->high)};
        span(corners, 4, &r);
        r.maybe_null |= isinf(r.low) || isinf(r.high);
    } else if (op == OP_DIVIDE)
        bound_quotient(a, b, &r);
    else if (op >= OP_BITS_BOTH)
        bound_bits(op, a, b, &r);
    else
        bound_remainder(a, b, &r);
    if (isnan(r.low) || isnan(r.high))
        return range_anything;
    widen(&r);
    return r;
}

struct range range_work_out(enum formula_op op, const struct range *a, const struct range *b)
{
    struct range r;
    if (range_is_null(a) || range_is_null(b))
        return range_of_null();
    if (is_integer(a) && is_integer(b) && work_out_integers(op, a->datum.integer, b->datum.integer, &r))
        return r;
    if (a->exact && b->exact && !range_can_be_text(a) && !range_can_be_text(b))
        return work_out_reals(op, &a->datum, &b->datum);
    return bound(op, a, b);
}

/* --- comparing --- */

int datum_compare(const struct datum *a, const struct datum *b)
{
    if (a->kind == DATUM_TEXT || b->kind == DATUM_TEXT) {
        if (a->kind != b->kind)
            return a->kind == DATUM_TEXT ? 1 : -1;
        int order = strcmp(a->text, b->text);
        return (order > 0) - (order < 0);
    }
    if (a->kind == DATUM_INT && b->kind == DATUM_INT)
        return (a->integer > b->integer) - (a->integer < b->integer);
    double x = real_of(a), y = real_of(b);
    if (a->kind != b->kind && (fabs(x) > EXACT_MOST || fabs(y) > EXACT_MOST))
        return 2;
    return (x > y) - (x < y);
}

/* Bits: 1 less, 2 equal, 4 greater. */
static unsigned orders_of(const struct range *a, const struct range *b)
{
    if (a->exact && b->exact) {
        int order = datum_compare(&a->datum, &b->datum);
        return order == 2 ? 7 : 1U << (order + 1);
    }
    if (range_can_be_text(a) || range_can_be_text(b))
        return 7;
    unsigned orders = 0;
    orders |= a->low < b->high ? 1 : 0;
    orders |= a->low <= b->high && b->low <= a->high ? 2 : 0;
    orders |= a->high > b->low ? 4 : 0;
    return orders;
}

struct range range_compare(enum formula_op op, const struct range *a, const struct range *b)
{
    static const unsigned char wanted[] = {[OP_LESS] = 1, [OP_LESS_EQUAL] = 3, [OP_EQUAL] = 2, [OP_NOT_EQUAL] = 5};
    if (range_is_null(a) || range_is_null(b))
        return range_of_null();
    unsigned orders = orders_of(a, b), bits = range_can_be_null(a) || range_can_be_null(b) ? CAN_BE_NULL : 0;
    bits |= orders & wanted[op] ? CAN_BE_TRUE : 0;
    bits |= orders & ~(unsigned)wanted[op] ? CAN_BE_FALSE : 0;
    return range_of_truth(bits);
}

struct range range_compare_is(const struct range *a, const struct range *b, bool negated)
{
    unsigned bits = CAN_BE_TRUE | CAN_BE_FALSE;
    if (range_is_null(a) || range_is_null(b))
        bits = range_is_null(a) && range_is_null(b)           ? CAN_BE_TRUE
               : range_can_be_null(a) && range_can_be_null(b) ? bits
                                                              : CAN_BE_FALSE;
    else if (!range_can_be_null(a) || !range_can_be_null(b)) {
        unsigned orders = orders_of(a, b);
        bits = orders == 2 && !range_can_be_null(a) && !range_can_be_null(b) ? CAN_BE_TRUE
               : orders & 2                                                  ? bits
                                                                             : CAN_BE_FALSE;
    }
    if (negated && bits != (CAN_BE_TRUE | CAN_BE_FALSE))
        bits = bits == CAN_BE_TRUE ? CAN_BE_FALSE : CAN_BE_TRUE;
    return range_of_truth(bits);
}

struct range range_ask_truth(enum formula_op op, unsigned truth)
{
    unsigned yes = op == OP_IS_TRUE || op == OP_IS_NOT_TRUE ? CAN_BE_TRUE : CAN_BE_FALSE, bits = 0;
    bits |= truth & yes ? CAN_BE_TRUE : 0;
    bits |= truth & ~yes ? CAN_BE_FALSE : 0;
    if (op == OP_IS_NOT_TRUE || op == OP_IS_NOT_FALSE)
        bits = (bits & CAN_BE_TRUE ? CAN_BE_FALSE : 0) | (bits & CAN_BE_FALSE ? CAN_BE_TRUE : 0);
    return range_of_truth(bits);
}

unsigned truth_swap(unsigned bits)
{
    return (bits & CAN_BE_NULL) | (bits & CAN_BE_TRUE ? CAN_BE_FALSE : 0) | (bits & CAN_BE_FALSE ? CAN_BE_TRUE : 0);
}

unsigned truth_both(unsigned a, unsigned b)
{
    unsigned bits = a & b & CAN_BE_TRUE;
    bits |= (a | b) & CAN_BE_FALSE;
    if ((a & CAN_BE_NULL && b & (CAN_BE_TRUE | CAN_BE_NULL)) || (b & CAN_BE_NULL && a & (CAN_BE_TRUE | CAN_BE_NULL)))
        bits |= CAN_BE_NULL;
    return bits;
}
