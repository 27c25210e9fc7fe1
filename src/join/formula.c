#include "join/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "join/formula_range.h"

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
        range_cover(&all, &(struct range){.exact = true, .datum = {DATUM_NULL, {0}}});
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

/* Of cells: the later of equals for min(), the first for max(), as SQLite has it. */
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

struct sql_part *formula_parts(struct formula *f, size_t *count)
{
    *count = f->part_count;
    return f->parts;
}
