#include "join/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "join/formula_tree.h"

/* Formulas over values of which only a range is known, worked out in each of the ways in which SQLite works values out.
 * The range covers all that SQLite may come to; for exact values it is what SQLite comes to. */

/* --- ranges --- */

static const struct range range_anything = {.maybe_null = true,
                                            .maybe_text = true,
                                            .maybe_number = true,
                                            .low = -INFINITY,
                                            .high = INFINITY};

static bool range_is_null(const struct range *r)
{
    return r->exact && r->datum.kind == DATUM_NULL;
}

static bool range_can_be_null(const struct range *r)
{
    return r->exact ? r->datum.kind == DATUM_NULL : r->maybe_null;
}

static bool range_can_be_text(const struct range *r)
{
    return r->exact ? r->datum.kind == DATUM_TEXT : r->maybe_text;
}

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

bool datum_equal(const struct datum *a, const struct datum *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == DATUM_TEXT)
        return a->text == b->text || strcmp(a->text, b->text) == 0;
    return a->kind == DATUM_NULL || a->integer == b->integer;
}

void range_cover(struct range *all, const struct range *one)
{
    if (all->exact && one->exact && datum_equal(&all->datum, &one->datum))
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

static struct range range_of_integer(int64_t integer)
{
    struct range r = {.exact = true, .datum = {DATUM_INT, {.integer = integer}}};
    r.low = r.high = (double)integer;
    widen(&r);
    return r;
}

/* NaN: NULL, as in SQLite. */
static struct range range_of_real(double real)
{
    const struct datum c = {isnan(real) ? DATUM_NULL : DATUM_REAL, {.real = real}};
    return range_of_datum(&c);
}

static struct range range_of_null(void)
{
    return (struct range){.exact = true, .datum = {DATUM_NULL, {0}}};
}

/* --- truth --- */

/* Bits of CAN_BE_…, and back: 1, 0 or NULL. */
static unsigned range_truth(const struct range *r)
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

static struct range range_of_truth(unsigned bits)
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

/* The least and the largest of four. */
static void span(const double *corners, double *low, double *high)
{
    *low = *high = corners[0];
    for (int i = 1; i < 4; i++) {
        *low = corners[i] < *low ? corners[i] : *low;
        *high = corners[i] > *high ? corners[i] : *high;
    }
}

/* The quotient of integers is cut towards zero, that of others not: both are covered. */
static void bound_quotient(const struct range *a, const struct range *b, struct range *r)
{
    if (b->low <= 0 && b->high >= 0) {
        r->maybe_null = true;
        r->low = -INFINITY;
        r->high = INFINITY;
        return;
    }
    const double corners[] = {a->low / b->low, a->low / b->high, a->high / b->low, a->high / b->high};
    span(corners, &r->low, &r->high);
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

/* Numbers that are no integers count by the digits before the point. */
static void bound_bits(enum formula_op op, const struct range *a, const struct range *b, struct range *r)
{
    bool left = a->low >= 0, right = b->low >= 0;
    r->low = -INFINITY;
    r->high = INFINITY;
    if (op > OP_BITS_ANY || !is_held(a) || !is_held(b))
        return;
    double reach = all_bits(fmax(fmax(-a->low, a->high), fmax(-b->low, b->high)));
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
        span(corners, &r.low, &r.high);
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

/* OP_ADD to OP_SHIFT_RIGHT. */
static struct range range_work_out(enum formula_op op, const struct range *a, const struct range *b)
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

/* -1, 0, 1 as SQLite sorts; 2: it is left to SQLite. Neither is NULL. */
static int datum_compare(const struct datum *a, const struct datum *b)
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

static unsigned truth_swap(unsigned bits)
{
    return (bits & CAN_BE_NULL) | (bits & CAN_BE_TRUE ? CAN_BE_FALSE : 0) | (bits & CAN_BE_FALSE ? CAN_BE_TRUE : 0);
}

/* OP_LESS to OP_NOT_EQUAL. */
static struct range range_compare(enum formula_op op, const struct range *a, const struct range *b)
{
    static const unsigned char wanted[] = {[OP_LESS] = 1, [OP_LESS_EQUAL] = 3, [OP_EQUAL] = 2, [OP_NOT_EQUAL] = 5};
    if (range_is_null(a) || range_is_null(b))
        return range_of_null();
    unsigned orders = orders_of(a, b), bits = range_can_be_null(a) || range_can_be_null(b) ? CAN_BE_NULL : 0;
    bits |= orders & wanted[op] ? CAN_BE_TRUE : 0;
    bits |= orders & ~(unsigned)wanted[op] ? CAN_BE_FALSE : 0;
    return range_of_truth(bits);
}

/* IS: NULL is a value. */
static struct range range_compare_is(const struct range *a, const struct range *b, bool negated)
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
    return range_of_truth(negated ? truth_swap(bits) : bits);
}

/* IS TRUE and the like, of something with that truth: never NULL. */
static struct range range_ask_truth(enum formula_op op, unsigned truth)
{
    unsigned yes = op == OP_IS_TRUE || op == OP_IS_NOT_TRUE ? CAN_BE_TRUE : CAN_BE_FALSE, bits = 0;
    bits |= truth & yes ? CAN_BE_TRUE : 0;
    bits |= truth & ~yes ? CAN_BE_FALSE : 0;
    return range_of_truth(op == OP_IS_NOT_TRUE || op == OP_IS_NOT_FALSE ? truth_swap(bits) : bits);
}

static unsigned truth_both(unsigned a, unsigned b)
{
    unsigned bits = a & b & CAN_BE_TRUE;
    bits |= (a | b) & CAN_BE_FALSE;
    if ((a & CAN_BE_NULL && b & (CAN_BE_TRUE | CAN_BE_NULL)) || (b & CAN_BE_NULL && a & (CAN_BE_TRUE | CAN_BE_NULL)))
        bits |= CAN_BE_NULL;
    return bits;
}

/* --- formulas --- */

void datum_add(const struct datum *d, struct buffer *out)
{
    buffer_add_char(out, (char)('0' + (int)d->kind));
    if (d->kind == DATUM_TEXT)
        buffer_add(out, d->text, strlen(d->text) + 1);
    else if (d->kind != DATUM_NULL)
        buffer_add(out, &d->integer, sizeof d->integer);
}

struct evaluation {
    struct formula *f;
    const struct scope *s;
    struct buffer *residue; /* NULL: not wanted */
};

static struct range evaluate(const struct evaluation *v, uint32_t node);

static void mark(const struct evaluation *v, char what)
{
    if (v->residue)
        buffer_add_char(v->residue, what);
}

static const uint32_t *operands_of(const struct evaluation *v, const struct formula_node *n)
{
    return v->f->operands + n->first;
}

static struct range evaluate_part(const struct evaluation *v, const struct formula_node *n)
{
    struct sql_part *part = &v->f->parts[n->part];
    bool bound = true;
    for (size_t i = 0; i < part->key_count; i++) {
        const struct range *key = &v->s->keys[part->keys[i]];
        bound &= key->exact;
        if (v->residue && key->exact)
            datum_add(&key->datum, v->residue);
        else
            mark(v, '?');
    }
    if (!bound)
        return range_anything;
    const struct datum c = v->s->work_out(v->s, part);
    return range_of_datum(&c);
}

static struct range evaluate_both(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    struct range a = evaluate(v, operands[0]);
    unsigned left = range_truth(&a), decided = n->op == OP_AND ? CAN_BE_FALSE : CAN_BE_TRUE;
    if (left == decided)
        return range_of_truth(left);
    struct range b = evaluate(v, operands[1]);
    unsigned right = range_truth(&b);
    if (n->op == OP_AND)
        return range_of_truth(truth_both(left, right));
    return range_of_truth(truth_swap(truth_both(truth_swap(left), truth_swap(right))));
}

static struct range evaluate_case(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    struct range all = range_of_null();
    bool any = false;
    for (uint32_t i = 0; i < n->count; i += 2) {
        unsigned truth = CAN_BE_TRUE;
        if (i + 1 < n->count) {
            struct range when = evaluate(v, operands[i]);
            truth = range_truth(&when);
        }
        if (!(truth & CAN_BE_TRUE))
            continue;
        struct range then = evaluate(v, operands[i + 1 < n->count ? i + 1 : i]);
        if (any)
            range_cover(&all, &then);
        else
            all = then;
        any = true;
        if (truth == CAN_BE_TRUE)
            break;
    }
    return all;
}

static struct range evaluate_coalesce(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    struct range all = range_of_null();
    bool any = false;
    for (uint32_t i = 0; i < n->count; i++) {
        struct range one = evaluate(v, operands[i]);
        bool goes_on = range_can_be_null(&one);
        if (range_is_null(&one))
            continue;
        if (goes_on && i + 1 < n->count)
            one.maybe_null = false;
        if (any)
            range_cover(&all, &one);
        else
            all = one;
        any = true;
        if (!goes_on)
            return all;
    }
    if (any)
        range_cover(&all, &(struct range){.exact = true});
    return all;
}

static struct range evaluate_nullif(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    struct range a = evaluate(v, operands[0]), b = evaluate(v, operands[1]), null = range_of_null();
    struct range equal = range_compare(OP_EQUAL, &a, &b);
    unsigned truth = range_truth(&equal);
    if (truth == CAN_BE_TRUE)
        return null;
    if (truth & CAN_BE_TRUE)
        range_cover(&a, &null);
    return a;
}

/* SQLite takes the later of equal cells for min(), the first for max(). */
static bool is_more_extreme(enum formula_op op, int order)
{
    return op == OP_MIN ? order <= 0 : order > 0;
}

static void extend(enum formula_op op, struct range *best, const struct range *one)
{
    struct range r = {.maybe_null = range_can_be_null(best) || range_can_be_null(one),
                      .maybe_text = range_can_be_text(best) || range_can_be_text(one),
                      .maybe_number = true};
    int order = best->exact && one->exact ? datum_compare(&one->datum, &best->datum) : 2;
    if (order != 2) {
        *best = is_more_extreme(op, order) ? *one : *best;
        return;
    }
    r.low = op == OP_MIN ? fmin(best->low, one->low) : fmax(best->low, one->low);
    r.high = op == OP_MIN ? fmin(best->high, one->high) : fmax(best->high, one->high);
    *best = r.maybe_text ? range_anything : r;
}

static struct range evaluate_extreme(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    struct range best = evaluate(v, operands[0]);
    bool null = range_is_null(&best);
    for (uint32_t i = 1; i < n->count; i++) {
        struct range one = evaluate(v, operands[i]);
        null = null || range_is_null(&one);
        if (!null)
            extend(n->op, &best, &one);
    }
    return null ? range_of_null() : best;
}

static struct range evaluate_abs(const struct range *a)
{
    if (range_is_null(a))
        return *a;
    if (range_can_be_text(a) || (a->exact && a->datum.kind == DATUM_INT && a->datum.integer == INT64_MIN))
        return range_anything;
    if (a->exact)
        return a->datum.kind == DATUM_INT
                   ? range_of_integer(a->datum.integer < 0 ? -a->datum.integer : a->datum.integer)
                   : range_of_real(a->datum.real < 0 ? -a->datum.real : a->datum.real);
    struct range r = {.maybe_null = a->maybe_null, .maybe_number = true, .high = fmax(fabs(a->low), fabs(a->high))};
    r.low = a->low > 0 ? a->low : a->high < 0 ? -a->high : 0;
    return r;
}

static struct range evaluate_one(const struct evaluation *v, const struct formula_node *n)
{
    struct range a = evaluate(v, operands_of(v, n)[0]), zero;
    switch (n->op) {
    case OP_NEGATE:
        zero = range_of_integer(0);
        return range_work_out(OP_SUBTRACT, &zero, &a);
    case OP_NOT:
        return range_of_truth(truth_swap(range_truth(&a)));
    case OP_ABS:
        return evaluate_abs(&a);
    default:
        return range_ask_truth(n->op, range_truth(&a));
    }
}

/* A key's is where it stands, as long as nothing is noted of it. */
static const struct range *range_of_operand(const struct evaluation *v, uint32_t node, struct range *scratch)
{
    const struct formula_node *n = &v->f->nodes[node];
    if (n->op == OP_KEY && !v->residue)
        return &v->s->keys[n->key];
    *scratch = evaluate(v, node);
    return scratch;
}

static struct range evaluate_two(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    struct range left, right;
    const struct range *a = range_of_operand(v, operands[0], &left), *b = range_of_operand(v, operands[1], &right);
    if (n->op <= OP_SHIFT_RIGHT)
        return range_work_out(n->op, a, b);
    if (n->op == OP_IS || n->op == OP_IS_NOT)
        return range_compare_is(a, b, n->op == OP_IS_NOT);
    return range_compare(n->op, a, b);
}

static struct range evaluate_node(const struct evaluation *v, const struct formula_node *n)
{
    switch (n->op) {
    case OP_PART:
        return evaluate_part(v, n);
    case OP_AND:
    case OP_OR:
        return evaluate_both(v, n);
    case OP_CASE:
        return evaluate_case(v, n);
    case OP_COALESCE:
        return evaluate_coalesce(v, n);
    case OP_NULLIF:
        return evaluate_nullif(v, n);
    case OP_MIN:
    case OP_MAX:
        return evaluate_extreme(v, n);
    default:
        return n->count == 1 ? evaluate_one(v, n) : evaluate_two(v, n);
    }
}

static struct range evaluate(const struct evaluation *v, uint32_t node)
{
    const struct formula_node *n = &v->f->nodes[node];
    struct range r;
    size_t start = v->residue ? v->residue->length : 0;
    if (n->op == OP_CONSTANT)
        return range_of_datum(&n->constant);
    if (n->op == OP_KEY)
        r = v->s->keys[n->key];
    else {
        mark(v, '(');
        r = evaluate_node(v, n);
    }
    if (v->residue && r.exact) {
        /* All that it was made from comes to this. */
        v->residue->length = start;
        datum_add(&r.datum, v->residue);
    } else if (!v->residue || !formula_mark_sum(v->f, v->s->keys, node, start, v->residue))
        mark(v, n->op == OP_KEY ? '?' : ')');
    return r;
}

struct range formula_node_range(struct formula *f, const struct scope *s, uint32_t node)
{
    const struct evaluation v = {f, s, NULL};
    return evaluate(&v, node);
}

static bool is_bound(const struct formula *f, const struct scope *s)
{
    for (size_t i = 0; i < f->parts[0].key_count; i++)
        if (!s->keys[f->parts[0].keys[i]].exact)
            return false;
    return true;
}

static struct range evaluate_whole(struct formula *f, const struct scope *s, struct buffer *residue)
{
    const struct evaluation v = {f, s, residue};
    struct range r = evaluate(&v, f->root);
    if (!r.exact && is_bound(f, s)) {
        const struct datum c = s->work_out(s, &f->parts[0]);
        r = range_of_datum(&c);
    }
    return r;
}

/* As SQLite casts it: by the decimal number that it begins with. */
static unsigned truth_of_text(const char *text)
{
    const char *digits = text + strspn(text, " \t\n\f\r\v");
    digits += *digits == '-' || *digits == '+';
    bool is_number = (*digits >= '0' && *digits <= '9') || *digits == '.';
    bool is_hexadecimal = digits[0] == '0' && (digits[1] | 0x20) == 'x';
    return is_number && !is_hexadecimal && strtod(digits, NULL) != 0 ? CAN_BE_TRUE : CAN_BE_FALSE;
}

unsigned formula_truth(struct formula *f, const struct scope *s)
{
    struct range r = evaluate_whole(f, s, NULL);
    return r.exact && r.datum.kind == DATUM_TEXT ? truth_of_text(r.datum.text) : range_truth(&r);
}

struct datum formula_value(struct formula *f, const struct scope *s)
{
    return evaluate_whole(f, s, NULL).datum;
}

enum outlook demand_outlook(enum demand demand, unsigned truth)
{
    static const unsigned meets[] =
        {[DEMAND_NOT_FALSE] = CAN_BE_TRUE | CAN_BE_NULL, [DEMAND_TRUE] = CAN_BE_TRUE, [DEMAND_FALSE] = CAN_BE_FALSE};
    if (!(truth & meets[demand]))
        return OUTLOOK_FAILED;
    return truth & ~meets[demand] ? OUTLOOK_OPEN : OUTLOOK_MET;
}

void formula_add_residue(struct formula *f, const struct scope *s, enum demand demand, struct buffer *out)
{
    size_t start = out->length;
    struct range r = evaluate_whole(f, s, out);
    enum outlook outlook = demand_outlook(demand, range_truth(&r));
    if (outlook == OUTLOOK_OPEN)
        return;
    out->length = start;
    buffer_add_char(out, outlook == OUTLOOK_MET ? '+' : '-');
}

const size_t *formula_keys(const struct formula *f, size_t *count)
{
    *count = f->parts[0].key_count;
    return f->parts[0].keys;
}
