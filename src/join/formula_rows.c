#include "join/formula_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "join/formula_range.h"
#include "util/memory.h"

#define DEEPEST 200    /* nodes */
#define RUNS_BY_NODE 6 /* that a node takes of the room at most */

/* By row: a number in low … high, or NULL where it may be. */
struct lanes {
    enum number_kind kind;
    size_t count;             /* of rows */
    bool is_exact;            /* low and high are the same */
    bool maybe_null;          /* a row that is NULL has any number */
    double reach;             /* no row is further from 0 */
    const double *low, *high; /* its own, or a column */
    double *own[2];           /* low and high in the room */
};

struct rows_pass {
    const struct formula *f;
    const struct range *keys;
    const struct key_rows *rows;
    double *room; /* what is left of it */
    bool any_null;
};

static bool evaluate(struct rows_pass *x, uint32_t node, int depth, struct lanes *out);

/* Its own, to be filled in. */
static void start(struct rows_pass *x, struct lanes *l, enum number_kind kind, bool is_exact)
{
    l->kind = kind;
    l->count = x->rows->count;
    l->is_exact = is_exact;
    for (int i = 0; i < 2; i++) {
        if (i == 0 || !is_exact)
            x->room += ROWS_AT_ONCE;
        l->own[i] = x->room - ROWS_AT_ONCE;
    }
    l->low = l->own[0];
    l->high = l->own[1];
}

static bool is_held(const struct lanes *l)
{
    return l->reach <= EXACT_MOST;
}

/* --- leaves --- */

/* NULL is 0 here. */
static double number_of(const struct datum *d)
{
    return d->kind == DATUM_INT ? (double)d->integer : d->kind == DATUM_REAL ? d->real : 0;
}

static enum number_kind kind_of(const struct datum *d)
{
    return d->kind == DATUM_INT ? NUMBER_INTEGER : d->kind == DATUM_REAL ? NUMBER_REAL : NUMBER_ANY;
}

struct number_column number_column_make(const struct datum *cells, size_t width, size_t count)
{
    struct number_column c = {.kind = kind_of(cells), .least = INFINITY, .most = -INFINITY};
    bool held = true;
    c.numbers = xcalloc(count + 1, sizeof *c.numbers);
    for (size_t i = 0; i < count && held; i++, cells += width) {
        double number = c.numbers[i] = number_of(cells);
        held = cells->kind != DATUM_TEXT && fabs(number) <= EXACT_MOST;
        c.any_null |= cells->kind == DATUM_NULL;
        c.kind = kind_of(cells) == c.kind ? c.kind : NUMBER_ANY;
        c.least = number < c.least ? number : c.least;
        c.most = number > c.most ? number : c.most;
    }
    if (!held) {
        free(c.numbers);
        c.numbers = NULL;
    }
    return c;
}

static void note_null(struct rows_pass *x, struct lanes *l)
{
    l->maybe_null = x->any_null = true;
}

static double reach_of(double low, double high)
{
    return -low > high ? -low : high;
}

static bool give(double low, double high, struct lanes *out)
{
    for (size_t i = 0; i < out->count; i++)
        out->own[0][i] = low;
    if (!out->is_exact)
        for (size_t i = 0; i < out->count; i++)
            out->own[1][i] = high;
    out->reach = reach_of(low, high);
    return is_held(out);
}

static bool give_datum(struct rows_pass *x, const struct datum *d, struct lanes *out)
{
    start(x, out, kind_of(d), true);
    if (d->kind == DATUM_NULL)
        note_null(x, out);
    return d->kind != DATUM_TEXT && give(number_of(d), number_of(d), out);
}

static bool give_range(struct rows_pass *x, const struct range *r, struct lanes *out)
{
    if (r->exact)
        return give_datum(x, &r->datum, out);
    start(x, out, r->maybe_real ? NUMBER_ANY : NUMBER_INTEGER, false);
    if (r->maybe_null)
        note_null(x, out);
    return !r->maybe_text && r->maybe_number && give(r->low, r->high, out);
}

static bool give_column(struct rows_pass *x, const struct number_column *c, struct lanes *out)
{
    if (!c->numbers)
        return false;
    if (c->any_null)
        note_null(x, out);
    out->kind = c->kind;
    out->count = x->rows->count;
    out->is_exact = true;
    out->reach = reach_of(c->least, c->most);
    out->low = out->high = c->numbers + x->rows->first;
    return true;
}

