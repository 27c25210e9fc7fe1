/* In which order places are bound, how many solutions there are, and which. */
#include "join/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/memory.h"
#include "util/rng.h"

#define NONE SIZE_MAX
#define LOOK_EVERY 4096 /* evaluations */

/* Places, or constraints, ascending. */
struct set {
    size_t *items;
    size_t count;
};

/* A variable in its place: sections in order, each with its block first. */
struct variable_place {
    const struct variable *variable;
    enum section_kind section;
    size_t number;   /* in its shape */
    size_t row;      /* that it was bound to last */
    size_t *columns; /* of its keys, those that a constraint reads */
    size_t column_count;
};

/* A place with what is to be bound after it. Its subtree holds a component: what the constraints tie together once the
 * places above it are bound. */
struct branch {
    size_t place;
    struct set children;
    struct set tests;      /* constraints that read the place */
    struct set equalities; /* of them, those that may be solved for a key of the place */
    struct set pending;    /* constraints that read something of the subtree and something above it */
};

struct tree {
    struct branch *branches;
    size_t branch_count;
    struct hash_map memory;
};

/* How much of all is done before what is at hand, and how much that is. */
struct share {
    double done, part;
};

struct solver {
    const struct product *product;
    const struct section_shape *shapes[SECTION_COUNT];
    struct constraints constraints;
    struct scope scope;
    struct variable_place *places;
    size_t place_count;
    bool *reads;   /* by constraint and place */
    size_t *ranks; /* by place: the lower of a component is bound first */
    struct buffer residue;
    size_t *open; /* constraints that are open, run by run */
    size_t open_room, top;
    int64_t work, most, next_look; /* evaluations */
    struct share share;
    bool any;     /* one is enough */
    bool stopped; /* out of work, or by an error */
    bool failed;
    struct error *e;
    /* Walking. */
    struct tree walk;
    size_t *branch_of; /* by place; NONE: no constraint reads it */
    bool begun, over;
    bool empty; /* nothing meets the constraints */
};

/* Constraints on s->open, from `first` on. */
struct open_run {
    size_t first, count;
};

/* Rows of a place, ascending. */
struct found_rows {
    const uint32_t *rows; /* NULL: all */
    size_t count;
    size_t solved; /* the equality that leaves these and no others: it is met */
};

/* --- places --- */

static bool constraint_reads(const struct constraint *c, size_t key)
{
    size_t count;
    const size_t *keys = formula_keys(c->formula, &count);
    return ANY(i, count, keys[i] == key);
}

static void add_place(struct solver *s, enum section_kind section, const struct variable *v, size_t number)
{
    struct variable_place *p = array_add(s->places, s->place_count);
    *p = (struct variable_place){.variable = v, .section = section, .number = number};
    p->columns = xcalloc(v->width + 1, sizeof *p->columns);
    for (size_t k = 0; k < v->width; k++)
        if (ANY(c, s->constraints.count, constraint_reads(&s->constraints.items[c], v->keys[k])))
            p->columns[p->column_count++] = k;
}

static void add_places(struct solver *s)
{
    for (int section = 0; section < SECTION_COUNT; section++) {
        const struct section_shape *shape = s->shapes[section];
        for (size_t v = 0; shape && v < shape->variable_count; v++)
            add_place(s, (enum section_kind)section, &shape->variables[v], v);
        for (size_t k = 0; shape && k < s->product->names->key_count; k++)
            if (shape->fixed[k].kind != DATUM_UNKNOWN)
                s->scope.keys[k] = shape->fixed[k];
    }
}

static void note_readers(struct solver *s)
{
    s->reads = xcalloc(s->constraints.count * s->place_count + 1, sizeof *s->reads);
    for (size_t c = 0; c < s->constraints.count; c++)
        for (size_t p = 0; p < s->place_count; p++)
            for (size_t k = 0; k < s->places[p].variable->width; k++)
                s->reads[c * s->place_count + p] |=
                    constraint_reads(&s->constraints.items[c], s->places[p].variable->keys[k]);
}

