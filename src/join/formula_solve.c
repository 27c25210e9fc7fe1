/* Equalities of integers, solved for the one key that is open. */
#include "join/formula_tree.h"

struct solving {
    const struct formula *f;
    const struct range *keys;
    size_t key;
};

/* factor * key + constant */
struct linear {
    int64_t factor, constant;
};

static bool is_known(const struct solving *x, uint32_t node, struct linear *out)
{
    struct bounds b;
    if (!formula_bound_integers(x->f, x->keys, node, &b) || b.low != b.high || b.maybe_null)
        return false;
    *out = (struct linear){0, b.low};
    return true;
}

/* a + sign * b */
static bool combine(const struct linear *a, const struct linear *b, int sign, struct linear *out)
{
    int64_t factor, constant;
    return !__builtin_mul_overflow(b->factor, sign, &factor) && !__builtin_mul_overflow(b->constant, sign, &constant) &&
           !__builtin_add_overflow(a->factor, factor, &out->factor) &&
           !__builtin_add_overflow(a->constant, constant, &out->constant);
}

static bool multiply(const struct linear *a, const struct linear *b, struct linear *out)
{
    const struct linear *known = a->factor == 0 ? a : b, *other = known == a ? b : a;
    return known->factor == 0 && !__builtin_mul_overflow(other->factor, known->constant, &out->factor) &&
           !__builtin_mul_overflow(other->constant, known->constant, &out->constant);
}

static bool linear_of(const struct solving *x, uint32_t node, struct linear *out)
{
    const struct formula_node *n = &x->f->nodes[node];
    const uint32_t *operands = x->f->operands + n->first;
    struct linear a, b;
    if (n->op == OP_KEY && n->key == x->key) {
        *out = (struct linear){1, 0};
        return true;
    }
    if (n->op != OP_ADD && n->op != OP_SUBTRACT && n->op != OP_MULTIPLY)
        return is_known(x, node, out);
    if (!linear_of(x, operands[0], &a) || !linear_of(x, operands[1], &b))
        return false;
    return n->op == OP_MULTIPLY ? multiply(&a, &b, out) : combine(&a, &b, n->op == OP_ADD ? 1 : -1, out);
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

static bool is_alone_open(const struct formula *f, const struct range *keys, size_t key)
{
    bool reads = false;
    for (size_t i = 0; i < f->parts[0].key_count; i++) {
        if (f->parts[0].keys[i] == key)
            reads = true;
        else if (!keys[f->parts[0].keys[i]].exact)
            return false;
    }
    return reads;
}

bool formula_solve(const struct formula *f, const struct range *keys, size_t key, bool *any, int64_t *value)
{
    const struct formula_node *root = &f->nodes[f->root];
    const struct solving x = {f, keys, key};
    struct linear left, right, zero;
    struct bounds b;
    /* What has bounds has no intermediate value that overflows, whatever the key is. */
    if (!is_alone_open(f, keys, key) || !formula_bound_integers(f, keys, f->root, &b) || b.maybe_null ||
        !linear_of(&x, f->operands[root->first], &left) || !linear_of(&x, f->operands[root->first + 1], &right) ||
        !combine(&right, &left, -1, &zero) || zero.factor == 0 || zero.constant == INT64_MIN)
        return false;
    /* left = right where zero.factor * key + zero.constant = 0 */
    *any = zero.constant % zero.factor == 0;
    *value = -(zero.constant / zero.factor);
    return true;
}
