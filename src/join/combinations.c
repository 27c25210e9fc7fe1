#include "join/combinations.h"

#include <string.h>

#include "util/memory.h"

/* One shape of each section. */
struct part {
    const struct section_shape *shapes[SECTION_COUNT];
    struct solver *solver; /* NULL: not made yet */
    bool begun;            /* since the last seek */
    bool found;            /* `rank` is that of a combination; else nothing of this part has a lower one */
    int64_t rank, specs[SECTION_COUNT];
};

/* Combinations one by one. */
struct single {
    struct datum *keys; /* of the one that was looked at last, as the next two */
    const struct value **values;
    int met;       /* whether it meets all; -1: there was none */
    bool *is_read; /* per key: by a constraint */
    struct scope scope;
    size_t next; /* of the ranks */
};

struct combinations {
    struct product product;
    struct single single;
    struct constraints constraints;
    struct part *heap; /* the lowest rank first */
    size_t count, all; /* of the heap; with those behind it, which are over */
    int64_t from;      /* where the walk began */
    bool seeks;        /* it goes back: solvers are kept */
};

void constraints_add(struct constraints *c, struct formula *formula, enum demand demand)
{
    if (formula)
        *array_add(c->items, c->count) = (struct constraint){formula, demand};
}

void combination_split(const int64_t *counts, int64_t rank, int64_t *specs)
{
    for (int i = SECTION_COUNT - 1; i >= 0; i--) {
        specs[i] = counts[i] ? rank % counts[i] : -1;
        rank = counts[i] ? rank / counts[i] : rank;
    }
}

int64_t combination_rank(const int64_t *counts, const int64_t *specs)
{
    int64_t rank = 0;
    for (int i = 0; i < SECTION_COUNT; i++)
        if (counts[i])
            rank = rank * counts[i] + specs[i];
    return rank;
}

/* --- one by one --- */

static struct single single_open(const struct product *p, const struct constraints *c)
{
    const size_t count = p->names->key_count + 1;
    struct single s = {.keys = xcalloc(count, sizeof *s.keys),
                       .values = xcalloc(count, sizeof *s.values),
                       .is_read = xcalloc(count, sizeof *s.is_read),
                       .met = -1};
    s.scope = evaluator_scope(p->evaluator, s.keys);
    for (size_t i = 0; i < c->count; i++) {
        size_t read;
        const size_t *keys = formula_keys(c->items[i].formula, &read);
        for (size_t k = 0; k < read; k++)
            s.is_read[keys[k]] = true;
    }
    return s;
}

static void single_close(struct single *s)
{
    free_all(s->keys, s->values, s->is_read);
}

/* Returns whether a constraint may say something else of it than of the one before. */
static bool bind_single(const struct product *p, struct single *s, const int64_t *specs)
{
    bool is_other = s->met < 0;
    for (size_t k = 0; k < p->names->key_count; k++) {
        const enum section_kind section = p->names->keys[k].section;
        if (s->met >= 0 && !s->is_read[k])
            continue;
        const struct value *value = specs_value(p->specs[section], specs[section], k);
        if (s->met >= 0 && value == s->values[k])
            continue;
        s->keys[k] = specs_datum_of(value);
        s->values[k] = value;
        is_other = true;
    }
    return is_other;
}

/* 1: it meets all; 0; -1. */
static int meets(const struct product *p, struct single *s, const struct constraints *c, const int64_t *specs,
                 struct error *e)
{
    if (!bind_single(p, s, specs))
        return s->met;
    s->met = 1;
    for (size_t i = 0; i < c->count && s->met > 0; i++) {
        unsigned truth = formula_truth(c->items[i].formula, &s->scope);
        if (evaluator_failed(p->evaluator, e))
            return s->met = -1;
        s->met = demand_outlook(c->items[i].demand, truth) == OUTLOOK_MET;
    }
    return s->met;
}

/* The next of the ranks that meets all. */
static int next_single(const struct product *p, struct single *s, const struct constraints *c, int64_t *rank,
                       int64_t *specs, struct error *e)
{
    int rc = 0;
    while (rc == 0 && s->next < p->rank_count) {
        *rank = p->ranks[s->next++];
        combination_split(p->counts, *rank, specs);
        rc = meets(p, s, c, specs, e);
    }
    return rc;
}

static int count_singles(const struct product *p, const struct constraints *c, int64_t *out, struct error *e)
{
    struct single s = single_open(p, c);
    int64_t rank, specs[SECTION_COUNT], count = 0;
    int rc;
    while ((rc = next_single(p, &s, c, &rank, specs, e)) > 0)
        count++;
    single_close(&s);
    if (rc < 0)
        return -1;
    *out = count;
    return 1;
}

/* --- one shape of each section --- */

static bool advance(const struct product *p, size_t *at)
{
    for (int i = SECTION_COUNT - 1; i >= 0; i--) {
        if (p->relations[i].shape_count == 0)
            continue;
        at[i] = (at[i] + 1) % p->relations[i].shape_count;
        if (at[i] != 0)
            return true;
    }
    return false;
}