static bool reads_place(const struct solver *s, size_t constraint, size_t place)
{
    return s->reads[constraint * s->place_count + place];
}

/* --- binding --- */

static void set_keys(struct solver *s, const struct variable_place *p, const struct datum *values)
{
    for (size_t i = 0; i < p->column_count; i++)
        s->scope.keys[p->variable->keys[p->columns[i]]] = values[p->columns[i]];
}

/* Of the keys of an unbound place is known what all its rows have. */
static void release(struct solver *s, size_t place)
{
    const struct variable_place *p = &s->places[place];
    set_keys(s, p, p->variable->all);
}

static void bind_row(struct solver *s, size_t place, size_t row)
{
    struct variable_place *p = &s->places[place];
    p->row = row;
    set_keys(s, p, p->variable->cells + row * p->variable->width);
}

/* --- components and trees --- */

static void set_add(struct set *set, size_t item)
{
    *array_add(set->items, set->count) = item;
}

static bool are_tied(const struct solver *s, size_t a, size_t b)
{
    return ANY(c, s->constraints.count, reads_place(s, c, a) && reads_place(s, c, b));
}

static void collect(const struct solver *s, bool *in, size_t from, bool *found)
{
    in[from] = false;
    found[from] = true;
    for (size_t p = 0; p < s->place_count; p++)
        if (in[p] && are_tied(s, from, p))
            collect(s, in, p, found);
}

/* The component of the first of the places that are in, which it takes out: false where none is. The caller's. */
static bool next_component(const struct solver *s, bool *in, struct set *out)
{
    OWNED bool *found = xcalloc(s->place_count + 1, sizeof *found);
    const size_t from = FIRST(p, s->place_count, in[p]);
    if (from == s->place_count)
        return false;
    collect(s, in, from, found);
    *out = (struct set){NULL, 0};
    for (size_t p = from; p < s->place_count; p++)
        if (found[p])
            set_add(out, p);
    return true;
}

static bool holds(const struct set *set, size_t item)
{
    return ANY(i, set->count, set->items[i] == item);
}

/* Returns whether it may be an equality that can be solved for a key of the place. */
static bool may_solve(const struct solver *s, size_t constraint, size_t place)
{
    const struct constraint *c = &s->constraints.items[constraint];
    const struct variable *v = s->places[place].variable;
    bool may = false;
    for (size_t k = 0; k < v->width; k++)
        may |= constraint_reads(c, v->keys[k]) && formula_may_be_solved(c->formula, v->keys[k]);
    return may && c->demand != DEMAND_FALSE;
}

/* Returns whether the constraint reads places of the component. */
static bool is_within(const struct solver *s, size_t constraint, const struct set *component)
{
    bool is = false;
    for (size_t i = 0; i < component->count && !is; i++)
        is = reads_place(s, constraint, component->items[i]);
    return is;
}

/* Notes what counts for a component of what is outside it. */
static void note_context(const struct solver *s, const struct set *component, struct branch *b)
{
    for (size_t c = 0; c < s->constraints.count; c++) {
        bool inside = false, outside = false;
        for (size_t p = 0; p < s->place_count; p++) {
            bool in = reads_place(s, c, p) && holds(component, p);
            inside |= in;
            outside |= reads_place(s, c, p) && !in;
        }
        if (reads_place(s, c, b->place))
            set_add(&b->tests, c);
        if (reads_place(s, c, b->place) && may_solve(s, c, b->place))
            set_add(&b->equalities, c);
        if (inside && outside)
            set_add(&b->pending, c);
    }
}

/* --- solving a component --- */

/* The number of solutions of a component under what is bound; where s->any, whether there is one. */
static int64_t solve(struct solver *s, struct tree *t, const struct branch *b);

