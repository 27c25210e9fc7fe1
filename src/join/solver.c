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
    return ANY(i, count, keys[i] == key);
}

static bool is_read(const struct solver *s, size_t key)
{
    return ANY(c, s->constraints.count, constraint_reads(&s->constraints.items[c], key));
}

static void add_place(struct solver *s, enum section_kind section, const struct variable *v, size_t number)
{
    struct variable_place *p = array_add(s->places, s->place_count);
    *p = (struct variable_place){.variable = v, .section = section, .number = number};
    p->columns = xcalloc(v->width + 1, sizeof *p->columns);
    for (size_t k = 0; k < v->width; k++)
        if (is_read(s, v->keys[k]))
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

bool solver_reads(const struct solver *s, size_t constraint, size_t place)
{
    return s->reads[constraint * s->place_count + place];
}

/* --- binding --- */

static void set_keys(struct solver *s, const struct variable_place *p, const struct datum *values)
{
    for (size_t i = 0; i < p->column_count; i++)
        s->scope.keys[p->variable->keys[p->columns[i]]] = values[p->columns[i]];
}

void solver_release(struct solver *s, size_t place)
{
    const struct variable_place *p = &s->places[place];
    set_keys(s, p, p->variable->all);
}

void solver_bind(struct solver *s, size_t place, size_t row)
{
    struct variable_place *p = &s->places[place];
    p->row = row;
    set_keys(s, p, p->variable->cells + row * p->variable->width);
}

/* --- solving a component --- */

#define STATEMENT_COST 16 /* evaluations that take as long as one by SQLite */

/* Returns how much is done of what is being counted, by rows. */
static double share_done(const struct solver *s)
{
    double done = 0, part = 1;
    for (size_t i = 0; i < s->level && i < LEVELS; i++) {
        part /= (double)s->levels[i].all;
        done += part * (double)s->levels[i].done;
    }
    return done;
}

static void enter_level(struct solver *s, size_t done, size_t all)
{
    if (s->level < LEVELS)
        s->levels[s->level] = (struct progress_level){done, all};
    s->level++;
}

void solver_look_later(struct solver *s)
{
    s->next_look = s->work + LOOK_EVERY;
    if (s->most > 0 && s->most < s->next_look)
        s->next_look = s->most;
}

static void look_at_watch(struct solver *s)
{
    const struct solver_watch *watch = s->product->watch;
    s->stopped = s->most > 0 && s->work >= s->most;
    solver_look_later(s);
    if (watch && watch->look(watch->context, share_done(s), s->e) < 0)
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
    const struct constraint *c = &s->constraints.items[constraint];
    enum outlook outlook = demand_outlook(c->demand, formula_truth(c->formula, &s->scope));
    note_work(s, 1 + STATEMENT_COST * evaluator_take_count(s->product->evaluator));
    if (evaluator_failed(s->product->evaluator, s->e))
        s->stopped = s->failed = true;
    return s->stopped ? OUTLOOK_FAILED : outlook;
}

int64_t solver_times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t solve_children(struct solver *s, struct tree *t, const struct branch *b)
{
    int64_t product = 1;
    size_t top = s->top;
    for (size_t i = 0; i < b->children.count && product > 0; i++) {
        s->top = top;
        enter_level(s, i, b->children.count);
        product = solver_times(product, solver_solve(s, t, &t->branches[b->children.items[i]]));
        s->level--;
    }
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
        enum outlook outlook = solver_ask(s, constraint);
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
    solver_bind(s, b->place, row);
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

/* The place among the sorted rows of the first whose cell is not below the value. */
static size_t first_place(const struct variable *v, size_t column, int64_t value)
{
    size_t low = 0, high = v->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->cells[v->sorted[column][middle] * v->width + column].integer < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct found_rows find_value(const struct variable *v, size_t column, int64_t value)
{
    size_t low = first_place(v, column, value), high = low;
    while (high < v->count && v->cells[v->sorted[column][high] * v->width + column].integer == value)
        high++;
    return (struct found_rows){v->sorted[column] + low, high - low, 0};
}

/* How far from 0 an integer of the column is at most. */
static double reach_of(const struct variable *v, size_t column)
{
    const uint32_t *sorted = v->sorted[column];
    const double low = (double)v->cells[sorted[0] * v->width + column].integer;
    return fmax(fabs(low), fabs((double)v->cells[sorted[v->count - 1] * v->width + column].integer));
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
        solver_release(s, b->place); /* the walk comes with the row that was found last */
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
    int64_t sum = 0;
    /* Where no constraint minds which of many rows it is, one stands for all. */
    if (rows->count > ROWS_FEW && !ask_open(s, open, &left))
        return 0;
    if (left.count == 0 && rows->count > 0)
        sum = solver_times(solve_row(s, t, b, row_at(rows, 0), left), (int64_t)rows->count);
    else
        for (size_t i = 0; i < rows->count && !s->stopped && !(s->any && sum); i++) {
            enter_level(s, i, rows->count);
            sum += solve_row(s, t, b, row_at(rows, i), left);
            s->level--;
        }
    return sum;
}

int64_t solver_solve(struct solver *s, struct tree *t, const struct branch *b)
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
    if (!is_brief && !s->stopped && t->memory.count < MEMORY_MOST)
        hash_map_put(&t->memory, &residue, found);
    solver_release(s, b->place);
    return found;
}

bool solver_meets_fixed(struct solver *s)
{
    bool meets = true;
    for (size_t c = 0; c < s->constraints.count && meets; c++) {
        bool any = false;
        for (size_t p = 0; p < s->place_count; p++)
            any |= solver_reads(s, c, p);
        meets = any || solver_ask(s, c) == OUTLOOK_MET;
    }
    return meets;
}

/* --- walking --- */

static bool can_meet(struct solver *s, size_t branch)
{
    s->top = 0;
    return solver_solve(s, &s->walk, &s->walk.branches[branch]) > 0;
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
        solver_bind(s, place, row);
        if (ask_open(s, open, &left) && solve_children(s, &s->walk, b) > 0)
            return row;
    }
    return NONE;
}

/* --- from one to the next --- */

/* Every component can be met: from then on every row that is found can be part of a solution. */
static bool begin_walk(struct solver *s)
{
    bool *in = xcalloc(s->place_count + 1, sizeof *in), meets = solver_meets_fixed(s);
    memset(in, true, s->place_count);
    s->branch_of = xcalloc(s->place_count + 1, sizeof *s->branch_of);
    for (size_t p = 0; p < s->place_count; p++)
        s->ranks[p] = p;
    for (size_t p = 0; p < s->place_count && meets; p++) {
        if (!in[p])
            continue;
        size_t root = solver_grow(s, &s->walk, solver_component(s, in, p));
        meets = can_meet(s, root);
    }
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
        solver_release(s, place);
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
            solver_release(s, p);
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
    s->scope = evaluator_scope(p->evaluator, xcalloc(p->names->key_count + 1, sizeof(struct datum)));
    add_places(s);
    s->ranks = xcalloc(s->place_count + 1, sizeof *s->ranks);
    note_readers(s);
    for (size_t place = 0; place < s->place_count; place++)
        solver_release(s, place);
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
