/* Equalities of integers, solved for the one key that is open. */
#include <math.h>

#include "join/formula_tree.h"

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

static bool multiply(const struct linear *a, const struct linear *b, struct linear *out)
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
        return multiply(&a, &b, out);
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