#define STATEMENT_COST 16 /* evaluations that take as long as one by SQLite */

/* When ask looks next: after LOOK_EVERY, or where the work that it may take is spent. */
static void look_later(struct solver *s)
{
    s->next_look = s->work + LOOK_EVERY;
    if (s->most > 0 && s->most < s->next_look)
        s->next_look = s->most;
}

static void look_at_watch(struct solver *s)
{
    const struct match_watch *watch = s->product->watch;
    s->stopped = s->most > 0 && s->work >= s->most;
    look_later(s);
    if (watch && watch->look(watch->context, s->product->rule, s->share.done, s->e) < 0)
        s->stopped = s->failed = true;
}

#define ROWS_FEW 8 /* are asked one by one */

/* Under what is bound now. Once s->stopped all fail. */
static enum outlook ask(struct solver *s, size_t constraint)
{
    const struct constraint *c = &s->constraints.items[constraint];
    enum outlook outlook = demand_outlook(c->demand, formula_truth(c->formula, &s->scope));
    s->work += 1 + STATEMENT_COST * evaluator_take_count(s->product->evaluator);
    if (s->work >= s->next_look)
        look_at_watch(s);
    if (evaluator_failed(s->product->evaluator, s->e))
        s->stopped = s->failed = true;
    return s->stopped ? OUTLOOK_FAILED : outlook;
}

/* INT64_MAX: it does not fit. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t solve_children(struct solver *s, struct tree *t, const struct branch *b)
{
    const struct share whole = s->share;
    const double part = whole.part / (double)b->children.count;
    int64_t product = 1;
    size_t top = s->top;
    for (size_t i = 0; i < b->children.count && product > 0; i++) {
        s->top = top;
        s->share = (struct share){whole.done + (double)i * part, part};
        product = times(product, solve(s, t, &t->branches[b->children.items[i]]));
    }
    s->share = whole;
    return product;
}

static void push_open(struct solver *s, size_t at, size_t constraint)
{
    if (at >= s->open_room) {
        s->open_room = 2 * at + 64;
        s->open = xreallocarray(s->open, s->open_room, sizeof *s->open);
    }
    s->open[at] = constraint;
}

/* Asks those that are open: false when one fails; `*left` are those that stay open. What is solved from here on keeps
 * its own above them. */
static bool ask_open(struct solver *s, struct open_run open, struct open_run *left)
{
    *left = (struct open_run){open.first + open.count, 0};
    for (size_t i = 0; i < open.count; i++) {
        size_t constraint = s->open[open.first + i];
        enum outlook outlook = ask(s, constraint);
        if (outlook == OUTLOOK_FAILED)
            return false;
        if (outlook == OUTLOOK_OPEN)
            push_open(s, left->first + left->count++, constraint);
    }
    s->top = left->first + left->count;
    return true;
}

static int64_t solve_row(struct solver *s, struct tree *t, const struct branch *b, size_t row, struct open_run open)
{
    struct open_run left;
    bind_row(s, b->place, row);
    return ask_open(s, open, &left) ? solve_children(s, t, b) : 0;
}

/* Hashes what is left of the constraints above a branch: equal hashes, equal solutions of its component. */
static struct hash128 residue_of(struct solver *s, const struct tree *t, const struct branch *b)
{
    size_t number = (size_t)(b - t->branches);
    buffer_clear(&s->residue);
    buffer_add(&s->residue, &number, sizeof number);
    for (size_t i = 0; i < b->pending.count; i++) {
        const struct constraint *c = &s->constraints.items[b->pending.items[i]];
        formula_add_residue(c->formula, &s->scope, c->demand, &s->residue);
        s->work++;
    }
    return hash_bytes(s->residue.data, s->residue.length);
}

static int64_t sorted_value(const struct variable *v, size_t column, size_t place)
{
    return v->cells[v->sorted[column][place] * v->width + column].integer;
}

