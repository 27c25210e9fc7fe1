#include "join/solver_state.h"

#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/memory.h"

struct solver_memory {
    struct hash_map counts;
};

static const struct hash128 *component_hash(struct solver *s, const struct set *component, struct hash128 *out)
{
    buffer_clear(&s->residue);
    buffer_add(&s->residue, s->shapes.bytes, sizeof s->shapes.bytes);
    buffer_add(&s->residue, component->items, component->count * sizeof *component->items);
    for (size_t c = 0; c < s->request.constraint_count; c++)
        for (size_t i = 0; i < component->count; i++)
            if (solver_reads(s, c, component->items[i])) {
                const struct constraint *k = &s->request.constraints[c];
                buffer_add(&s->residue, &k->formula, sizeof k->formula);
                buffer_add(&s->residue, &k->demand, sizeof k->demand);
                break;
            }
    *out = hash_bytes(s->residue.data, s->residue.length);
    return out;
}

static int64_t solve_within(struct solver *s, struct tree *t, int64_t most)
{
    s->stopped = false;
    s->work = 0;
    s->next_look = most > 0 && most < LOOK_EVERY ? most : LOOK_EVERY;
    s->most = most;
    s->top = 0;
    return solver_solve(s, t, &t->branches[t->roots[0]]);
}

#define FIRST_TRY 2000 /* evaluations */

static struct set copy_set(const struct set *set)
{
    struct set copy = {xcalloc(set->count + 1, sizeof *copy.items), set->count};
    memcpy(copy.items, set->items, set->count * sizeof *copy.items);
    return copy;
}

struct effort {
    struct tree tree;
    double speed; /* the share by evaluation */
};

/* Nothing that was solved is lost from one try to the next. */
static bool try_order(struct solver *s, const struct set *component, enum order order, struct effort *t, int64_t *out)
{
    if (t->tree.branch_count == 0) {
        size_t root = solver_grow(s, &t->tree, copy_set(component), order);
        t->tree.roots = array_grow(NULL, 0, sizeof *t->tree.roots);
        t->tree.roots[t->tree.root_count++] = root;
    }
    s->share = 0;
    *out = solve_within(s, &t->tree, s->allowed);
    t->speed = s->share / (double)(s->work + 1);
    return !s->stopped;
}

/* The order that got furthest for what it took. */
static int best_try(const struct effort *tries)
{
    int best = 0;
    for (int i = 1; i < ORDER_COUNT; i++)
        if (tries[i].speed > tries[best].speed)
            best = i;
    return best;
}

/* No order of binding is best for all: each gets a little time, the one that got furthest more, until one is through.
 * Now and then the others get another chance. */
static int race(struct solver *s, const struct set *component, int64_t most, int64_t *out)
{
    struct effort tries[ORDER_COUNT] = {0};
    bool done = false;
    s->allowed = FIRST_TRY;
    s->speed = 0;
    s->spent = 0;
    for (int round = 0; !done && !s->failed && (most <= 0 || s->spent < most); round++) {
        int best = best_try(tries);
        for (int i = 0; i < ORDER_COUNT && !done && !s->failed; i++) {
            if (round % 3 != 0 && i != best)
                continue;
            done = try_order(s, component, (enum order)i, &tries[i], out);
            s->spent += s->work;
            s->speed = tries[i].speed > s->speed ? tries[i].speed : s->speed;
        }
        s->allowed *= round % 3 == 0 ? 3 : 2;
    }
    for (int i = 0; i < ORDER_COUNT; i++)
        tree_free(&tries[i].tree);
    return s->failed ? -1 : done;
}

static int count_component(struct solver *s, struct solver_memory *memory, const struct set *component, int64_t most,
                           int64_t *out)
{
    struct hash128 hash;
    if (memory && hash_map_get(&memory->counts, component_hash(s, component, &hash), out))
        return 1;
    int rc = race(s, component, most, out);
    if (rc > 0 && memory)
        hash_map_put(&memory->counts, &hash, *out);
    return rc;
}

int solver_count(struct solver *s, struct solver_memory *memory, int64_t most, int64_t *out, struct error *e)
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

struct solver_memory *solver_memory_create(void)
{
    return xcalloc(1, sizeof(struct solver_memory));
}

void solver_memory_free(struct solver_memory *m)
{
    if (m)
        hash_map_free(&m->counts);
    free(m);
}
