#include "join/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "join/formula_tree.h"
#include "util/memory.h"

/* Formulas over values of which some are not known yet, worked out in each of the ways in which SQLite works values
 * out. What is known of one is what SQLite comes to, whatever the others will be. */

static const struct datum unknown = {DATUM_UNKNOWN, {0}};
static const struct datum null = {DATUM_NULL, {0}};

static struct datum of_integer(int64_t integer)
{
    return (struct datum){DATUM_INT, {.integer = integer}};
}

/* NaN: NULL, as in SQLite. */
static struct datum of_real(double real)
{
    return isnan(real) ? null : (struct datum){DATUM_REAL, {.real = real}};
}

bool datum_equal(const struct datum *a, const struct datum *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == DATUM_TEXT)
        return a->text == b->text || strcmp(a->text, b->text) == 0;
    return a->kind == DATUM_NULL || a->integer == b->integer;
}

static bool is_number(struct datum d)
{
    return d.kind == DATUM_INT || d.kind == DATUM_REAL;
}

static bool is_null(struct datum d)
{
    return d.kind == DATUM_NULL;
}

static bool is_unknown(struct datum d)
{
    return d.kind == DATUM_UNKNOWN;
}

/* --- truth --- */

#define CAN_BE_ANY (CAN_BE_TRUE | CAN_BE_FALSE | CAN_BE_NULL)

/* The truth of a text within a formula is left to SQLite. */
static unsigned truth_of(struct datum d)
{
    switch (d.kind) {
    case DATUM_NULL:
        return CAN_BE_NULL;
    case DATUM_INT:
        return d.integer ? CAN_BE_TRUE : CAN_BE_FALSE;
    case DATUM_REAL:
        return d.real != 0 ? CAN_BE_TRUE : CAN_BE_FALSE;
    default:
        return CAN_BE_ANY;
    }
}

static struct datum of_truth(unsigned truth)
{
    return truth == CAN_BE_TRUE    ? of_integer(1)
           : truth == CAN_BE_FALSE ? of_integer(0)
           : truth == CAN_BE_NULL  ? null
                                   : unknown;
}

static unsigned truth_swap(unsigned truth)
{
    return truth == CAN_BE_TRUE ? CAN_BE_FALSE : truth == CAN_BE_FALSE ? CAN_BE_TRUE : truth;
}

/* --- arithmetic --- */

static double real_of(struct datum d)
{
    return d.kind == DATUM_INT ? (double)d.integer : d.real;
}

/* As SQLite casts. */
static int64_t integer_of(struct datum d)
{
    if (d.kind == DATUM_INT)
        return d.integer;
    if (d.real <= -9223372036854775808.0)
        return INT64_MIN;
    return d.real >= 9223372036854775808.0 ? INT64_MAX : (int64_t)d.real;
}