static struct found_rows find_value(const struct variable *v, size_t column, int64_t value)
{
    const size_t low = FIRST_SORTED(i, v->count, sorted_value(v, column, i) >= value);
    const size_t high = FIRST_SORTED(i, v->count, sorted_value(v, column, i) > value);
    return (struct found_rows){v->sorted[column] + low, high - low, 0};
}

/* How far from 0 an integer of the column is at most. */
static double reach_of(const struct variable *v, size_t column)
{
    return fmax(fabs((double)sorted_value(v, column, 0)), fabs((double)sorted_value(v, column, v->count - 1)));
}

static bool look_up(struct solver *s, const struct variable_place *p, const struct constraint *c,
                    struct found_rows *out)
{
    static const uint32_t none;
    for (size_t i = 0; i < p->column_count; i++) {
        size_t column = p->columns[i];
        bool any;
        int64_t value;
        if (!p->variable->sorted[column] || !formula_solve(c->formula, &s->scope, p->variable->keys[column],
                                                           reach_of(p->variable, column), &any, &value))
            continue;
        *out = any ? find_value(p->variable, column, value) : (struct found_rows){&none, 0, 0};
        return true;
    }
    return false;
}

/* The rows of the branch's place that an equality leaves, of which all other keys are bound. False: all of them. */
static bool look_up_rows(struct solver *s, const struct branch *b, struct found_rows *out)
{
    const struct variable_place *p = &s->places[b->place];
    bool found = false;
    if (b->equalities.count > 0)
        release(s, b->place); /* the walk comes with the row that was found last */
    for (size_t i = 0; i < b->equalities.count && !found; i++) {
        found = look_up(s, p, &s->constraints.items[b->equalities.items[i]], out);
        out->solved = b->equalities.items[i];
    }
    s->work += found;
    return found;
}

static size_t row_at(const struct found_rows *rows, size_t i)
{
    return rows->rows ? rows->rows[i] : i;
}

/* The constraints that are asked once the place is bound. */
static struct open_run open_tests(struct solver *s, const struct branch *b, const struct found_rows *rows)
{
    struct open_run open = {s->top, 0};
    for (size_t i = 0; i < b->tests.count; i++)
        if (!rows->rows || b->tests.items[i] != rows->solved)
            push_open(s, open.first + open.count++, b->tests.items[i]);
    s->top += open.count;
    return open;
}

static int64_t solve_rows(struct solver *s, struct tree *t, const struct branch *b, const struct found_rows *rows)
{
    struct open_run open = open_tests(s, b, rows), left = open;
    const struct share whole = s->share;
    const double part = whole.part / (double)rows->count;
    int64_t sum = 0;
    /* Where no constraint minds which of many rows it is, one stands for all. */
    if (rows->count > ROWS_FEW && !ask_open(s, open, &left))
        return 0;
    if (left.count == 0 && rows->count > 0)
        sum = times(solve_row(s, t, b, row_at(rows, 0), left), (int64_t)rows->count);
    else
        for (size_t i = 0; i < rows->count && !s->stopped && !(s->any && sum); i++) {
            s->share = (struct share){whole.done + (double)i * part, part};
            sum += solve_row(s, t, b, row_at(rows, i), left);
        }
    s->share = whole;
    return sum;
}

static int64_t solve(struct solver *s, struct tree *t, const struct branch *b)
{
    struct found_rows rows = {NULL, s->places[b->place].variable->count, 0};
    int64_t found = 0;
    /* Free and alone: no constraint asks for what it is. */
    if (b->tests.count == 0 && b->children.count == 0)
        return (int64_t)rows.count;
    bool is_brief = look_up_rows(s, b, &rows) && b->children.count == 0; /* it takes no longer than to remember it */
    struct hash128 residue = {{0}};
    if (!is_brief) {
        residue = residue_of(s, t, b);
        if (hash_map_get(&t->memory, &residue, &found))
            return found;
    }
    found = solve_rows(s, t, b, &rows);
    if (!is_brief && !s->stopped)
        hash_map_put(&t->memory, &residue, found);
    release(s, b->place);
    return found;
}