/* The column of a key that differs from row to row; else the width. */
static size_t column_of(const struct rows_pass *x, size_t key)
{
    size_t column = 0;
    while (column < x->rows->width && x->rows->keys[column] != key)
        column++;
    return column;
}

static bool give_key(struct rows_pass *x, size_t key, struct lanes *out)
{
    size_t column = column_of(x, key);
    return column < x->rows->width ? give_column(x, &x->rows->columns[column], out) : give_range(x, &x->keys[key], out);
}

/* --- arithmetic --- */

static double truncated(double number)
{
    return (double)(int64_t)number;
}

static double quotient(double a, double b)
{
    return b == 0 ? 0 : truncated(a / b);
}

static double remainder_of(double a, double b)
{
    return a - quotient(a, b) * b;
}

struct between {
    double low, high;
};

static struct between span_of(double a, double b, double c, double d)
{
    const double low = a < b ? a : b, high = a < b ? b : a, other_low = c < d ? c : d, other_high = c < d ? d : c;
    return (struct between){low < other_low ? low : other_low, high > other_high ? high : other_high};
}

/* No integer but 0, which leaves NULL, makes the quotient larger than the dividend. */
static struct between quotients(struct between a, struct between b)
{
    if (b.low <= 0 && b.high >= 0)
        return (struct between){-reach_of(a.low, a.high), reach_of(a.low, a.high)};
    struct between r = span_of(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high);
    return (struct between){truncated(r.low), truncated(r.high)};
}

static struct between remainders(struct between a, struct between b)
{
    const double divisor = reach_of(b.low, b.high), reach = reach_of(a.low, a.high);
    const double most = divisor == 0 ? 0 : reach < divisor - 1 ? reach : divisor - 1;
    if (divisor != 0 && b.low == b.high && (a.low >= 0) == (a.high >= 0) &&
        truncated(a.low / divisor) == truncated(a.high / divisor))
        return (struct between){remainder_of(a.low, divisor), remainder_of(a.high, divisor)};
    return (struct between){a.low < 0 ? -most : 0, a.high > 0 ? most : 0};
}

static struct between bits(enum formula_op op, struct between a, struct between b)
{
    const struct bounds x = {(int64_t)a.low, (int64_t)a.high, false}, y = {(int64_t)b.low, (int64_t)b.high, false};
    struct bounds both;
    bounds_of_bits(op, &x, &y, &both);
    return (struct between){(double)both.low, (double)both.high};
}

static void add_lanes(const struct lanes *a, const struct lanes *b, struct lanes *out)
{
    for (size_t i = 0; i < out->count; i++)
        out->own[0][i] = a->low[i] + b->low[i];
    if (!out->is_exact)
        for (size_t i = 0; i < out->count; i++)
            out->own[1][i] = a->high[i] + b->high[i];
    out->reach = a->reach + b->reach;
}

static void subtract_lanes(const struct lanes *a, const struct lanes *b, struct lanes *out)
{
    for (size_t i = 0; i < out->count; i++)
        out->own[0][i] = a->low[i] - b->high[i];
    if (!out->is_exact)
        for (size_t i = 0; i < out->count; i++)
            out->own[1][i] = a->high[i] - b->low[i];
    out->reach = a->reach + b->reach;
}

static void multiply_lanes(const struct lanes *a, const struct lanes *b, struct lanes *out)
{
    out->reach = a->reach * b->reach;
    if (out->is_exact) {
        for (size_t i = 0; i < out->count; i++)
            out->own[0][i] = a->low[i] * b->low[i];
        return;
    }
    for (size_t i = 0; i < out->count; i++) {
        const struct between r =
            span_of(a->low[i] * b->low[i], a->low[i] * b->high[i], a->high[i] * b->low[i], a->high[i] * b->high[i]);
        out->own[0][i] = r.low;
        out->own[1][i] = r.high;
    }
}

static void note_divisor(struct rows_pass *x, const struct lanes *b, struct lanes *out)
{
    int64_t zeros = 0;
    for (size_t i = 0; i < b->count; i++)
        zeros += b->low[i] <= 0 && b->high[i] >= 0;
    if (zeros > 0)
        note_null(x, out);
}

