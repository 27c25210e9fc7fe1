#include "join/solver_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/memory.h"

/* --- places --- */

bool constraint_reads(const struct constraint *c, size_t key)
{
    size_t count;
    const size_t *keys = formula_keys(c->formula, &count);
    for (size_t i = 0; i < count; i++)
        if (keys[i] == key)
            return true;
    return false;
}

static bool is_read(const struct solver *s, size_t key)
{
    for (size_t c = 0; c < s->request.constraint_count; c++)
        if (constraint_reads(&s->request.constraints[c], key))
            return true;
    return false;
}

static void add_place(struct solver *s, enum section_kind section, const struct variable *v, size_t block)
{
    s->places = array_grow(s->places, s->place_count, sizeof *s->places);
    struct variable_place *p = &s->places[s->place_count++];
    *p = (struct variable_place){.variable = v, .section = section, .block = block, .row = 0};
    p->rows = v->rows_of ? NULL : &v->rows[0];
    p->columns = xcalloc(v->width + 1, sizeof *p->columns);
    for (size_t k = 0; k < v->width; k++)
        if (is_read(s, v->keys[k]))
            p->columns[p->column_count++] = k;
}

static void add_places(struct solver *s)
{
    for (int section = 0; section < SECTION_COUNT; section++) {
        const struct section_shape *shape = s->request.shapes[section];
        size_t block = s->place_count;
        for (size_t v = 0; shape && v < shape->variable_count; v++)
            add_place(s, (enum section_kind)section, &shape->variables[v], block);
        for (size_t k = 0; shape && k < s->request.names->key_count; k++)
            if (shape->is_fixed[k])
                s->scope.keys[k] = shape->fixed[k];
    }
}

static void note_readers(struct solver *s)
{
    s->reads = xcalloc(s->request.constraint_count * s->place_count + 1, sizeof *s->reads);
    for (size_t c = 0; c < s->request.constraint_count; c++)
        for (size_t p = 0; p < s->place_count; p++)
            for (size_t k = 0; k < s->places[p].variable->width; k++)
                s->reads[c * s->place_count + p] |=
                    constraint_reads(&s->request.constraints[c], s->places[p].variable->keys[k]);
}

bool solver_reads(const struct solver *s, size_t constraint, size_t place)
{
    return s->reads[constraint * s->place_count + place];
}

/* Returns whether the rows of a place depend on its section's block. */
bool place_is_guided(const struct variable_place *p)
{
    return p->variable->rows_of != NULL;
}

/* --- binding --- */

static void set_ranges(struct solver *s, const struct variable_place *p, const struct range *ranges)
{
    for (size_t i = 0; i < p->column_count; i++)
        s->scope.keys[p->variable->keys[p->columns[i]]] = ranges[p->columns[i]];
}

static void unbind(struct solver *s, size_t place)
{
    const struct variable_place *p = &s->places[place];
    set_ranges(s, p, p->rows ? p->rows->bounds + p->rows->width : p->variable->overall);
}

/* The block of a section decides which rows its other places have; NONE: not yet. */
void solver_guide(struct solver *s, size_t block_place, size_t block)
{
    for (size_t i = block_place + 1; i < s->place_count && s->places[i].block == block_place; i++) {
        struct variable_place *p = &s->places[i];
        if (!place_is_guided(p))
            continue;
        p->rows = block == NONE ? NULL : &p->variable->rows[p->variable->rows_of[block]];
        unbind(s, i);
    }
}

void solver_bind(struct solver *s, size_t place, size_t row)
{
    struct variable_place *p = &s->places[place];
    const struct datum *cells = p->rows->cells + row * p->rows->width;
    p->row = row;
    for (size_t i = 0; i < p->column_count; i++)
        s->scope.keys[p->variable->keys[p->columns[i]]] = range_of_datum(&cells[p->columns[i]]);
    if (p->block == place)
        solver_guide(s, place, row);
}

void solver_release(struct solver *s, size_t place)
{
    if (s->places[place].block == place)
        solver_guide(s, place, NONE);
    unbind(s, place);
}

/* --- solving a component --- */

#define STATEMENT_COST 16 /* evaluations that take as long as one by SQLite */