static void choose_shapes(const struct product *p, const size_t *at, const struct section_shape **shapes)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        shapes[i] = p->relations[i].shape_count ? &p->relations[i].shapes[at[i]] : NULL;
}

int combinations_count(const struct product *p, const struct constraints *c, struct hash_map *memory, int64_t most,
                       int64_t *out, struct error *e)
{
    size_t at[SECTION_COUNT] = {0};
    const struct section_shape *shapes[SECTION_COUNT];
    int64_t sum = 0, found;
    int rc;
    if (p->ranks)
        return count_singles(p, c, out, e);
    do {
        choose_shapes(p, at, shapes);
        struct solver *s = solver_create(p, shapes, c);
        rc = solver_count(s, memory, most, &found, e);
        sum += rc > 0 ? found : 0;
        solver_free(s);
    } while (rc > 0 && advance(p, at));
    if (rc > 0)
        *out = sum;
    return rc;
}

/* --- walking --- */

static void sink(struct combinations *w, size_t i)
{
    struct part part = w->heap[i];
    for (size_t child = 2 * i + 1; child < w->count; child = 2 * i + 1) {
        if (child + 1 < w->count && w->heap[child + 1].rank < w->heap[child].rank)
            child++;
        if (part.rank <= w->heap[child].rank)
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = part;
}

static void drop_first(struct combinations *w)
{
    struct part over = w->heap[0];
    if (!w->seeks) {
        solver_free(over.solver);
        over.solver = NULL;
    }
    w->heap[0] = w->heap[--w->count];
    w->heap[w->count] = over;
    if (w->count > 0)
        sink(w, 0);
}

/* The rank of the first combination of the shapes, met or not. */
static int64_t least_rank(const struct product *p, const struct section_shape *const *shapes)
{
    int64_t specs[SECTION_COUNT];
    for (int i = 0; i < SECTION_COUNT; i++)
        specs[i] = shapes[i] ? shapes[i]->firsts[0] : -1;
    return combination_rank(p->counts, specs);
}

static void make_parts(struct combinations *w)
{
    size_t at[SECTION_COUNT] = {0};
    do {
        struct part part = {.found = false};
        choose_shapes(&w->product, at, part.shapes);
        *array_add(w->heap, w->all) = part;
    } while (advance(&w->product, at));
}

/* All parts from w->from on. */
static void begin_parts(struct combinations *w)
{
    for (size_t i = 0; i < w->all; i++) {
        struct part *part = &w->heap[i];
        part->begun = part->found = false;
        part->rank = least_rank(&w->product, part->shapes);
        part->rank = part->rank < w->from ? w->from : part->rank;
    }
    w->count = w->all;
    for (size_t i = w->count; i-- > 0;)
        sink(w, i);
}

struct combinations *combinations_open(const struct product *p, const struct constraints *c)
{
    struct combinations *w = xcalloc(1, sizeof *w);
    w->product = *p;
    for (size_t i = 0; i < c->count; i++)
        constraints_add(&w->constraints, c->items[i].formula, c->items[i].demand);
    if (p->ranks)
        w->single = single_open(p, &w->constraints);
    else {
        make_parts(w);
        begin_parts(w);
    }
    return w;
}

void combinations_close(struct combinations *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->all; i++)
        solver_free(w->heap[i].solver);
    single_close(&w->single);
    free_all(w->heap, w->constraints.items, w);
}

void combinations_seek(struct combinations *w, int64_t rank)
{
    if (w->product.ranks) {
        for (w->single.next = 0; w->single.next < w->product.rank_count && w->product.ranks[w->single.next] < rank;)
            w->single.next++;
        return;
    }
    w->from = rank;
    w->seeks = true;
    begin_parts(w);
}

/* Moves the first part to its next combination. */
static int move_first(struct combinations *w, struct error *e)
{
    struct part *part = &w->heap[0];
    int64_t from[SECTION_COUNT];
    bool sought = !part->begun && (part->solver || w->from > 0);
    if (!part->solver)
        part->solver = solver_create(&w->product, part->shapes, &w->constraints);
    part->begun = true;
    combination_split(w->product.counts, w->from, from);
    int rc = solver_next(part->solver, sought ? from : NULL, part->specs, e);
    if (rc < 0)
        return -1;
    if (rc == 0) {
        drop_first(w);
        return 0;
    }
    part->found = true;
    part->rank = combination_rank(w->product.counts, part->specs);
    sink(w, 0);
    return 0;
}

int combinations_next(struct combinations *w, int64_t *rank, int64_t *specs, struct error *e)
{
    if (w->product.ranks)
        return next_single(&w->product, &w->single, &w->constraints, rank, specs, e);
    while (w->count > 0 && !w->heap[0].found)
        if (move_first(w, e) < 0)
            return -1;
    if (w->count == 0)
        return 0;
    *rank = w->heap[0].rank;
    memcpy(specs, w->heap[0].specs, sizeof w->heap[0].specs);
    w->heap[0].found = false;
    return 1;
}
