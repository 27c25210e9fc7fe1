/* The short way for integers of which only bounds are known: the general way (formula.c) where it gives up. */
#include "join/formula_range.h"
#include "join/formula_tree.h"

struct bounding {
    const struct formula *f;
    const struct range *keys;
};

static bool bounds_of(const struct bounding *x, uint32_t node, struct bounds *out);

/* Within these nothing overflows. */
static bool give(int64_t low, int64_t high, bool maybe_null, struct bounds *out)
{
    *out = (struct bounds){low, high, maybe_null};
    return low >= -(int64_t)EXACT_MOST && high <= (int64_t)EXACT_MOST;
}

static bool give_key(const struct range *r, struct bounds *out)
{
    if (r->exact)
        return r->datum.kind == DATUM_INT && give(r->datum.integer, r->datum.integer, false, out);
    if (r->maybe_text || r->maybe_real || !r->maybe_number || !(r->low >= -EXACT_MOST && r->high <= EXACT_MOST))
        return false;
    return give((int64_t)r->low, (int64_t)r->high, r->maybe_null, out);
}

static unsigned truth_of(const struct bounds *b)
{
    return (b->maybe_null ? CAN_BE_NULL : 0) | (b->low <= 0 && b->high >= 0 ? CAN_BE_FALSE : 0) |
           (b->low != 0 || b->high != 0 ? CAN_BE_TRUE : 0);
}

