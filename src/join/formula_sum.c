/* Residues of sums of integers: only the total of what is bound counts, and below a remainder only its class. */
#include "join/formula_tree.h"

#include <math.h>
#include <string.h>

struct marking {
    const struct formula *f;
    const struct range *keys;
    struct buffer *out;
};

/* A sum: its terms that are open are marked, the others are in the constant. */
struct sum {
    int64_t constant;
    bool is_open;
    double low, high; /* of all of it; integers that doubles hold */
};

static bool add_terms(const struct marking *m, uint32_t node, bool minus, struct sum *out);

/* Nothing overflows that stays within these bounds, in SQLite's integers neither. */
static bool is_held(const struct sum *s)
{
    return s->low >= -EXACT_MOST && s->high <= EXACT_MOST;
}

static bool give_constant(int64_t constant, struct sum *out)
{
    *out = (struct sum){constant, false, (double)constant, (double)constant};
    return is_held(out);
}

static bool add_datum(const struct datum *d, struct sum *out)
{
    return d->kind == DATUM_INT && give_constant(d->integer, out);
}

static void mark_constant(struct buffer *out, char what, int64_t constant)
{
    buffer_add_char(out, what);
    buffer_add(out, &constant, sizeof constant);
}

/* A key that may be NULL may stay open: then all of the sum is NULL, whatever the constant. */
static bool add_key(const struct marking *m, size_t key, bool minus, struct sum *out)
{
    const struct range *r = &m->keys[key];
    if (r->exact)
        return add_datum(&r->datum, out);
    if (r->maybe_text || r->maybe_real || !r->maybe_number)
        return false;
    mark_constant(m->out, minus ? '-' : '+', (int64_t)key);
    *out = (struct sum){0, true, r->low, r->high};
    return is_held(out);
}

static bool add_both(const struct marking *m, const uint32_t *operands, bool subtracts, bool minus, struct sum *out)
{
    struct sum a, b;
    if (!add_terms(m, operands[0], minus, &a) || !add_terms(m, operands[1], minus != subtracts, &b))
        return false;
    *out = (struct sum){subtracts ? a.constant - b.constant : a.constant + b.constant, a.is_open || b.is_open,
                        subtracts ? a.low - b.high : a.low + b.low, subtracts ? a.high - b.low : a.high + b.high};
    return is_held(out);
}

static bool negate(const struct marking *m, uint32_t operand, bool minus, struct sum *out)
{
    struct sum a;
    if (!add_terms(m, operand, !minus, &a))
        return false;
    *out = (struct sum){-a.constant, a.is_open, -a.high, -a.low};
    return true;
}

static int64_t class_of(int64_t constant, int64_t modulus)
{
    int64_t class = constant % modulus;
    return class < 0 ? class + modulus : class;
}

/* The remainder of a sum that is never negative depends on the class alone. */
static bool divide(const struct marking *m, const uint32_t *operands, bool minus, struct sum *out)
{
    size_t start = m->out->length;
    struct sum a, b;
    buffer_add_text(m->out, minus ? "-%" : "+%");
    if (!add_terms(m, operands[1], false, &b) || b.is_open || b.constant == 0)
        return false;
    int64_t divisor = b.constant < 0 ? -b.constant : b.constant;
    if (!add_terms(m, operands[0], false, &a))
        return false;
    if (!a.is_open) {
        m->out->length = start;
        return give_constant(a.constant % divisor, out);
    }
    mark_constant(m->out, '%', divisor);
    if (a.low >= 0)
        mark_constant(m->out, '~', class_of(a.constant, divisor));
    else
        mark_constant(m->out, '=', a.constant);
    *out = (struct sum){0, true, a.low >= 0 ? 0 : (double)(1 - divisor), (double)(divisor - 1)};
    return true;
}

static bool add_terms(const struct marking *m, uint32_t node, bool minus, struct sum *out)
{
    const struct formula_node *n = &m->f->nodes[node];
    const uint32_t *operands = m->f->operands + n->first;
    switch (n->op) {
    case OP_CONSTANT:
        return add_datum(&n->constant, out);
    case OP_KEY:
        return add_key(m, n->key, minus, out);
    case OP_ADD:
    case OP_SUBTRACT:
        return add_both(m, operands, n->op == OP_SUBTRACT, minus, out);
    case OP_NEGATE:
        return negate(m, operands[0], minus, out);
    case OP_REMAINDER:
        return divide(m, operands, minus, out);
    default:
        return false;
    }
}

