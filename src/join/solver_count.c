/* In which order places are bound, and how many solutions there are. */
#include "join/solver_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/memory.h"
#include "util/rng.h"

/* --- components and trees --- */

static void set_add(struct set *set, size_t item)
{
    *array_add(set->items, set->count) = item;
}

static bool are_tied(const struct solver *s, size_t a, size_t b)
{
    return ANY(c, s->constraints.count, solver_reads(s, c, a) && solver_reads(s, c, b));
}

struct set solver_component(const struct solver *s, bool *in, size_t from)
{
    struct set found = {NULL, 0}, sorted = {NULL, 0};
    OWNED bool *is_found = xcalloc(s->place_count, sizeof *is_found);
    set_add(&found, from);
    in[from] = false;
    for (size_t i = 0; i < found.count; i++)
        for (size_t p = 0; p < s->place_count; p++)
            if (in[p] && are_tied(s, found.items[i], p)) {
                in[p] = false;
                set_add(&found, p);
            }
    for (size_t i = 0; i < found.count; i++)
        is_found[found.items[i]] = true;
    for (size_t p = 0; p < s->place_count; p++)
        if (is_found[p])
            set_add(&sorted, p);
    free(found.items);
    return sorted;
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
        is = solver_reads(s, constraint, component->items[i]);
    return is;
}

/* Notes what counts for a component of what is outside it. */
static void note_context(const struct solver *s, const struct set *component, struct branch *b)
{
    for (size_t c = 0; c < s->constraints.count; c++) {
        bool inside = false, outside = false;
        for (size_t p = 0; p < s->place_count; p++) {
            bool in = solver_reads(s, c, p) && holds(component, p);
            inside |= in;
            outside |= solver_reads(s, c, p) && !in;
        }
        if (solver_reads(s, c, b->place))
            set_add(&b->tests, c);
        if (solver_reads(s, c, b->place) && may_solve(s, c, b->place))
            set_add(&b->equalities, c);
        if (inside && outside)
            set_add(&b->pending, c);
    }
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
            solver_bind(s, component->items[k], rng_below(&rng, s->places[component->items[k]].variable->count));
        for (size_t c = 0; c < count; c++)
            if (is_within(s, c, component))
                shares[c] += solver_ask(s, c) != OUTLOOK_FAILED;
    }
    for (size_t k = component->count; k-- > 0;)
        solver_release(s, component->items[k]);
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
            x->last[c] = solver_reads(s, c, order[n]) ? n : n == 0 ? NONE : x->last[c];
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

size_t solver_grow(const struct solver *s, struct tree *t, struct set component)
{
    struct branch b = {.place = choose_place(s, &component)};
    OWNED bool *in = xcalloc(s->place_count, sizeof *in);
    note_context(s, &component, &b);
    for (size_t i = 0; i < component.count; i++)
        in[component.items[i]] = component.items[i] != b.place;
    for (size_t p = 0; p < s->place_count; p++)
        if (in[p]) {
            size_t child = solver_grow(s, t, solver_component(s, in, p));
            set_add(&b.children, child);
        }
    t->branches = array_grow(t->branches, t->branch_count, sizeof *t->branches);
    t->branches[t->branch_count] = b;
    free(component.items);
    return t->branch_count++;
}

void tree_free(struct tree *t)
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

static struct set copy_set(const struct set *set)
{
    struct set copy = {xcalloc(set->count + 1, sizeof *copy.items), set->count};
    memcpy(copy.items, set->items, set->count * sizeof *copy.items);
    return copy;
}

/* Counts in the order of s->ranks: 1 with `*out`, 0 where it takes more than `most` evaluations (0: any number), -1. */
static int count_in_order(struct solver *s, const struct set *component, int64_t most, int64_t *out)
{
    struct tree t = {0};
    const size_t root = solver_grow(s, &t, copy_set(component));
    s->work = 0;
    s->most = most;
    s->top = 0;
    s->stopped = false;
    solver_look_later(s);
    *out = solver_solve(s, &t, &t.branches[root]);
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
    bool *in = xcalloc(s->place_count + 1, sizeof *in);
    int64_t product = 1;
    int rc = 1;
    s->e = e;
    s->any = s->stopped = s->failed = false;
    if (!solver_meets_fixed(s)) {
        product = 0;
        rc = s->failed ? -1 : 1;
    }
    memset(in, true, s->place_count);
    for (size_t p = 0; p < s->place_count && rc > 0 && product > 0; p++) {
        if (!in[p])
            continue;
        struct set component = solver_component(s, in, p);
        int64_t found = 0;
        rc = count_component(s, memory, &component, most, &found);
        product = solver_times(product, found);
        free(component.items);
    }
    free(in);
    if (rc > 0)
        *out = product;
    return rc;
}
