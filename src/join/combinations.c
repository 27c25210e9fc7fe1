#include "join/combinations.h"

#include "util/memory.h"

/* One shape of each section. */
struct part {
    const struct section_shape *shapes[SECTION_COUNT];
    struct solver *solver; /* NULL: not made yet */
    bool begun;            /* since the last seek */
    bool found;            /* `rank` is that of a combination; else nothing of this part has a lower one */
    int64_t rank;
};

/* The combinations that are meant, as the specs of one section, whose numbers are their ranks. */
struct listed {
    struct arena arena;
    struct relation relations[SECTION_COUNT];
    int64_t counts[SECTION_COUNT];
};

struct combinations {
    struct product product;
    struct listed listed;  /* of the product, where that has ranks */
    const int64_t *counts; /* of the specs by which combinations are told */
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

/* Makes it a product of what is listed, in `l`, which is empty before. */
static void list_ranks(struct product *p, const struct constraints *c, struct listed *l)
{
    struct variable rows = {.count = p->rank_count};
    int64_t specs[SECTION_COUNT];
    for (size_t i = 0; i < c->count; i++) {
        size_t count;
        const size_t *keys = formula_keys(c->items[i].formula, &count);
        for (size_t k = 0; k < count; k++)
            if (!ANY(w, rows.width, rows.keys[w] == keys[k]))
                *arena_add(&l->arena, rows.keys, rows.width) = keys[k];
    }
    rows.cells = arena_keep(&l->arena, xcalloc((rows.count + 1) * rows.width + 1, sizeof *rows.cells));
    for (size_t n = 0; n < rows.count; n++) {
        combination_split(p->counts, p->ranks[n], specs);
        for (size_t k = 0; k < rows.width; k++) {
            const enum section_kind section = p->names->keys[rows.keys[k]].section;
            rows.cells[n * rows.width + k] =
                specs_datum_of(specs_value(p->specs[section], specs[section], rows.keys[k]));
        }
    }
    l->counts[0] = INT64_MAX;
    relation_list(&l->arena, p->names, &rows, p->ranks, &l->relations[0]);
    p->relations = l->relations;
    p->counts = l->counts;
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

int combinations_count(const struct product *of, const struct constraints *c, struct hash_map *memory, int64_t most,
                       int64_t *out, struct error *e)
{
    struct product product = *of, *p = &product;
    struct listed listed = {.counts = {0}};
    size_t at[SECTION_COUNT] = {0};
    const struct section_shape *shapes[SECTION_COUNT];
    int64_t sum = 0, found;
    int rc;
    if (p->ranks)
        list_ranks(p, c, &listed);
    do {
        choose_shapes(p, at, shapes);
        struct solver *s = solver_create(p, shapes, c);
        rc = solver_count(s, memory, p->ranks ? 0 : most, &found, e);
        sum += rc > 0 ? found : 0;
        solver_free(s);
    } while (rc > 0 && advance(p, at));
    arena_free(&listed.arena);
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
    w->counts = p->counts;
    if (p->ranks)
        list_ranks(&w->product, c, &w->listed);
    make_parts(w);
    begin_parts(w);
    return w;
}

void combinations_close(struct combinations *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->all; i++)
        solver_free(w->heap[i].solver);
    arena_free(&w->listed.arena);
    free_all(w->heap, w->constraints.items, w);
}

void combinations_seek(struct combinations *w, int64_t rank)
{
    w->from = rank;
    w->seeks = true;
    begin_parts(w);
}

/* Moves the first part to its next combination. */
static int move_first(struct combinations *w, struct error *e)
{
    struct part *part = &w->heap[0];
    int64_t from[SECTION_COUNT], specs[SECTION_COUNT];
    bool sought = !part->begun && (part->solver || w->from > 0);
    if (!part->solver)
        part->solver = solver_create(&w->product, part->shapes, &w->constraints);
    part->begun = true;
    combination_split(w->product.counts, w->from, from);
    int rc = solver_next(part->solver, sought ? from : NULL, specs, e);
    if (rc < 0)
        return -1;
    if (rc == 0) {
        drop_first(w);
        return 0;
    }
    part->found = true;
    part->rank = combination_rank(w->product.counts, specs);
    sink(w, 0);
    return 0;
}

int combinations_next(struct combinations *w, int64_t *rank, int64_t *specs, struct error *e)
{
    while (w->count > 0 && !w->heap[0].found)
        if (move_first(w, e) < 0)
            return -1;
    if (w->count == 0)
        return 0;
    *rank = w->heap[0].rank;
    combination_split(w->counts, *rank, specs);
    w->heap[0].found = false;
    return 1;
}
