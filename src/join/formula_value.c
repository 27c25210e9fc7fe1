/* The short way for what is bound: no ranges, and the general way (formula.c) where it gives up. */
#include <math.h>

#include "join/formula_range.h"

struct exact {
    const struct formula *f;
    const struct range *keys;
};

static bool value_of(const struct exact *x, uint32_t node, struct datum *out);

/* Most operands are leaves: without a call. */
static bool value_of_operand(const struct exact *x, uint32_t node, struct datum *out)
{
    const struct formula_node *n = &x->f->nodes[node];
    if (n->op != OP_KEY && n->op != OP_CONSTANT)
        return value_of(x, node, out);
    *out = n->op == OP_KEY ? x->keys[n->key].datum : n->constant;
    return true;
}

static bool give_integer(int64_t integer, struct datum *out)
{
    *out = (struct datum){DATUM_INT, {.integer = integer}};
    return true;
}

static bool give_null(struct datum *out)
{
    *out = (struct datum){DATUM_NULL, {0}};
    return true;
}

/* -1: NULL; -2: it is neither that nor a number. */
static int truth_of(const struct datum *d)
{
    if (d->kind == DATUM_INT)
        return d->integer != 0;
    if (d->kind == DATUM_REAL)
        return d->real != 0;
    return d->kind == DATUM_NULL ? -1 : -2;
}

static bool give_truth(int truth, struct datum *out)
{
    return truth < 0 ? give_null(out) : give_integer(truth, out);
}

static bool work_out(enum formula_op op, int64_t a, int64_t b, struct datum *out)
{
    int64_t result;
    switch (op) {
    case OP_ADD:
        return !__builtin_add_overflow(a, b, &result) && give_integer(result, out);
    case OP_SUBTRACT:
        return !__builtin_sub_overflow(a, b, &result) && give_integer(result, out);
    case OP_MULTIPLY:
        return !__builtin_mul_overflow(a, b, &result) && give_integer(result, out);
    case OP_BITS_BOTH:
    case OP_BITS_ANY:
    case OP_SHIFT_LEFT:
    case OP_SHIFT_RIGHT:
        return give_integer(integer_of_bits(op, a, b), out);
    default:
        if (b == 0)
            return give_null(out);
        if (b == -1)
            return false;
        return give_integer(op == OP_DIVIDE ? a / b : a % b, out);
    }
}

static bool is_number(const struct datum *d)
{
    return d->kind == DATUM_INT || d->kind == DATUM_REAL;
}

static double real_of(const struct datum *d)
{
    return d->kind == DATUM_INT ? (double)d->integer : d->real;
}

/* Where one is no integer. */
static bool work_out_reals(enum formula_op op, double a, double b, struct datum *out)
{
    double result = op == OP_ADD ? a + b : op == OP_SUBTRACT ? a - b : op == OP_MULTIPLY ? a * b : a / b;
    if (op > OP_DIVIDE)
        return false;
    if ((op == OP_DIVIDE && b == 0) || isnan(result))
        return give_null(out);
    *out = (struct datum){DATUM_REAL, {.real = result}};
    return true;
}

static bool compare(enum formula_op op, const struct datum *a, const struct datum *b, struct datum *out)
{
    bool integers = a->kind == DATUM_INT && b->kind == DATUM_INT;
    int order = integers ? (a->integer > b->integer) - (a->integer < b->integer) : datum_compare(a, b);
    if (order == 2)
        return false;
    switch (op) {
    case OP_LESS:
        return give_integer(order < 0, out);
    case OP_LESS_EQUAL:
        return give_integer(order <= 0, out);
    case OP_EQUAL:
    case OP_IS:
        return give_integer(order == 0, out);
    default:
        return give_integer(order != 0, out);
    }
}

static bool value_of_two(const struct exact *x, const struct formula_node *n, struct datum *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct datum a, b;
    if (!value_of_operand(x, operands[0], &a) || !value_of_operand(x, operands[1], &b))
        return false;
    bool any_null = a.kind == DATUM_NULL || b.kind == DATUM_NULL;
    if (any_null && (n->op == OP_IS || n->op == OP_IS_NOT))
        return give_integer((a.kind == b.kind) == (n->op == OP_IS), out);
    if (any_null)
        return give_null(out);
    if (n->op > OP_SHIFT_RIGHT)
        return compare(n->op, &a, &b, out);
    if (a.kind == DATUM_INT && b.kind == DATUM_INT)
        return work_out(n->op, a.integer, b.integer, out);
    return is_number(&a) && is_number(&b) && work_out_reals(n->op, real_of(&a), real_of(&b), out);
}