bool formula_mark_sum(const struct formula *f, const struct range *keys, uint32_t node, size_t start,
                      struct buffer *out)
{
    const struct formula_node *n = &f->nodes[node];
    const struct marking m = {f, keys, out};
    bool compares = n->op >= OP_LESS && n->op <= OP_NOT_EQUAL;
    size_t end = out->length;
    struct sum sum;
    if (!compares && n->op != OP_REMAINDER)
        return false;
    buffer_add_char(out, '#');
    if (compares ? !add_both(&m, f->operands + n->first, true, false, &sum) : !add_terms(&m, node, false, &sum)) {
        out->length = end;
        return false;
    }
    mark_constant(out, '=', sum.constant);
    memmove(out->data + start, out->data + end, out->length - end);
    out->length -= end - start;
    return true;
}

/* --- equalities of integers, solved for the one key that is open --- */

struct solving {
    struct formula *f;
    const struct scope *s;
    size_t key;
};

/* factor * key + constant. Neither of the two nor that is further from 0 than `reach`, whatever the key is: nothing
 * overflows that stays within EXACT_MOST. */
struct linear {
    int64_t factor, constant;
    double reach;
};

static bool give_known(const struct solving *x, uint32_t node, struct linear *out)
{
    const struct range r = formula_node_range(x->f, x->s, node);
    if (!r.exact || r.datum.kind != DATUM_INT)
        return false;
    *out = (struct linear){0, r.datum.integer, fabs((double)r.datum.integer)};
    return out->reach <= EXACT_MOST;
}

static bool give_key(const struct range *r, struct linear *out)
{
    *out = (struct linear){1, 0, fmax(1, fmax(fabs(r->low), fabs(r->high)))};
    return r->maybe_number && !r->maybe_null && !r->maybe_text && !r->maybe_real;
}

static struct linear combine(const struct linear *a, const struct linear *b, int sign)
{
    return (struct linear){a->factor + sign * b->factor, a->constant + sign * b->constant, a->reach + b->reach};
}

static bool multiply_linear(const struct linear *a, const struct linear *b, struct linear *out)
{
    const struct linear *known = a->factor == 0 ? a : b, *other = known == a ? b : a;
    if (known->factor != 0 || !(a->reach * b->reach <= EXACT_MOST))
        return false;
    *out = (struct linear){other->factor * known->constant, other->constant * known->constant, a->reach * b->reach};
    return true;
}

static bool linear_of(const struct solving *x, uint32_t node, struct linear *out)
{
    const struct formula_node *n = &x->f->nodes[node];
    const uint32_t *operands = x->f->operands + n->first;
    struct linear a, b;
    if (n->op == OP_KEY && n->key == x->key)
        return give_key(&x->s->keys[n->key], out) && out->reach <= EXACT_MOST;
    if (n->op != OP_ADD && n->op != OP_SUBTRACT && n->op != OP_MULTIPLY)
        return give_known(x, node, out);
    if (!linear_of(x, operands[0], &a) || !linear_of(x, operands[1], &b))
        return false;
    if (n->op == OP_MULTIPLY)
        return multiply_linear(&a, &b, out);
    *out = combine(&a, &b, n->op == OP_ADD ? 1 : -1);
    return out->reach <= EXACT_MOST;
}

static bool reads(const struct formula *f, uint32_t node, size_t key)
{
    const struct formula_node *n = &f->nodes[node];
    bool yes = n->op == OP_PART || (n->op == OP_KEY && n->key == key);
    for (uint32_t i = 0; n->op > OP_PART && i < n->count && !yes; i++)
        yes = reads(f, f->operands[n->first + i], key);
    return yes;
}

static bool may_be_linear(const struct formula *f, uint32_t node, size_t key)
{
    const struct formula_node *n = &f->nodes[node];
    if (n->op == OP_KEY)
        return true;
    if (n->op != OP_ADD && n->op != OP_SUBTRACT && n->op != OP_MULTIPLY)
        return !reads(f, node, key);
    return may_be_linear(f, f->operands[n->first], key) && may_be_linear(f, f->operands[n->first + 1], key);
}

bool formula_may_be_solved(const struct formula *f, size_t key)
{
    const struct formula_node *root = &f->nodes[f->root];
    return root->op == OP_EQUAL && may_be_linear(f, f->operands[root->first], key) &&
           may_be_linear(f, f->operands[root->first + 1], key);
}

bool formula_solve(struct formula *f, const struct scope *s, size_t key, bool *any, int64_t *value)
{
    const struct formula_node *root = &f->nodes[f->root];
    const struct solving x = {f, s, key};
    struct linear left, right, zero;
    if (!linear_of(&x, f->operands[root->first], &left) || !linear_of(&x, f->operands[root->first + 1], &right))
        return false;
    zero = combine(&right, &left, -1);
    if (zero.factor == 0)
        return false;
    /* left = right where zero.factor * key + zero.constant = 0 */
    *any = zero.constant % zero.factor == 0;
    *value = -(zero.constant / zero.factor);
    return true;
}