/* Of numbers that are no integers where all is known; the reach is that of what comes out. */
static bool divide_reals(const struct lanes *a, const struct lanes *b, struct lanes *out)
{
    if (!out->is_exact)
        return false;
    out->reach = 0;
    for (size_t i = 0; i < out->count; i++) {
        out->own[0][i] = b->low[i] == 0 ? 0 : a->low[i] / b->low[i];
        out->reach = fabs(out->own[0][i]) > out->reach ? fabs(out->own[0][i]) : out->reach;
    }
    return true;
}

static bool divide_lanes(const struct lanes *a, const struct lanes *b, struct lanes *out)
{
    out->reach = a->reach;
    if (out->kind != NUMBER_INTEGER)
        return out->kind == NUMBER_REAL && divide_reals(a, b, out);
    if (out->is_exact) {
        for (size_t i = 0; i < out->count; i++)
            out->own[0][i] = quotient(a->low[i], b->low[i]);
        return true;
    }
    for (size_t i = 0; i < out->count; i++) {
        const struct between r =
            quotients((struct between){a->low[i], a->high[i]}, (struct between){b->low[i], b->high[i]});
        out->own[0][i] = r.low;
        out->own[1][i] = r.high;
    }
    return true;
}

static bool take_remainders(const struct lanes *a, const struct lanes *b, struct lanes *out)
{
    out->reach = a->reach < b->reach ? a->reach : b->reach;
    if (out->is_exact) {
        for (size_t i = 0; i < out->count; i++)
            out->own[0][i] = remainder_of(a->low[i], b->low[i]);
    } else
        for (size_t i = 0; i < out->count; i++) {
            const struct between r =
                remainders((struct between){a->low[i], a->high[i]}, (struct between){b->low[i], b->high[i]});
            out->own[0][i] = r.low;
            out->own[1][i] = r.high;
        }
    return out->kind == NUMBER_INTEGER;
}

static bool take_bits(const struct rows_pass *x, enum formula_op op, const struct lanes *a, const struct lanes *b,
                      struct lanes *out)
{
    if (out->kind != NUMBER_INTEGER || (!out->is_exact && op > OP_BITS_ANY))
        return false;
    out->reach = 0;
    for (size_t i = 0; i < x->rows->count; i++) {
        struct between r;
        r.low = r.high = (double)integer_of_bits(op, (int64_t)a->low[i], (int64_t)b->low[i]);
        if (!out->is_exact)
            r = bits(op, (struct between){a->low[i], a->high[i]}, (struct between){b->low[i], b->high[i]});
        out->own[0][i] = r.low;
        out->own[1][i] = r.high;
        out->reach = reach_of(r.low, r.high) > out->reach ? reach_of(r.low, r.high) : out->reach;
    }
    return true;
}

static bool work_out(struct rows_pass *x, enum formula_op op, const struct lanes *a, const struct lanes *b,
                     struct lanes *out)
{
    const bool integers = a->kind == NUMBER_INTEGER && b->kind == NUMBER_INTEGER;
    const bool real = a->kind == NUMBER_REAL || b->kind == NUMBER_REAL;
    bool told = true;
    start(x, out, integers ? NUMBER_INTEGER : real ? NUMBER_REAL : NUMBER_ANY, a->is_exact && b->is_exact);
    switch (op) {
    case OP_ADD:
        add_lanes(a, b, out);
        break;
    case OP_SUBTRACT:
        subtract_lanes(a, b, out);
        break;
    case OP_MULTIPLY:
        multiply_lanes(a, b, out);
        break;
    case OP_DIVIDE:
        note_divisor(x, b, out);
        told = divide_lanes(a, b, out);
        break;
    case OP_REMAINDER:
        note_divisor(x, b, out);
        told = take_remainders(a, b, out);
        break;
    default:
        told = take_bits(x, op, a, b, out);
    }
    return told && is_held(out);
}

/* --- comparing, logic --- */

static void start_truths(struct rows_pass *x, struct lanes *l, bool is_exact)
{
    start(x, l, NUMBER_INTEGER, is_exact);
    l->reach = 1;
}