static bool value_of_signed(const struct exact *x, const struct formula_node *n, struct datum *out)
{
    struct datum a;
    if (!value_of_operand(x, x->f->operands[n->first], &a))
        return false;
    if (a.kind == DATUM_NULL)
        return give_null(out);
    if (a.kind != DATUM_INT || a.integer == INT64_MIN)
        return false;
    return give_integer(n->op == OP_NEGATE || a.integer < 0 ? -a.integer : a.integer, out);
}

static bool value_of_extreme(const struct exact *x, const struct formula_node *n, struct datum *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct datum one;
    if (!value_of_operand(x, operands[0], out))
        return false;
    for (uint32_t i = 1; i < n->count; i++) {
        if (!value_of_operand(x, operands[i], &one))
            return false;
        bool any_null = out->kind == DATUM_NULL || one.kind == DATUM_NULL;
        int order = any_null ? 0 : datum_compare(&one, out);
        if (order == 2)
            return false;
        if (any_null)
            give_null(out);
        else if (n->op == OP_MIN ? order <= 0 : order > 0)
            *out = one;
    }
    return true;
}

static bool value_of_one(const struct exact *x, const struct formula_node *n, struct datum *out)
{
    struct datum a;
    if (!value_of(x, x->f->operands[n->first], &a))
        return false;
    int truth = truth_of(&a);
    if (truth < -1)
        return false;
    switch (n->op) {
    case OP_NOT:
        return give_truth(truth < 0 ? truth : !truth, out);
    case OP_IS_TRUE:
        return give_integer(truth == 1, out);
    case OP_IS_FALSE:
        return give_integer(truth == 0, out);
    case OP_IS_NOT_TRUE:
        return give_integer(truth != 1, out);
    case OP_IS_NOT_FALSE:
        return give_integer(truth != 0, out);
    default:
        return false;
    }
}

static bool value_of_both(const struct exact *x, const struct formula_node *n, struct datum *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct datum a, b;
    int decides = n->op == OP_OR;
    if (!value_of(x, operands[0], &a))
        return false;
    int left = truth_of(&a);
    if (left == decides)
        return give_integer(decides, out);
    if (left < -1 || !value_of(x, operands[1], &b))
        return false;
    int right = truth_of(&b);
    if (right < -1)
        return false;
    if (right == decides)
        return give_integer(decides, out);
    return left < 0 || right < 0 ? give_null(out) : give_integer(!decides, out);
}

static bool value_of_case(const struct exact *x, const struct formula_node *n, struct datum *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct datum when;
    for (uint32_t i = 0; i + 1 < n->count; i += 2) {
        if (!value_of(x, operands[i], &when) || truth_of(&when) < -1)
            return false;
        if (truth_of(&when) == 1)
            return value_of(x, operands[i + 1], out);
    }
    return value_of(x, operands[n->count - 1], out);
}

static bool value_of_coalesce(const struct exact *x, const struct formula_node *n, struct datum *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    for (uint32_t i = 0; i < n->count; i++) {
        if (!value_of(x, operands[i], out))
            return false;
        if (out->kind != DATUM_NULL)
            return true;
    }
    return give_null(out);
}

static bool value_of(const struct exact *x, uint32_t node, struct datum *out)
{
    const struct formula_node *n = &x->f->nodes[node];
    switch (n->op) {
    case OP_CONSTANT:
        *out = n->constant;
        return true;
    case OP_KEY:
        *out = x->keys[n->key].datum;
        return true;
    case OP_AND:
    case OP_OR:
        return value_of_both(x, n, out);
    case OP_CASE:
        return value_of_case(x, n, out);
    case OP_COALESCE:
        return value_of_coalesce(x, n, out);
    case OP_MIN:
    case OP_MAX:
        return value_of_extreme(x, n, out);
    case OP_NEGATE:
    case OP_ABS:
        return value_of_signed(x, n, out);
    case OP_NOT:
    case OP_IS_TRUE:
    case OP_IS_FALSE:
    case OP_IS_NOT_TRUE:
    case OP_IS_NOT_FALSE:
        return value_of_one(x, n, out);
    default:
        return n->op >= OP_ADD && n->op <= OP_IS_NOT && value_of_two(x, n, out);
    }
}

bool formula_value_exactly(const struct formula *f, const struct range *keys, struct datum *out)
{
    const struct exact x = {f, keys};
    const struct sql_part *whole = &f->parts[0];
    for (size_t i = 0; i < whole->key_count; i++)
        if (!keys[whole->keys[i]].exact)
            return false;
    return value_of(&x, f->root, out);
}