/* If this try goes on like the best one so far. */
static double share_of_work(const struct solver *s)
{
    double done = (double)s->spent + (double)s->work;
    double needed = s->speed > 0 ? fmax(1 / s->speed, (double)s->work) : INFINITY;
    return done / ((double)s->spent + needed);
}

void solver_look_later(struct solver *s)
{
    s->next_look = s->work + LOOK_EVERY;
    if (s->most > 0 && s->most < s->next_look)
        s->next_look = s->most;
}

static void look_at_watch(struct solver *s)
{
    const struct solver_watch *watch = s->request.watch;
    s->stopped = s->most > 0 && s->work >= s->most;
    solver_look_later(s);
    if (watch && watch->look(watch->context, share_of_work(s), s->e) < 0)
        s->stopped = s->failed = true;
}

#define ROWS_FEW 8 /* are asked one by one */

static void note_work(struct solver *s, int64_t evaluations)
{
    s->work += evaluations;
    if (s->work >= s->next_look)
        look_at_watch(s);
}

enum outlook solver_ask(struct solver *s, size_t constraint)
{
    const struct constraint *c = &s->request.constraints[constraint];
    enum outlook outlook = demand_outlook(c->demand, formula_truth(c->formula, &s->scope));
    note_work(s, 1 + STATEMENT_COST * evaluator_take_count(s->request.evaluator));
    if (evaluator_failed(s->request.evaluator, s->e))
        s->stopped = s->failed = true;
    return s->stopped ? OUTLOOK_FAILED : outlook;
}

int64_t solver_times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t solver_solve_children(struct solver *s, struct tree *t, const struct branch *b)
{
    int64_t product = 1;
    size_t top = s->top;
    for (size_t i = 0; i < b->children.count && product > 0; i++) {
        s->top = top;
        product = solver_times(product, solver_solve(s, t, &t->branches[b->children.items[i]]));
        if (s->stopped)
            s->share = ((double)i + s->share) / (double)b->children.count;
    }
    return product;
}

void solver_push(struct solver *s, size_t at, size_t constraint)
{
    if (at >= s->open_room) {
        s->open_room = 2 * at + 64;
        s->open = xreallocarray(s->open, s->open_room, sizeof *s->open);
    }
    s->open[at] = constraint;
}

/* Asks those that are open under what is bound now: false when one fails; `*left` are those that stay open. What is
 * solved from here on keeps its own above them. */
bool solver_ask_open(struct solver *s, struct open_run open, struct open_run *left)
{
    *left = (struct open_run){open.first + open.count, 0};
    for (size_t i = 0; i < open.count; i++) {
        size_t constraint = s->open[open.first + i];
        enum outlook outlook = solver_ask(s, constraint);
        if (outlook == OUTLOOK_FAILED)
            return false;
        if (outlook == OUTLOOK_OPEN)
            solver_push(s, left->first + left->count++, constraint);
    }
    s->top = left->first + left->count;
    return true;
}

#define RANGES_TRIED 32
#define RANGE_COST 8 /* rows whose asking takes as long */
#define ROWS_SKIPPED 8192

static bool ranges_pay(struct branch *b, struct run run)
{
    if (b->ranges_asked < RANGES_TRIED || b->rows_told >= b->ranges_asked * RANGE_COST)
        return true;
    b->rows_skipped += run.high - run.low;
    if (b->rows_skipped < ROWS_SKIPPED)
        return false;
    b->ranges_asked = b->rows_told = b->rows_skipped = 0;
    return true;
}

bool solver_ask_ranges(struct solver *s, struct branch *b, struct run run, struct open_run open, struct open_run *left,
                       bool *skips)
{
    const struct variable_place *p = &s->places[b->place];
    *left = open;
    *skips = !ranges_pay(b, run);
    if (*skips)
        return true;
    set_ranges(s, p, p->rows->bounds + run.node * p->rows->width);
    bool may = solver_ask_open(s, open, left);
    b->ranges_asked++;
    b->rows_told += !may || left->count < open.count ? run.high - run.low : 0;
    return may;
}

static int64_t solve_row(struct solver *s, struct tree *t, struct branch *b, size_t row, struct open_run open)
{
    struct open_run left;
    solver_bind(s, b->place, row);
    int64_t found = solver_ask_open(s, open, &left) ? solver_solve_children(s, t, b) : 0;
    if (!s->stopped)
        return found;
    b->from = row;
    return 0;
}