/* Asks those that read nothing but what never changes. */
static bool meets_fixed(struct solver *s)
{
    bool meets = true;
    for (size_t c = 0; c < s->constraints.count && meets; c++) {
        bool any = false;
        for (size_t p = 0; p < s->place_count; p++)
            any |= reads_place(s, c, p);
        meets = any || ask(s, c) == OUTLOOK_MET;
    }
    return meets;
}

/* --- in which order --- */

#define SAMPLES 64
#define STARTS 6
#define PASSES_MOST 8        /* over the order of a component */
#define ORDER_WORK (1 << 22) /* looks at a constraint for a place, for all orders of a component */

/* What is known of a component before it is counted. */
struct order_estimate {
    const struct set *component;
    double *shares; /* by constraint: of random bindings, those that it lets through */
    size_t *last;   /* scratch: by constraint, where in the order the last place that it reads stands */
    int64_t left;   /* of ORDER_WORK */
};

static double *sample_shares(struct solver *s, const struct set *component)
{
    size_t count = s->constraints.count;
    double *shares = xcalloc(count + 1, sizeof *shares);
    struct rng rng = rng_stream(0, component->items[0]);
    s->stopped = false;
    s->most = 0;
    for (int i = 0; i < SAMPLES && !s->stopped; i++) {
        for (size_t k = 0; k < component->count; k++)
            bind_row(s, component->items[k], rng_below(&rng, s->places[component->items[k]].variable->count));
        for (size_t c = 0; c < count; c++)
            if (is_within(s, c, component))
                shares[c] += ask(s, c) != OUTLOOK_FAILED;
    }
    for (size_t k = component->count; k-- > 0;)
        release(s, component->items[k]);
    for (size_t c = 0; c < count; c++)
        shares[c] = (shares[c] + 0.5) / (SAMPLES + 1);
    return shares;
}

/* Works out how many rows are looked at when places are bound in that order. */
static double visits_of(const struct solver *s, struct order_estimate *x, const size_t *order)
{
    double ways = 1, visited = 0;
    x->left -= (int64_t)(2 * x->component->count * s->constraints.count);
    for (size_t n = 0; n < x->component->count; n++)
        for (size_t c = 0; c < s->constraints.count; c++)
            x->last[c] = reads_place(s, c, order[n]) ? n : n == 0 ? NONE : x->last[c];
    for (size_t n = 0; n < x->component->count; n++) {
        const double before = ways, rows = (double)s->places[order[n]].variable->count;
        bool is_solved = false;
        ways *= rows;
        for (size_t c = 0; c < s->constraints.count; c++) {
            if (x->last[c] != n)
                continue;
            ways *= x->shares[c];
            is_solved = is_solved || may_solve(s, c, order[n]);
        }
        visited += is_solved ? before + ways : before * rows;
    }
    return visited;
}

static void move(size_t *order, size_t from, size_t to)
{
    const size_t place = order[from];
    for (; from < to; from++)
        order[from] = order[from + 1];
    for (; from > to; from--)
        order[from] = order[from - 1];
    order[to] = place;
}

/* Moves places as long as that saves visits; how many are left. */
static double improve(const struct solver *s, struct order_estimate *x, size_t *order)
{
    const size_t count = x->component->count;
    double least = visits_of(s, x, order);
    bool any = true;
    for (int pass = 0; pass < PASSES_MOST && any; pass++) {
        any = false;
        for (size_t from = 0; from < count; from++)
            for (size_t to = 0; to < count && x->left > 0; to++) {
                move(order, from, to);
                const double visited = visits_of(s, x, order);
                any = any || visited < least;
                if (visited < least)
                    least = visited;
                else
                    move(order, to, from);
            }
    }
    return least;
}