/* False where SQLite goes on with doubles. */
static bool work_out_integers(enum formula_op op, int64_t a, int64_t b, struct datum *out)
{
    int64_t result = 0;
    if ((op == OP_DIVIDE || op == OP_REMAINDER) && b == 0) {
        *out = null;
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
    *out = of_integer(result);
    return true;
}

static struct datum work_out_reals(enum formula_op op, struct datum x, struct datum y)
{
    double a = real_of(x), b = real_of(y);
    int64_t divisor = integer_of(y);
    switch (op) {
    case OP_ADD:
        return of_real(a + b);
    case OP_SUBTRACT:
        return of_real(a - b);
    case OP_MULTIPLY:
        return of_real(a * b);
    case OP_DIVIDE:
        return b == 0 ? null : of_real(a / b);
    default:
        if (divisor == 0)
            return null;
        return of_real(divisor == -1 ? 0 : (double)(integer_of(x) % divisor));
    }
}

/* OP_ADD to OP_REMAINDER. Numbers that texts are is SQLite's to say. */
static struct datum work_out(enum formula_op op, struct datum a, struct datum b)
{
    struct datum result;
    if (is_null(a) || is_null(b))
        return null;
    if (!is_number(a) || !is_number(b))
        return unknown;
    if (a.kind == DATUM_INT && b.kind == DATUM_INT && work_out_integers(op, a.integer, b.integer, &result))
        return result;
    return work_out_reals(op, a, b);
}

/* --- comparing --- */

#define NOT_KNOWN 2

/* -1, 0, 1 as SQLite sorts; NOT_KNOWN, also where it is left to SQLite. Neither is NULL. */
static int order_of(struct datum a, struct datum b)
{
    if (is_unknown(a) || is_unknown(b))
        return NOT_KNOWN;
    if (a.kind == DATUM_TEXT || b.kind == DATUM_TEXT) {
        if (a.kind != b.kind)
            return a.kind == DATUM_TEXT ? 1 : -1;
        int order = strcmp(a.text, b.text);
        return (order > 0) - (order < 0);
    }
    if (a.kind == DATUM_INT && b.kind == DATUM_INT)
        return (a.integer > b.integer) - (a.integer < b.integer);
    double x = real_of(a), y = real_of(b);
    if (a.kind != b.kind && (fabs(x) > EXACT_MOST || fabs(y) > EXACT_MOST))
        return NOT_KNOWN;
    return (x > y) - (x < y);
}

/* OP_LESS to OP_NOT_EQUAL. */
static struct datum compare(enum formula_op op, struct datum a, struct datum b)
{
    /* Bits: 1 less, 2 equal, 4 greater. */
    static const unsigned char wanted[] = {[OP_LESS] = 1, [OP_LESS_EQUAL] = 3, [OP_EQUAL] = 2, [OP_NOT_EQUAL] = 5};
    if (is_null(a) || is_null(b))
        return null;
    const int order = order_of(a, b);
    return order == NOT_KNOWN ? unknown : of_integer((wanted[op] >> (order + 1)) & 1);
}

/* IS: NULL is a value. */
static struct datum compare_is(struct datum a, struct datum b)
{
    if (is_unknown(a) || is_unknown(b))
        return unknown;
    return is_null(a) || is_null(b) ? of_integer(is_null(a) && is_null(b)) : compare(OP_EQUAL, a, b);
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

/* What is unknown does not end an evaluation: a residue tells of all that may count. */
struct evaluation {
    struct formula *f;
    const struct scope *s;
    struct buffer *residue; /* NULL: not wanted */
};

static struct datum evaluate(const struct evaluation *v, uint32_t node);

static void mark(const struct evaluation *v, char what)
{
    if (v->residue)
        buffer_add_char(v->residue, what);
}

static const uint32_t *operands_of(const struct evaluation *v, const struct formula_node *n)
{
    return v->f->operands + n->first;
}

static struct datum evaluate_part(const struct evaluation *v, const struct formula_node *n)
{
    struct sql_part *part = &v->f->parts[n->part];
    bool bound = true;
    for (size_t i = 0; i < part->key_count; i++) {
        const struct datum *key = &v->s->keys[part->keys[i]];
        bound &= !is_unknown(*key);
        if (v->residue && !is_unknown(*key))
            datum_add(key, v->residue);
        else
            mark(v, '?');
    }
    return bound ? evaluator_work_out(v->s, part) : unknown;
}

static struct datum evaluate_both(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    const unsigned decided = n->op == OP_AND ? CAN_BE_FALSE : CAN_BE_TRUE;
    const unsigned left = truth_of(evaluate(v, operands[0]));
    if (left == decided)
        return of_truth(left);
    const unsigned right = truth_of(evaluate(v, operands[1]));
    if (right == decided || left == CAN_BE_ANY || right == CAN_BE_ANY)
        return right == decided ? of_truth(right) : unknown;
    return of_truth(left == CAN_BE_NULL ? left : right);
}

static struct datum evaluate_case(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    bool is_open = false;
    for (uint32_t i = 0; i < n->count; i += 2) {
        const bool is_else = i + 1 == n->count;
        const unsigned truth = is_else ? CAN_BE_TRUE : truth_of(evaluate(v, operands[i]));
        if (!(truth & CAN_BE_TRUE))
            continue;
        const struct datum then = evaluate(v, operands[is_else ? i : i + 1]);
        if (truth == CAN_BE_TRUE)
            return is_open ? unknown : then;
        is_open = true;
    }
    return is_open ? unknown : null;
}

static struct datum evaluate_coalesce(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    bool is_open = false;
    for (uint32_t i = 0; i < n->count; i++) {
        const struct datum one = evaluate(v, operands[i]);
        if (!is_null(one) && !is_unknown(one))
            return is_open ? unknown : one;
        is_open = is_open || is_unknown(one);
    }
    return is_open ? unknown : null;
}

/* SQLite takes the later of equal cells for min(), the first for max(). */
static struct datum extreme(enum formula_op op, struct datum best, struct datum one)
{
    const int order = order_of(one, best);
    if (order == NOT_KNOWN)
        return unknown;
    return (op == OP_MIN ? order <= 0 : order > 0) ? one : best;
}

static struct datum evaluate_extreme(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    struct datum best = evaluate(v, operands[0]);
    for (uint32_t i = 1; i < n->count; i++) {
        const struct datum one = evaluate(v, operands[i]);
        best = is_null(best) || is_null(one) ? null : extreme(n->op, best, one);
    }
    return best;
}

static struct datum evaluate_one(const struct evaluation *v, const struct formula_node *n)
{
    const unsigned truth = truth_of(evaluate(v, operands_of(v, n)[0]));
    if (n->op == OP_NOT)
        return of_truth(truth_swap(truth));
    return truth == CAN_BE_ANY ? unknown : of_integer(truth == CAN_BE_TRUE);
}

static struct datum evaluate_two(const struct evaluation *v, const struct formula_node *n)
{
    const uint32_t *operands = operands_of(v, n);
    const struct datum a = evaluate(v, operands[0]), b = evaluate(v, operands[1]);
    if (n->op <= OP_REMAINDER)
        return work_out(n->op, a, b);
    return n->op == OP_IS ? compare_is(a, b) : compare(n->op, a, b);
}

static struct datum evaluate_node(const struct evaluation *v, const struct formula_node *n)
{
    switch (n->op) {
    case OP_KEY:
        return v->s->keys[n->key];
    case OP_PART:
        return evaluate_part(v, n);
    case OP_AND:
    case OP_OR:
        return evaluate_both(v, n);
    case OP_CASE:
        return evaluate_case(v, n);
    case OP_COALESCE:
        return evaluate_coalesce(v, n);
    case OP_MIN:
    case OP_MAX:
        return evaluate_extreme(v, n);
    default:
        return n->count == 1 ? evaluate_one(v, n) : evaluate_two(v, n);
    }
}

static struct datum evaluate(const struct evaluation *v, uint32_t node)
{
    const struct formula_node *n = &v->f->nodes[node];
    if (n->op == OP_CONSTANT)
        return n->constant;
    if (!v->residue)
        return evaluate_node(v, n);
    const size_t start = v->residue->length;
    mark(v, '(');
    const struct datum d = evaluate_node(v, n);
    if (is_unknown(d))
        mark(v, ')');
    else {
        /* All that it was made from comes to this. */
        v->residue->length = start;
        datum_add(&d, v->residue);
    }
    return d;
}

static bool is_bound(const struct formula *f, const struct scope *s)
{
    return !ANY(i, f->parts[0].key_count, is_unknown(s->keys[f->parts[0].keys[i]]));
}

static struct datum evaluate_whole(struct formula *f, const struct scope *s, struct buffer *residue)
{
    const struct evaluation v = {f, s, residue};
    const struct datum d = evaluate(&v, f->root);
    return is_unknown(d) && is_bound(f, s) ? evaluator_work_out(s, &f->parts[0]) : d;
}

/* As SQLite casts it: by the decimal number that it begins with. */
static unsigned truth_of_text(const char *text)
{
    const char *digits = text + strspn(text, " \t\n\f\r\v");
    digits += *digits == '-' || *digits == '+';
    bool is_decimal = (*digits >= '0' && *digits <= '9') || *digits == '.';
    bool is_hexadecimal = digits[0] == '0' && (digits[1] | 0x20) == 'x';
    return is_decimal && !is_hexadecimal && strtod(digits, NULL) != 0 ? CAN_BE_TRUE : CAN_BE_FALSE;
}

unsigned formula_truth(struct formula *f, const struct scope *s)
{
    if (!f->decides_early && !is_bound(f, s))
        return CAN_BE_ANY;
    const struct datum d = evaluate_whole(f, s, NULL);
    return d.kind == DATUM_TEXT ? truth_of_text(d.text) : truth_of(d);
}

struct datum formula_value(struct formula *f, const struct scope *s)
{
    return evaluate_whole(f, s, NULL);
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
    const size_t start = out->length;
    const enum outlook outlook = demand_outlook(demand, truth_of(evaluate_whole(f, s, out)));
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

/* --- equalities of integers, solved for the one key that is open --- */

static bool reads(const struct formula *f, uint32_t node, size_t key)
{
    const struct formula_node *n = &f->nodes[node];
    bool yes = n->op == OP_PART || (n->op == OP_KEY && n->key == key);
    for (uint32_t i = 0; n->op > OP_PART && i < n->count && !yes; i++)
        yes = reads(f, f->operands[n->first + i], key);
    return yes;
}

static bool is_linear(const struct formula *f, uint32_t node, size_t key)
{
    const struct formula_node *n = &f->nodes[node];
    const uint32_t *operands = f->operands + n->first;
    if (n->op == OP_MULTIPLY && reads(f, operands[0], key) && reads(f, operands[1], key))
        return false;
    if (n->op != OP_ADD && n->op != OP_SUBTRACT && n->op != OP_MULTIPLY)
        return n->op == OP_KEY || !reads(f, node, key);
    return is_linear(f, operands[0], key) && is_linear(f, operands[1], key);
}

bool formula_may_be_solved(const struct formula *f, size_t key)
{
    const struct formula_node *root = &f->nodes[f->root];
    return root->op == OP_EQUAL && is_linear(f, f->operands[root->first], key) &&
           is_linear(f, f->operands[root->first + 1], key);
}

/* How much more the left side of the equality is where the key is `at`; false: they are no integers. */
static bool difference_at(struct formula *f, const struct scope *s, size_t key, int64_t at, int64_t *out)
{
    const struct evaluation v = {f, s, NULL};
    const uint32_t *sides = f->operands + f->nodes[f->root].first;
    const struct datum before = s->keys[key];
    s->keys[key] = of_integer(at);
    const struct datum left = evaluate(&v, sides[0]), right = evaluate(&v, sides[1]);
    s->keys[key] = before;
    return left.kind == DATUM_INT && right.kind == DATUM_INT &&
           !__builtin_sub_overflow(left.integer, right.integer, out);
}

/* What overflows within a sum or product overflows at one of the two ends, and is real from there on: where both ends
 * are integers, so is all between them, and on the line through both. */
bool formula_solve(struct formula *f, const struct scope *s, size_t key, double most, bool *any, int64_t *value)
{
    const int64_t end = most <= EXACT_MOST ? (int64_t)most : 0;
    int64_t low, high, rise, sum;
    if (end == 0 || !difference_at(f, s, key, -end, &low) || !difference_at(f, s, key, end, &high) ||
        __builtin_sub_overflow(high, low, &rise) || __builtin_add_overflow(high, low, &sum) || rise == 0)
        return false;
    /* rise / (2 * end) * value + sum / 2 = 0 */
    rise /= 2 * end;
    *any = sum / 2 % rise == 0;
    *value = -(sum / 2 / rise);
    return true;
}