static int64_t solve_rows(struct solver *s, struct tree *t, struct branch *b, struct run run, struct open_run open)
{
    int64_t sum = 0;
    for (size_t row = run.low; row < run.high && !s->stopped && !(s->any && sum); row++)
        sum += solve_row(s, t, b, row, open);
    return sum;
}

/* All rows of a run alike. */
static int64_t solve_alike(struct solver *s, struct tree *t, struct branch *b, struct run run)
{
    solver_bind(s, b->place, run.low);
    int64_t found = solver_times(solver_solve_children(s, t, b), (int64_t)(run.high - run.low));
    if (!s->stopped)
        return found;
    b->from = run.low;
    return 0;
}

static int64_t solve_run(struct solver *s, struct tree *t, struct branch *b, struct run run, struct open_run open)
{
    struct open_run left;
    bool skips;
    if (s->stopped || run.high <= b->from)
        return 0;
    struct run rest = {run.node, run.low < b->from ? b->from : run.low, run.high};
    if (run.high - run.low <= ROWS_FEW)
        return solve_rows(s, t, b, rest, open);
    if (!solver_ask_ranges(s, b, run, open, &left, &skips)) {
        b->from = s->stopped ? rest.low : b->from;
        return 0;
    }
    if (left.count == 0 && !b->guides)
        return solve_alike(s, t, b, rest);
    if (skips)
        return solve_rows(s, t, b, rest, left);
    size_t middle = run.low + (run.high - run.low) / 2;
    int64_t sum = solve_run(s, t, b, (struct run){2 * run.node, run.low, middle}, left);
    return s->any && sum ? sum : sum + solve_run(s, t, b, (struct run){2 * run.node + 1, middle, run.high}, left);
}

struct hash128 solver_residue(struct solver *s, const struct tree *t, const struct branch *b)
{
    size_t number = (size_t)(b - t->branches);
    buffer_clear(&s->residue);
    buffer_add(&s->residue, &number, sizeof number);
    for (size_t i = 0; i < b->pending.count; i++) {
        const struct constraint *c = &s->request.constraints[b->pending.items[i]];
        formula_add_residue(c->formula, &s->scope, c->demand, &s->residue);
        s->work++;
    }
    for (size_t i = 0; i < b->guided.count; i++) {
        const struct variable_place *p = &s->places[b->guided.items[i]];
        size_t rows = (size_t)(p->rows - p->variable->rows);
        buffer_add(&s->residue, &rows, sizeof rows);
    }
    return hash_bytes(s->residue.data, s->residue.length);
}

/* The place among the sorted rows of the first whose cell is not below the value. */
static size_t first_place(const struct rows *r, size_t column, int64_t value)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->cells[r->sorted[column][middle] * r->width + column].integer < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct found_rows find_value(const struct rows *r, size_t column, int64_t value)
{
    size_t low = first_place(r, column, value), high = low;
    while (high < r->count && r->cells[r->sorted[column][high] * r->width + column].integer == value)
        high++;
    return (struct found_rows){r->sorted[column] + low, high - low, 0};
}

static bool look_up(struct solver *s, const struct variable_place *p, const struct constraint *c,
                    struct found_rows *out)
{
    for (size_t i = 0; i < p->column_count; i++) {
        size_t column = p->columns[i];
        bool any;
        int64_t value;
        if (!p->rows->sorted[column] || !formula_solve(c->formula, &s->scope, p->variable->keys[column], &any, &value))
            continue;
        *out = any ? find_value(p->rows, column, value) : (struct found_rows){NULL, 0, 0};
        return true;
    }
    return false;
}

bool solver_look_up(struct solver *s, const struct branch *b, struct found_rows *out)
{
    const struct variable_place *p = &s->places[b->place];
    bool found = false;
    if (b->equalities.count > 0)
        unbind(s, b->place); /* the walk comes with the row that was found last */
    for (size_t i = 0; i < b->equalities.count && !found; i++) {
        found = look_up(s, p, &s->request.constraints[b->equalities.items[i]], out);
        out->solved = b->equalities.items[i];
    }
    s->work += found;
    return found;
}

