#include <stdlib.h>

#include "join/solver_state.h"

#include "util/memory.h"

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

/* The component of `from` among the places that are in, in order; takes them out. */
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

bool solver_may_solve(const struct solver *s, size_t constraint, size_t place)
{
    const struct constraint *c = &s->request.constraints[constraint];
    const struct variable *v = s->places[place].variable;
    bool may = false;
    for (size_t k = 0; k < v->width; k++)
        may |= constraint_reads(c, v->keys[k]) && formula_may_be_solved(c->formula, v->keys[k]);
    return may && c->demand != DEMAND_FALSE;
}

bool solver_is_within(const struct solver *s, size_t constraint, const struct set *component)
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
        if (solver_reads(s, c, b->place) && solver_may_solve(s, c, b->place))
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

/* Takes the component over; the number of its branch. */
size_t solver_grow(const struct solver *s, struct tree *t, struct set component, enum order order)
{
    struct branch b = {.place = solver_choose(s, &component, order)};
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