static bool give_truth(unsigned bits, struct bounds *out)
{
    *out = (struct bounds){bits & CAN_BE_FALSE ? 0 : 1, bits & CAN_BE_TRUE ? 1 : 0, (bits & CAN_BE_NULL) != 0};
    return bits != CAN_BE_NULL;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t magnitude(const struct bounds *b)
{
    return most(-b->low, b->high);
}

static bool give_corners(int64_t a, int64_t b, int64_t c, int64_t d, bool maybe_null, struct bounds *out)
{
    return give(least(least(a, b), least(c, d)), most(most(a, b), most(c, d)), maybe_null, out);
}

static bool multiply(const struct bounds *a, const struct bounds *b, bool maybe_null, struct bounds *out)
{
    int64_t corners[4];
    if (__builtin_mul_overflow(a->low, b->low, &corners[0]) || __builtin_mul_overflow(a->low, b->high, &corners[1]) ||
        __builtin_mul_overflow(a->high, b->low, &corners[2]) || __builtin_mul_overflow(a->high, b->high, &corners[3]))
        return false;
    return give_corners(corners[0], corners[1], corners[2], corners[3], maybe_null, out);
}

/* Of a divisor that may be 0 the quotient may be NULL. */
static bool divide(const struct bounds *a, const struct bounds *b, bool maybe_null, struct bounds *out)
{
    if (b->low == 0 || b->high == 0 || (b->low < 0) != (b->high < 0))
        return false;
    return give_corners(a->low / b->low, a->low / b->high, a->high / b->low, a->high / b->high, maybe_null, out);
}

static bool take_remainder(const struct bounds *a, const struct bounds *b, bool maybe_null, struct bounds *out)
{
    int64_t divisor = magnitude(b), reach = least(divisor - 1, magnitude(a));
    if (divisor == 0)
        return false;
    if (b->low == b->high && a->low / divisor == a->high / divisor && (a->low >= 0) == (a->high >= 0))
        return give(a->low % divisor, a->high % divisor, maybe_null, out);
    maybe_null |= b->low <= 0 && b->high >= 0;
    return give(a->low < 0 ? -reach : 0, a->high > 0 ? reach : 0, maybe_null, out);
}

/* All bits up to the highest one of a number that is not negative. */
static int64_t all_bits(int64_t a)
{
    return a > 0 ? INT64_MAX >> (__builtin_clzll((unsigned long long)a) - 1) : 0;
}

void bounds_of_bits(enum formula_op op, const struct bounds *a, const struct bounds *b, struct bounds *out)
{
    int64_t reach = all_bits(most(magnitude(a), magnitude(b)));
    bool left = a->low >= 0, right = b->low >= 0;
    *out = (struct bounds){-reach - 1, reach, false};
    if (a->low == a->high && b->low == b->high)
        out->low = out->high = integer_of_bits(op, a->low, b->low);
    else if (op == OP_BITS_BOTH && b->low == -1 && b->high == -1)
        *out = (struct bounds){a->low, a->high, false};
    else if (op == OP_BITS_ANY && left && right)
        out->low = most(a->low, b->low);
    else if (op == OP_BITS_BOTH && left && right)
        *out = (struct bounds){0, least(a->high, b->high), false};
    else if (op == OP_BITS_BOTH && (left || right))
        *out = (struct bounds){0, left ? a->high : b->high, false};
}

/* Bits: whether it can be true, and false. */
static unsigned compare(enum formula_op op, const struct bounds *a, const struct bounds *b)
{
    bool less = a->low < b->high, equal = a->low <= b->high && b->low <= a->high, greater = a->high > b->low;
    switch (op) {
    case OP_LESS:
        return (less ? CAN_BE_TRUE : 0) | (equal || greater ? CAN_BE_FALSE : 0);
    case OP_LESS_EQUAL:
        return (less || equal ? CAN_BE_TRUE : 0) | (greater ? CAN_BE_FALSE : 0);
    case OP_EQUAL:
    case OP_IS:
        return (equal ? CAN_BE_TRUE : 0) | (less || greater ? CAN_BE_FALSE : 0);
    default:
        return (less || greater ? CAN_BE_TRUE : 0) | (equal ? CAN_BE_FALSE : 0);
    }
}

static bool is_null(const struct bounding *x, uint32_t node)
{
    const struct formula_node *n = &x->f->nodes[node];
    if (n->op == OP_CONSTANT)
        return n->constant.kind == DATUM_NULL;
    return n->op == OP_KEY && x->keys[n->key].exact && x->keys[n->key].datum.kind == DATUM_NULL;
}

static bool bounds_of_two(const struct bounding *x, const struct formula_node *n, struct bounds *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct bounds a, b;
    if ((n->op == OP_IS || n->op == OP_IS_NOT) && is_null(x, operands[1]))
        return bounds_of(x, operands[0], &a) && !a.maybe_null &&
               give_truth(n->op == OP_IS ? CAN_BE_FALSE : CAN_BE_TRUE, out);
    if (!bounds_of(x, operands[0], &a) || !bounds_of(x, operands[1], &b))
        return false;
    bool maybe_null = a.maybe_null || b.maybe_null;
    switch (n->op) {
    case OP_ADD:
        return give(a.low + b.low, a.high + b.high, maybe_null, out);
    case OP_SUBTRACT:
        return give(a.low - b.high, a.high - b.low, maybe_null, out);
    case OP_MULTIPLY:
        return multiply(&a, &b, maybe_null, out);
    case OP_DIVIDE:
        return divide(&a, &b, maybe_null, out);
    case OP_REMAINDER:
        return take_remainder(&a, &b, maybe_null, out);
    case OP_BITS_BOTH:
    case OP_BITS_ANY:
        bounds_of_bits(n->op, &a, &b, out);
        return give(out->low, out->high, maybe_null, out);
    case OP_SHIFT_LEFT:
    case OP_SHIFT_RIGHT:
        return false;
    default:
        if (maybe_null && (n->op == OP_IS || n->op == OP_IS_NOT))
            return false;
        return give_truth(compare(n->op, &a, &b) | (maybe_null ? CAN_BE_NULL : 0), out);
    }
}

static bool bounds_of_both(const struct bounding *x, const struct formula_node *n, struct bounds *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    unsigned decided = n->op == OP_AND ? CAN_BE_FALSE : CAN_BE_TRUE;
    struct bounds a, b;
    if (!bounds_of(x, operands[0], &a))
        return false;
    unsigned left = truth_of(&a);
    if (left == decided)
        return give_truth(left, out);
    if (!bounds_of(x, operands[1], &b))
        return false;
    unsigned right = truth_of(&b);
    return give_truth(n->op == OP_AND ? truth_both(left, right)
                                      : truth_swap(truth_both(truth_swap(left), truth_swap(right))),
                      out);
}

static bool bounds_of_one(const struct bounding *x, const struct formula_node *n, struct bounds *out)
{
    struct bounds a;
    if (!bounds_of(x, x->f->operands[n->first], &a))
        return false;
    if (n->op == OP_NEGATE)
        return give(-a.high, -a.low, a.maybe_null, out);
    if (n->op == OP_NOT)
        return give_truth(truth_swap(truth_of(&a)), out);
    return n->op == OP_ABS && give(a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, magnitude(&a), a.maybe_null, out);
}

static bool bounds_of_extreme(const struct bounding *x, const struct formula_node *n, struct bounds *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct bounds one;
    if (!bounds_of(x, operands[0], out))
        return false;
    for (uint32_t i = 1; i < n->count; i++) {
        if (!bounds_of(x, operands[i], &one))
            return false;
        out->low = n->op == OP_MIN ? least(out->low, one.low) : most(out->low, one.low);
        out->high = n->op == OP_MIN ? least(out->high, one.high) : most(out->high, one.high);
        out->maybe_null |= one.maybe_null;
    }
    return true;
}

static void cover(const struct bounds *one, struct bounds *all)
{
    *all = (struct bounds){least(all->low, one->low), most(all->high, one->high), all->maybe_null || one->maybe_null};
}

/* Of what is certain; where that leaves ELSE open the value is one of several. */
static bool bounds_of_case(const struct bounding *x, const struct formula_node *n, struct bounds *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct bounds when, then;
    bool any = false;
    for (uint32_t i = 0; i < n->count; i += 2) {
        const bool is_else = i + 1 == n->count;
        unsigned truth = CAN_BE_TRUE;
        if (!is_else && !bounds_of(x, operands[i], &when))
            return false;
        truth = is_else ? truth : truth_of(&when);
        if (!(truth & CAN_BE_TRUE))
            continue;
        if (!bounds_of(x, operands[is_else ? i : i + 1], &then))
            return false;
        if (any)
            cover(&then, out);
        else
            *out = then;
        any = true;
        if (truth == CAN_BE_TRUE)
            return true;
    }
    return false;
}

/* The first that is not NULL, where one is surely not. */
static bool bounds_of_coalesce(const struct bounding *x, const struct formula_node *n, struct bounds *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct bounds one;
    bool any = false;
    for (uint32_t i = 0; i < n->count; i++) {
        if (is_null(x, operands[i]))
            continue;
        if (!bounds_of(x, operands[i], &one))
            return false;
        bool goes_on = one.maybe_null;
        one.maybe_null = false;
        if (any)
            cover(&one, out);
        else
            *out = one;
        any = true;
        if (!goes_on)
            return true;
    }
    return false;
}

static bool bounds_of(const struct bounding *x, uint32_t node, struct bounds *out)
{
    const struct formula_node *n = &x->f->nodes[node];
    switch (n->op) {
    case OP_COALESCE:
        return bounds_of_coalesce(x, n, out);
    case OP_CASE:
        return bounds_of_case(x, n, out);
    case OP_CONSTANT:
        return n->constant.kind == DATUM_INT && give(n->constant.integer, n->constant.integer, false, out);
    case OP_KEY:
        return give_key(&x->keys[n->key], out);
    case OP_AND:
    case OP_OR:
        return bounds_of_both(x, n, out);
    case OP_MIN:
    case OP_MAX:
        return bounds_of_extreme(x, n, out);
    case OP_NEGATE:
    case OP_NOT:
    case OP_ABS:
        return bounds_of_one(x, n, out);
    default:
        return n->op >= OP_ADD && n->op <= OP_IS_NOT && bounds_of_two(x, n, out);
    }
}

bool formula_bound_integers(const struct formula *f, const struct range *keys, uint32_t node, struct bounds *out)
{
    const struct bounding x = {f, keys};
    return bounds_of(&x, node, out);
}

unsigned bounds_truth(const struct bounds *b)
{
    return truth_of(b);
}