/* The best order that comes of that of the file, and of some at random. */
static void rank_places(struct solver *s, const struct set *component)
{
    const size_t count = component->count;
    OWNED double *shares = sample_shares(s, component);
    OWNED size_t *last = xcalloc(s->constraints.count + 1, sizeof *last);
    OWNED size_t *order = xcalloc(count, sizeof *order);
    struct order_estimate x = {component, shares, last, ORDER_WORK};
    struct rng rng = rng_stream(1, component->items[0]);
    double least = INFINITY;
    memcpy(order, component->items, count * sizeof *order);
    for (int start = 0; start < STARTS && x.left > 0; start++) {
        const double visited = improve(s, &x, order);
        for (size_t n = 0; n < count && visited < least; n++)
            s->ranks[order[n]] = n;
        least = fmin(least, visited);
        for (size_t n = count; n-- > 1;)
            move(order, rng_below(&rng, n + 1), n);
    }
}

/* Returns the place that is bound first. */
static size_t choose_place(const struct solver *s, const struct set *component)
{
    size_t first = component->items[0];
    for (size_t i = 1; i < component->count; i++)
        if (s->ranks[component->items[i]] < s->ranks[first])
            first = component->items[i];
    return first;
}

/* --- trees --- */

/* Grows the branches of a component: the number of its first. */
static size_t grow(const struct solver *s, struct tree *t, const struct set *component)
{
    struct branch b = {.place = choose_place(s, component)};
    OWNED bool *in = xcalloc(s->place_count, sizeof *in);
    note_context(s, component, &b);
    for (size_t i = 0; i < component->count; i++)
        in[component->items[i]] = component->items[i] != b.place;
    for (struct set below; next_component(s, in, &below); free(below.items))
        set_add(&b.children, grow(s, t, &below));
    t->branches = array_grow(t->branches, t->branch_count, sizeof *t->branches);
    t->branches[t->branch_count] = b;
    return t->branch_count++;
}

static void tree_free(struct tree *t)
{
    for (size_t i = 0; i < t->branch_count; i++) {
        const struct branch *b = &t->branches[i];
        free_all(b->children.items, b->tests.items, b->equalities.items, b->pending.items);
    }
    free(t->branches);
    hash_map_free(&t->memory);
    *t = (struct tree){0};
}

/* --- counting --- */

/* Adds the keys of a constraint that never change; the rest is of places of the component. */
static void add_fixed(struct solver *s, const struct constraint *c)
{
    size_t key_count;
    const size_t *keys = formula_keys(c->formula, &key_count);
    for (size_t i = 0; i < key_count; i++)
        if (s->scope.keys[keys[i]].kind != DATUM_UNKNOWN)
            datum_add(&s->scope.keys[keys[i]], &s->residue);
}

/* Components of other shapes may be equal. */
static const struct hash128 *component_hash(struct solver *s, const struct set *component, struct hash128 *out)
{
    buffer_clear(&s->residue);
    for (size_t i = 0; i < component->count; i++) {
        const struct variable *v = s->places[component->items[i]].variable;
        buffer_add(&s->residue, v->hash.bytes, sizeof v->hash.bytes);
    }
    for (size_t c = 0; c < s->constraints.count; c++)
        if (is_within(s, c, component)) {
            const struct constraint *k = &s->constraints.items[c];
            buffer_add(&s->residue, &k->formula, sizeof k->formula);
            buffer_add(&s->residue, &k->demand, sizeof k->demand);
            add_fixed(s, k);
        }
    *out = hash_bytes(s->residue.data, s->residue.length);
    return out;
}

