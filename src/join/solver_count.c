#include "join/solver_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/memory.h"

/* Adds the keys of a constraint that never change; the rest is of places of the component. */
static void add_fixed(struct solver *s, const struct constraint *c)
{
    size_t key_count;
    const size_t *keys = formula_keys(c->formula, &key_count);
    for (size_t i = 0; i < key_count; i++)
        if (s->scope.keys[keys[i]].exact)
            datum_add(&s->scope.keys[keys[i]].datum, &s->residue);
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
        if (solver_is_within(s, c, component)) {
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
        solver_rank(s, component);
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