/* Low: whether it must be true; high: whether it can be. */
static void compare(struct rows_pass *x, enum formula_op op, const struct lanes *a, const struct lanes *b,
                    struct lanes *out)
{
    start_truths(x, out, a->is_exact && b->is_exact);
    double *must = out->own[0], *can = out->own[1];
    switch (op) {
    case OP_LESS:
        for (size_t i = 0; i < out->count; i++)
            must[i] = a->high[i] < b->low[i];
        if (!out->is_exact)
            for (size_t i = 0; i < out->count; i++)
                can[i] = a->low[i] < b->high[i];
        return;
    case OP_LESS_EQUAL:
        for (size_t i = 0; i < out->count; i++)
            must[i] = a->high[i] <= b->low[i];
        if (!out->is_exact)
            for (size_t i = 0; i < out->count; i++)
                can[i] = a->low[i] <= b->high[i];
        return;
    case OP_EQUAL:
    case OP_IS:
        for (size_t i = 0; i < out->count; i++)
            must[i] = (a->low[i] >= b->high[i]) & (a->high[i] <= b->low[i]);
        if (!out->is_exact)
            for (size_t i = 0; i < out->count; i++)
                can[i] = (a->low[i] <= b->high[i]) & (b->low[i] <= a->high[i]);
        return;
    default:
        for (size_t i = 0; i < out->count; i++)
            must[i] = (a->low[i] > b->high[i]) | (a->high[i] < b->low[i]);
        if (!out->is_exact)
            for (size_t i = 0; i < out->count; i++)
                can[i] = (a->low[i] < b->high[i]) | (b->low[i] < a->high[i]);
    }
}

/* Of IS and the like, which are never NULL. */
static bool admit_both(struct rows_pass *x, struct lanes *l)
{
    start_truths(x, l, false);
    l->maybe_null = false;
    return give(0, 1, l);
}

static const struct datum *leaf_of(const struct rows_pass *x, uint32_t node, size_t row)
{
    const struct formula_node *n = &x->f->nodes[node];
    if (n->op == OP_CONSTANT)
        return &n->constant;
    if (n->op != OP_KEY)
        return NULL;
    size_t column = column_of(x, n->key);
    if (column < x->rows->width)
        return &x->rows->cells[(x->rows->first + row) * x->rows->width + column];
    return x->keys[n->key].exact ? &x->keys[n->key].datum : NULL;
}

/* Of keys and constants where one is text. */
static bool compare_leaves(struct rows_pass *x, const struct formula_node *n, struct lanes *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    if (n->op < OP_LESS || n->op > OP_NOT_EQUAL)
        return false;
    start_truths(x, out, true);
    for (size_t row = 0; row < x->rows->count; row++) {
        const struct datum *a = leaf_of(x, operands[0], row), *b = leaf_of(x, operands[1], row);
        if (!a || !b)
            return false;
        bool any_null = a->kind == DATUM_NULL || b->kind == DATUM_NULL;
        int order = any_null ? 0 : datum_compare(a, b);
        if (order == 2)
            return false;
        if (any_null)
            note_null(x, out);
        out->own[0][row] = n->op == OP_LESS         ? order < 0
                           : n->op == OP_LESS_EQUAL ? order <= 0
                           : n->op == OP_EQUAL      ? order == 0
                                                    : order != 0;
    }
    return true;
}

static bool evaluate_two(struct rows_pass *x, const struct formula_node *n, int depth, struct lanes *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct lanes a = {.count = 0}, b = {.count = 0};
    if (!evaluate(x, operands[0], depth, &a) || !evaluate(x, operands[1], depth, &b))
        return compare_leaves(x, n, out);
    out->maybe_null = a.maybe_null || b.maybe_null;
    if (n->op <= OP_SHIFT_RIGHT)
        return work_out(x, n->op, &a, &b, out);
    if (out->maybe_null && (n->op == OP_IS || n->op == OP_IS_NOT))
        return admit_both(x, out);
    compare(x, n->op, &a, &b, out);
    return true;
}