static int64_t solve_found(struct solver *s, struct tree *t, struct branch *b, const struct found_rows *found,
                           struct open_run open)
{
    int64_t sum = 0;
    for (size_t i = 0; i < found->count && !s->stopped && !(s->any && sum); i++)
        if (found->rows[i] >= b->from)
            sum += solve_row(s, t, b, found->rows[i], open);
    return sum;
}

/* Returns the share that is done of the rows of a branch's place: those before b->from, and of that one so much as
 * s->share; a block counts by its specs. */
static double share_of_rows(const struct solver *s, const struct branch *b)
{
    const struct variable_place *p = &s->places[b->place];
    double done = 0, all = 0;
    for (size_t row = 0; row < p->rows->count; row++) {
        double size = p->block == b->place ? (double)s->request.shapes[p->section]->counts[row] : 1;
        done += row < b->from ? size : row == b->from ? size * s->share : 0;
        all += size;
    }
    return done / all;
}

/* `found`: NULL: any of its rows can be part of a solution. */
static int64_t solve_open(struct solver *s, struct tree *t, struct branch *b, const struct found_rows *found)
{
    const size_t count = s->places[b->place].rows->count;
    struct open_run open = {s->top, 0};
    for (size_t i = 0; i < b->tests.count; i++)
        if (!found || b->tests.items[i] != found->solved)
            solver_push(s, open.first + open.count++, b->tests.items[i]);
    int64_t sum = found ? solve_found(s, t, b, found, open) : solve_run(s, t, b, (struct run){1, 0, count}, open);
    if (s->stopped)
        s->share = share_of_rows(s, b);
    return sum;
}

/* Goes on where the try before this one stopped; returns what it had found until then. */
static int64_t go_on(struct branch *b, const struct hash128 *residue)
{
    if (!b->part.any || memcmp(b->part.residue.bytes, residue->bytes, sizeof residue->bytes) != 0)
        return 0;
    b->from = b->part.from;
    b->part.any = false;
    return b->part.sum;
}

int64_t solver_solve(struct solver *s, struct tree *t, struct branch *b)
{
    struct found_rows rows = {NULL, s->places[b->place].rows->count, 0};
    int64_t found = 0;
    /* Free and alone: no constraint asks for what it is. */
    if (b->tests.count == 0 && b->children.count == 0)
        return (int64_t)rows.count;
    bool is_looked_up = solver_look_up(s, b, &rows);
    bool is_brief = is_looked_up && b->children.count == 0; /* it takes no longer than to remember it */
    struct hash128 residue = {{0}};
    b->from = 0;
    if (!is_brief) {
        residue = solver_residue(s, t, b);
        if (hash_map_get(&t->memory, &residue, &found))
            return found;
        found = go_on(b, &residue);
    }
    found += solve_open(s, t, b, is_looked_up ? &rows : NULL);
    if (!is_brief && s->stopped)
        b->part = (struct part_solved){!s->failed, residue, b->from, found};
    else if (!is_brief && t->memory.count < MEMORY_MOST)
        hash_map_put(&t->memory, &residue, found);
    solver_release(s, b->place);
    return found;
}

/* Constraints over what never changes. */
bool solver_meets_fixed(struct solver *s)
{
    bool meets = true;
    for (size_t c = 0; c < s->request.constraint_count && meets; c++) {
        bool any = false;
        for (size_t p = 0; p < s->place_count; p++)
            any |= solver_reads(s, c, p);
        meets = any || solver_ask(s, c) == OUTLOOK_MET;
    }
    return meets;
}

/* --- making --- */

struct solver *solver_create(const struct solver_request *request)
{
    struct solver *s = xcalloc(1, sizeof *s);
    s->request = *request;
    s->scope = evaluator_scope(request->evaluator, xcalloc(request->names->key_count + 1, sizeof(struct range)));
    for (size_t k = 0; k < request->names->key_count; k++)
        s->scope.keys[k] = (struct range){.exact = true};
    add_places(s);
    note_readers(s);
    for (size_t p = 0; p < s->place_count; p++)
        unbind(s, p);
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
    solver_forget_lists(s);
    tree_free(&s->walk);
    buffer_free(&s->residue);
    free(s);
}