/* Counts in the order of s->ranks: 1 with `*out`, 0 where it takes more than `most` evaluations (0: any number), -1. */
static int count_in_order(struct solver *s, const struct set *component, int64_t most, int64_t *out)
{
    struct tree t = {0};
    const size_t root = grow(s, &t, component);
    s->work = 0;
    s->share = (struct share){0, 1};
    s->most = most;
    s->top = 0;
    s->stopped = false;
    look_later(s);
    *out = solve(s, &t, &t.branches[root]);
    tree_free(&t);
    return s->failed ? -1 : !s->stopped;
}

#define FIRST_TRY 2048 /* evaluations in the order of the file, before a better one is looked for */

static int count_component(struct solver *s, struct hash_map *memory, const struct set *component, int64_t most,
                           int64_t *out)
{
    struct hash128 hash;
    if (memory && hash_map_get(memory, component_hash(s, component, &hash), out))
        return 1;
    for (size_t n = 0; n < component->count; n++)
        s->ranks[component->items[n]] = n;
    const bool is_all = most > 0 && most <= FIRST_TRY;
    int rc = count_in_order(s, component, is_all ? most : FIRST_TRY, out);
    if (rc == 0 && !is_all) {
        rank_places(s, component);
        rc = s->failed ? -1 : count_in_order(s, component, most, out);
    }
    if (rc > 0 && memory)
        hash_map_put(memory, &hash, *out);
    return rc;
}

int solver_count(struct solver *s, struct hash_map *memory, int64_t most, int64_t *out, struct error *e)
{
    OWNED bool *in = xcalloc(s->place_count + 1, sizeof *in);
    int64_t product = 1;
    int rc = 1;
    s->e = e;
    s->any = s->stopped = s->failed = false;
    if (!meets_fixed(s)) {
        product = 0;
        rc = s->failed ? -1 : 1;
    }
    memset(in, true, s->place_count);
    for (struct set component; rc > 0 && product > 0 && next_component(s, in, &component); free(component.items)) {
        int64_t found = 0;
        rc = count_component(s, memory, &component, most, &found);
        product = times(product, found);
    }
    if (rc > 0)
        *out = product;
    return rc;
}
/* --- walking --- */

static bool can_meet(struct solver *s, size_t branch)
{
    s->top = 0;
    return solve(s, &s->walk, &s->walk.branches[branch]) > 0;
}

/* The first row from `from` on that can be part of a solution, bound then. */
static size_t find_row(struct solver *s, size_t place, size_t from)
{
    struct branch *b = &s->walk.branches[s->branch_of[place]];
    struct found_rows rows = {NULL, s->places[place].variable->count, 0};
    struct open_run left;
    s->top = 0;
    look_up_rows(s, b, &rows);
    const struct open_run open = open_tests(s, b, &rows);
    for (size_t i = rows.rows ? 0 : from; i < rows.count && !s->stopped; i++) {
        const size_t row = row_at(&rows, i);
        if (row < from)
            continue;
        bind_row(s, place, row);
        if (ask_open(s, open, &left) && solve_children(s, &s->walk, b) > 0)
            return row;
    }
    return NONE;
}

/* --- from one to the next --- */

/* Every component can be met: from then on every row that is found can be part of a solution. */
static bool begin_walk(struct solver *s)
{
    bool *in = xcalloc(s->place_count + 1, sizeof *in), meets = meets_fixed(s);
    memset(in, true, s->place_count);
    s->branch_of = xcalloc(s->place_count + 1, sizeof *s->branch_of);
    for (size_t p = 0; p < s->place_count; p++)
        s->ranks[p] = p;
    for (struct set component; meets && next_component(s, in, &component); free(component.items))
        meets = can_meet(s, grow(s, &s->walk, &component));
    for (size_t i = 0; i < s->walk.branch_count; i++)
        s->branch_of[s->walk.branches[i].place] = i;
    free(in);
    return meets;
}

/* The rows of the first spec of the shape whose number is not below `number`, as lower bounds; whether it is that
 * spec. */