/* Numbers to truths. */
static bool evaluate_truth(struct rows_pass *x, uint32_t node, int depth, struct lanes *out)
{
    struct lanes l = {.count = 0};
    if (!evaluate(x, node, depth, &l))
        return false;
    out->maybe_null = l.maybe_null;
    start_truths(x, out, l.is_exact);
    for (size_t i = 0; i < out->count; i++)
        out->own[0][i] = (l.low[i] > 0) | (l.high[i] < 0);
    if (!l.is_exact)
        for (size_t i = 0; i < out->count; i++)
            out->own[1][i] = (l.low[i] != 0) | (l.high[i] != 0);
    return true;
}

/* Makes them its own, as ranges where they are not to be exact. */
static void own(struct rows_pass *x, struct lanes *l, bool is_exact)
{
    const struct lanes from = *l;
    start(x, l, l->kind, is_exact);
    memcpy(l->own[0], from.low, l->count * sizeof *l->low);
    if (!is_exact)
        memcpy(l->own[1], from.high, l->count * sizeof *l->high);
}

static void cover_kind(const struct lanes *one, struct lanes *all)
{
    all->kind = all->kind == one->kind ? all->kind : NUMBER_ANY;
    all->reach = all->reach > one->reach ? all->reach : one->reach;
    all->maybe_null |= one->maybe_null;
}

/* The lesser of two, or the greater. */
static void take_extreme(struct rows_pass *x, bool least, const struct lanes *one, struct lanes *all)
{
    own(x, all, all->is_exact && one->is_exact);
    cover_kind(one, all);
    double *low = all->own[0], *high = all->own[1];
    for (size_t i = 0; i < all->count; i++)
        low[i] = (one->low[i] < low[i]) == least ? one->low[i] : low[i];
    if (!all->is_exact)
        for (size_t i = 0; i < all->count; i++)
            high[i] = (one->high[i] < high[i]) == least ? one->high[i] : high[i];
}

static bool evaluate_extreme(struct rows_pass *x, const struct formula_node *n, int depth, struct lanes *out)
{
    const bool of_truths = n->op == OP_AND || n->op == OP_OR, least = n->op == OP_MIN || n->op == OP_AND;
    const uint32_t *operands = x->f->operands + n->first;
    bool (*take)(struct rows_pass *, uint32_t, int, struct lanes *) = of_truths ? evaluate_truth : evaluate;
    struct lanes one = {.count = 0};
    if (!take(x, operands[0], depth, out))
        return false;
    for (uint32_t i = 1; i < n->count; i++) {
        if (!take(x, operands[i], depth, &one))
            return false;
        take_extreme(x, least, &one, out);
    }
    return true;
}

static void swap_truth(struct lanes *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const double low = l->own[0][i];
        l->own[0][i] = 1 - l->high[i];
        l->own[1][i] = 1 - low;
    }
}

static bool evaluate_question(struct rows_pass *x, const struct formula_node *n, int depth, struct lanes *out)
{
    if (!evaluate_truth(x, x->f->operands[n->first], depth, out))
        return false;
    if (n->op == OP_NOT || n->op == OP_IS_FALSE || n->op == OP_IS_NOT_TRUE)
        swap_truth(out);
    return n->op == OP_NOT || !out->maybe_null || admit_both(x, out);
}

static bool evaluate_signed(struct rows_pass *x, const struct formula_node *n, int depth, struct lanes *out)
{
    struct lanes zero = {.count = 0}, a = {.count = 0};
    if (!evaluate(x, x->f->operands[n->first], depth, &a))
        return false;
    start(x, &zero, NUMBER_INTEGER, true);
    give(0, 0, &zero);
    out->maybe_null = a.maybe_null;
    if (!work_out(x, OP_SUBTRACT, &zero, &a, out))
        return false;
    if (n->op == OP_NEGATE)
        return true;
    take_extreme(x, false, &a, out);
    for (size_t i = 0; i < out->count; i++)
        out->own[0][i] = out->own[0][i] > 0 ? out->own[0][i] : 0;
    return true;
}

/* --- choosing --- */

