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
    const struct variable_place *x = &s->places[a], *y = &s->places[b];
    if ((place_is_guided(x) && x->block == b) || (place_is_guided(y) && y->block == a))
        return true;
    for (size_t c = 0; c < s->request.constraint_count; c++)
        if (solver_reads(s, c, a) && solver_reads(s, c, b))
            return true;
    return false;
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
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i] == item)
            return true;
    return false;
}

/* Returns whether it may be an equality that can be solved for a key of the place. */
static bool may_solve(const struct solver *s, size_t constraint, size_t place)
{
    const struct constraint *c = &s->request.constraints[constraint];
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
    for (size_t c = 0; c < s->request.constraint_count; c++) {
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
    for (size_t i = 0; i < component->count; i++) {
        const struct variable_place *p = &s->places[component->items[i]];
        if (place_is_guided(p) && !holds(component, p->block))
            set_add(&b->guided, component->items[i]);
        b->guides |= place_is_guided(p) && p->block == b->place;
    }
}

/* --- in which order --- */

static double rows_of(const struct variable_place *p)
{
    size_t most = 1;
    for (size_t i = 0; i < p->variable->rows_count; i++)
        most = p->variable->rows[i].count > most ? p->variable->rows[i].count : most;
    return (double)most;
}

/* --- by how much is left after each --- */

#define SAMPLES 64

/* An order on its way: what is bound, how many ways there are to do so, and what was visited for that. */
struct prefix {
    bool *bound; /* by place */
    double ways, visited;
};

/* The share of random bindings that each constraint lets through. */
static double *sample_shares(struct solver *s, const struct set *component)
{
    size_t count = s->request.constraint_count;
    double *shares = xcalloc(count + 1, sizeof *shares);
    struct rng rng = rng_stream(0, component->items[0]);
    s->stopped = false;
    s->most = 0;
    for (int i = 0; i < SAMPLES && !s->stopped; i++) {
        for (size_t k = 0; k < component->count; k++)
            solver_bind(s, component->items[k], rng_below(&rng, s->places[component->items[k]].rows->count));
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

/* Works out what binding one more place visits, and how many ways it leaves. */
static void extend(const struct solver *s, const struct prefix *p, const double *shares, size_t place,
                   struct prefix *out)
{
    double ways = p->ways * rows_of(&s->places[place]);
    bool is_solved = false;
    out->visited = p->visited + ways;
    for (size_t c = 0; c < s->request.constraint_count; c++) {
        bool asked = solver_reads(s, c, place);
        for (size_t q = 0; asked && q < s->place_count; q++)
            asked = q == place || !solver_reads(s, c, q) || p->bound[q];
        ways *= asked ? shares[c] : 1;
        is_solved |= asked && may_solve(s, c, place);
    }
    if (is_solved)
        out->visited = p->visited + p->ways + ways;
    out->ways = ways;
}

static bool may_follow(const struct solver *s, const struct prefix *p, const struct set *component, size_t place)
{
    bool may = !p->bound[place];
    for (size_t i = 0; may && place_is_guided(&s->places[place]) && i < component->count; i++)
        may = component->items[i] != s->places[place].block || p->bound[component->items[i]];
    return may;
}

/* From `first` on always what leaves the fewest ways, of equals what visits least; what all of it visits. */
static double rank_from(const struct solver *s, const struct set *component, const double *shares, size_t first,
                        size_t *ranking)
{
    struct prefix p = {xcalloc(s->place_count, sizeof *p.bound), 1, 0}, next, least;
    for (size_t n = 0; n < component->count; n++) {
        size_t chosen = NONE;
        for (size_t i = 0; i < component->count; i++) {
            size_t place = component->items[i];
            if (!may_follow(s, &p, component, place) || (n == 0 && place != first))
                continue;
            extend(s, &p, shares, place, &next);
            if (chosen != NONE &&
                (next.ways > least.ways || (next.ways == least.ways && next.visited >= least.visited)))
                continue;
            chosen = place;
            least = next;
        }
        if (chosen == NONE)
            break;
        p.bound[chosen] = true;
        p.ways = least.ways;
        p.visited = least.visited;
        ranking[n] = chosen;
    }
    free(p.bound);
    return ranking[component->count - 1] == NONE ? INFINITY : p.visited;
}

/* For ORDER_RANKED: by samples of what each constraint lets through. */
static void rank_places(struct solver *s, const struct set *component)
{
    double *shares = sample_shares(s, component), least = INFINITY;
    OWNED size_t *ranking = xcalloc(component->count, sizeof *ranking);
    s->ranks = xreallocarray(s->ranks, s->place_count, sizeof *s->ranks);
    for (size_t i = 0; i < component->count; i++)
        s->ranks[component->items[i]] = i;
    for (size_t i = 0; i < component->count; i++) {
        ranking[component->count - 1] = NONE;
        double visited = rank_from(s, component, shares, component->items[i], ranking);
        if (visited >= least)
            continue;
        least = visited;
        for (size_t n = 0; n < component->count; n++)
            s->ranks[ranking[n]] = n;
    }
    free(shares);
}

static size_t first_ranked(const struct solver *s, const struct set *component)
{
    size_t first = component->items[0];
    for (size_t i = 1; i < component->count; i++)
        if (s->ranks[component->items[i]] < s->ranks[first])
            first = component->items[i];
    return first;
}

/* Returns the place that is bound first. */
static size_t choose_place(const struct solver *s, const struct set *component, enum order order)
{
    size_t chosen = order == ORDER_FILE ? component->items[0] : first_ranked(s, component);
    /* The block of a guided place must be known first: it says which rows there are. */
    for (size_t i = 0; place_is_guided(&s->places[chosen]) && i < component->count; i++)
        if (component->items[i] == s->places[chosen].block)
            return component->items[i];
    return chosen;
}

/* --- trees --- */

size_t solver_grow(const struct solver *s, struct tree *t, struct set component, enum order order)
{
    struct branch b = {.place = choose_place(s, &component, order)};
    OWNED bool *in = xcalloc(s->place_count, sizeof *in);
    note_context(s, &component, &b);
    for (size_t i = 0; i < component.count; i++)
        in[component.items[i]] = component.items[i] != b.place;
    for (size_t p = 0; p < s->place_count; p++)
        if (in[p]) {
            size_t child = solver_grow(s, t, solver_component(s, in, p), order);
            set_add(&b.children, child);
        }
    t->branches = array_grow(t->branches, t->branch_count, sizeof *t->branches);
    t->branches[t->branch_count] = b;
    free(component.items);
    return t->root = t->branch_count++;
}

void tree_free(struct tree *t)
{
    for (size_t i = 0; i < t->branch_count; i++) {
        const struct branch *b = &t->branches[i];
        free_all(b->children.items, b->tests.items, b->equalities.items, b->pending.items, b->guided.items);
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
    for (size_t c = 0; c < s->request.constraint_count; c++)
        if (is_within(s, c, component)) {
            const struct constraint *k = &s->request.constraints[c];
            buffer_add(&s->residue, &k->formula, sizeof k->formula);
            buffer_add(&s->residue, &k->demand, sizeof k->demand);
            add_fixed(s, k);
        }
    *out = hash_bytes(s->residue.data, s->residue.length);
    return out;
}

#define FIRST_TRY 1000 /* evaluations */

/* Knowledge from before makes a try this much faster than it began. */
#define HOPE 4

static struct set copy_set(const struct set *set)
{
    struct set copy = {xcalloc(set->count + 1, sizeof *copy.items), set->count};
    memcpy(copy.items, set->items, set->count * sizeof *copy.items);
    return copy;
}

struct effort {
    struct tree tree;
    int64_t work; /* so far */
    double speed; /* the share by evaluation */
};

/* Goes on where it stopped before. */
static bool try_order(struct solver *s, struct effort *t, int64_t most, int64_t *out)
{
    s->spent -= t->work;
    s->work = t->work;
    s->most = t->work + most;
    s->top = 0;
    s->stopped = false;
    s->share = 0;
    solver_look_later(s);
    *out = solver_solve(s, &t->tree, &t->tree.branches[t->tree.root]);
    t->work = s->work;
    t->speed = s->share / (double)(s->work + 1);
    s->spent += s->work;
    return !s->stopped;
}

static bool same_order(const struct tree *a, const struct tree *b)
{
    for (size_t i = 0; i < a->branch_count; i++)
        if (a->branches[i].place != b->branches[i].place)
            return false;
    return true;
}

/* One more, where it is not as one of the others; how many there are. */
static int add_try(struct solver *s, const struct set *component, enum order order, struct effort *tries, int count)
{
    struct tree t = {0};
    if (order == ORDER_RANKED)
        rank_places(s, component);
    solver_grow(s, &t, copy_set(component), order);
    int same = 0;
    while (same < count && !same_order(&tries[same].tree, &t))
        same++;
    if (same < count)
        tree_free(&t);
    else
        tries[count++] = (struct effort){.tree = t};
    return count;
}

/* The order that got furthest for what it took. */
static int best_try(const struct effort *tries, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (tries[i].speed > tries[best].speed)
            best = i;
    return best;
}

/* Others may take this part of what the best one still needs, if it goes on as it did. */
#define OTHERS_PART 4
static int64_t others_most(const struct effort *best, int64_t most)
{
    double left = best->speed > 0 ? 1 / best->speed - (double)best->work : INFINITY;
    return left / OTHERS_PART < (double)most ? (int64_t)(left / OTHERS_PART) + 1 : most;
}

static bool go_on_with(struct solver *s, struct effort *tries, int count, int number, int64_t allowed, int64_t *out)
{
    int best = best_try(tries, count);
    bool done = try_order(s, &tries[number], number == best ? allowed : others_most(&tries[best], allowed), out);
    s->speed = tries[number].speed > s->speed ? tries[number].speed : s->speed;
    return done;
}

/* Returns whether what may still be spent does not do, by far, if the best one goes on as it did. */
static bool is_dear(const struct effort *tries, int count, int64_t spent, int64_t most)
{
    const struct effort *best = &tries[best_try(tries, count)];
    return most > 0 && (spent >= most || best->speed * (double)most * HOPE < 1);
}

/* No order of binding is best for all: each gets a little time, the one that got furthest more, until one is through.
 * Now and then the others get another chance. */
static int race(struct solver *s, const struct set *component, int64_t most, int64_t *out)
{
    struct effort tries[ORDER_COUNT] = {0};
    int64_t allowed = FIRST_TRY;
    int count = 0;
    bool done = false;
    s->speed = 0;
    s->spent = 0;
    for (int order = 0; order < ORDER_COUNT && !done && !s->failed; order++) {
        int before = count;
        count = add_try(s, component, (enum order)order, tries, count);
        done = count > before && go_on_with(s, tries, count, before, allowed, out);
    }
    for (int round = 1; !done && !s->failed && !is_dear(tries, count, s->spent, most); round++) {
        allowed *= round % 3 == 1 ? 3 : 2;
        int best = best_try(tries, count);
        for (int i = 0; i < count && !done && !s->failed; i++)
            if (round % 3 == 0 || i == best)
                done = go_on_with(s, tries, count, i, allowed, out);
    }
    for (int i = 0; i < count; i++)
        tree_free(&tries[i].tree);
    return s->failed ? -1 : done;
}

static int count_component(struct solver *s, struct hash_map *memory, const struct set *component, int64_t most,
                           int64_t *out)
{
    struct hash128 hash;
    if (memory && hash_map_get(memory, component_hash(s, component, &hash), out))
        return 1;
    int rc = race(s, component, most, out);
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