static bool split_number(const struct solver *s, enum section_kind section, int64_t number, size_t *rows)
{
    const struct section_shape *shape = s->shapes[section];
    const size_t blocks = shape->variables[0].count, first = FIRST(p, s->place_count, s->places[p].section == section);
    const size_t block = FIRST(b, blocks, number < shape->firsts[b] + shape->count);
    const bool is_there = block < blocks && number >= shape->firsts[block];
    int64_t left = is_there ? number - shape->firsts[block] : 0;
    rows[first] = block; /* past the last one: there is none */
    for (size_t v = 1; v < shape->variable_count; v++) {
        rows[first + v] = (size_t)(left / shape->strides[v]);
        left %= shape->strides[v];
    }
    return is_there;
}

static void join_numbers(const struct solver *s, int64_t *specs)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        specs[i] = s->shapes[i] ? 0 : -1;
    for (size_t p = 0; p < s->place_count; p++) {
        const struct variable_place *place = &s->places[p];
        const struct section_shape *shape = s->shapes[place->section];
        specs[place->section] +=
            place->number ? shape->strides[place->number] * (int64_t)place->row : shape->firsts[place->row];
    }
}

/* From the rows in `lower` on (NULL: any): whether there is a solution. */
static bool walk(struct solver *s, size_t place, size_t from, const size_t *lower)
{
    bool tight = lower != NULL;
    for (;;) {
        size_t row = find_row(s, place, from);
        if (s->stopped)
            return false;
        if (row != NONE) {
            tight = tight && row == lower[place];
            if (++place == s->place_count)
                return true;
            from = tight ? lower[place] : 0;
            continue;
        }
        release(s, place);
        if (place-- == 0)
            return false;
        tight = false;
        from = s->places[place].row + 1;
    }
}

int solver_next(struct solver *s, const int64_t *from, int64_t *specs, struct error *e)
{
    size_t *lower = NULL;
    bool found = false;
    s->e = e;
    s->any = true;
    s->share = (struct share){0, 1};
    s->most = 0;
    s->stopped = s->failed = false;
    if (!s->branch_of)
        s->over = s->empty = !begin_walk(s);
    if (from && !s->empty) {
        s->over = false;
        lower = xcalloc(s->place_count + 1, sizeof *lower);
        bool tight = true;
        for (int i = 0; i < SECTION_COUNT && tight; i++)
            if (s->shapes[i])
                tight = split_number(s, (enum section_kind)i, from[i], lower);
        for (size_t p = s->place_count; p-- > 0;)
            release(s, p);
        s->begun = false;
    }
    if (!s->over && s->begun)
        found = walk(s, s->place_count - 1, s->places[s->place_count - 1].row + 1, NULL);
    else if (!s->over)
        found = walk(s, 0, lower ? lower[0] : 0, lower);
    free(lower);
    s->begun = true;
    s->over |= !found && !from;
    if (found)
        join_numbers(s, specs);
    return s->failed ? -1 : found;
}

/* --- making --- */

struct solver *solver_create(const struct product *p, const struct section_shape *const *shapes,
                             const struct constraints *c)
{
    struct solver *s = xcalloc(1, sizeof *s);
    s->product = p;
    s->constraints = *c;
    memcpy(s->shapes, shapes, sizeof s->shapes);
    s->scope = (struct scope){xcalloc(p->names->key_count + 1, sizeof(struct datum)), p->evaluator};
    add_places(s);
    s->ranks = xcalloc(s->place_count + 1, sizeof *s->ranks);
    note_readers(s);
    for (size_t place = 0; place < s->place_count; place++)
        release(s, place);
    s->next_look = LOOK_EVERY;
    return s;
}

void solver_free(struct solver *s)
{
    if (!s)
        return;
    for (size_t p = 0; p < s->place_count; p++)
        free(s->places[p].columns);
    free_all(s->places, s->scope.keys, s->reads, s->ranks, s->open, s->branch_of);
    tree_free(&s->walk);
    buffer_free(&s->residue);
    free(s);
}