/* Where `when` is true, `then`; `out` where it is not; both where it may be either. */
static void choose(struct rows_pass *x, const struct lanes *when, const struct lanes *then, struct lanes *out)
{
    const bool sure = !when->maybe_null;
    own(x, out, sure && when->is_exact && then->is_exact && out->is_exact);
    cover_kind(then, out);
    double *low = out->own[0], *high = out->own[1];
    for (size_t i = 0; i < out->count; i++) {
        const bool can_be = when->high[i] != 0, must_be = sure && when->low[i] != 0;
        low[i] = must_be || (can_be && then->low[i] < low[i]) ? then->low[i] : low[i];
        if (!out->is_exact)
            high[i] = must_be || (can_be && then->high[i] > high[i]) ? then->high[i] : high[i];
    }
}

static bool evaluate_case(struct rows_pass *x, const struct formula_node *n, int depth, struct lanes *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct lanes when = {.count = 0}, then = {.count = 0};
    if (!evaluate(x, operands[n->count - 1], depth, out))
        return false;
    for (uint32_t i = n->count - 1; i >= 2; i -= 2) {
        if (!evaluate_truth(x, operands[i - 2], depth, &when) || !evaluate(x, operands[i - 1], depth, &then))
            return false;
        choose(x, &when, &then, out);
    }
    return true;
}

/* What an earlier one that may be NULL comes to is covered, and what comes after it. */
static bool evaluate_coalesce(struct rows_pass *x, const struct formula_node *n, int depth, struct lanes *out)
{
    const uint32_t *operands = x->f->operands + n->first;
    struct lanes may = {.count = 0}, one = {.count = 0};
    admit_both(x, &may);
    for (uint32_t i = n->count; i-- > 0;) {
        bool is_last = i + 1 == n->count;
        if (!evaluate(x, operands[i], depth, &one))
            return false;
        bool maybe_null = one.maybe_null && (is_last || out->maybe_null);
        if (is_last || !one.maybe_null)
            *out = one;
        else
            choose(x, &may, &one, out);
        out->maybe_null = maybe_null;
    }
    return true;
}

static bool evaluate(struct rows_pass *x, uint32_t node, int depth, struct lanes *out)
{
    const struct formula_node *n = &x->f->nodes[node];
    if (depth == DEEPEST)
        return false;
    out->maybe_null = false;
    switch (n->op) {
    case OP_CONSTANT:
        return give_datum(x, &n->constant, out);
    case OP_KEY:
        return give_key(x, n->key, out);
    case OP_PART:
    case OP_NULLIF:
        return false;
    case OP_CASE:
        return evaluate_case(x, n, depth + 1, out);
    case OP_COALESCE:
        return evaluate_coalesce(x, n, depth + 1, out);
    case OP_AND:
    case OP_OR:
    case OP_MIN:
    case OP_MAX:
        return evaluate_extreme(x, n, depth + 1, out);
    case OP_NEGATE:
    case OP_ABS:
        return evaluate_signed(x, n, depth + 1, out);
    default:
        return n->count == 1 ? evaluate_question(x, n, depth + 1, out) : evaluate_two(x, n, depth + 1, out);
    }
}

/* The rows that are 0, by bit. */
static uint64_t zeros_of(const double *numbers, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= (uint64_t)(numbers[i] == 0) << i;
    return bits;
}

bool formula_truths(const struct formula *f, const struct range *keys, const struct key_rows *rows, double *room,
                    struct row_truths *out)
{
    struct rows_pass x = {f, keys, rows, room, false};
    struct lanes all = {.count = 0};
    if (f->node_count > ROWS_ROOM / ROWS_AT_ONCE / RUNS_BY_NODE || !evaluate_truth(&x, f->root, 0, &all))
        return false;
    const uint64_t maybe_false = zeros_of(all.low, all.count);
    const uint64_t maybe_true = ~(all.is_exact ? maybe_false : zeros_of(all.high, all.count));
    *out = (struct row_truths){maybe_true, maybe_false, all.maybe_null, x.any_null};
    return true;
}

void demand_rows(enum demand demand, const struct row_truths *truths, uint64_t *can_meet, uint64_t *can_fail)
{
    const uint64_t by_bit[] = {truths->can_be_true, truths->can_be_false, truths->maybe_null ? UINT64_MAX : 0};
    *can_meet = *can_fail = 0;
    for (unsigned i = 0; i < 3; i++)
        *(demand_outlook(demand, 1U << i) == OUTLOOK_MET ? can_meet : can_fail) |= by_bit[i];
}
