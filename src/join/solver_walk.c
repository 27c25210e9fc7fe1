#include "join/solver_state.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

static bool can_meet(struct solver *s, size_t branch)
{
    s->top = 0;
    return solver_solve(s, &s->walk, &s->walk.branches[branch]) > 0;
}

static size_t find_in_run(struct solver *s, struct branch *b, struct run run, size_t from, struct open_run open);

static size_t find_in_rows(struct solver *s, const struct branch *b, struct run run, size_t from, struct open_run open)
{
    struct open_run left;
    for (size_t row = from > run.low ? from : run.low; row < run.high && !s->stopped; row++) {
        solver_bind(s, b->place, row);
        if (!solver_ask_open(s, open, &left))
            continue;
        if (solver_solve_children(s, &s->walk, b) > 0)
            return row;
    }
    return NONE;
}

/* The first row of the run, not before `from`, that can be part of a solution; bound then. */
static size_t find_in_run(struct solver *s, struct branch *b, struct run run, size_t from, struct open_run open)
{
    struct open_run left;
    bool skips;
    if (run.high <= from || s->stopped)
        return NONE;
    if (run.high - run.low <= ROWS_RUN)
        return find_in_rows(s, b, run, from, open);
    if (!solver_ask_ranges(s, b, run, open, &left, &skips))
        return NONE;
    if (skips)
        return find_in_rows(s, b, run, from, open);
    size_t middle = run.low + (run.high - run.low) / 2;
    size_t found = find_in_run(s, b, (struct run){2 * run.node, run.low, middle}, from, left);
    return found != NONE ? found : find_in_run(s, b, (struct run){2 * run.node + 1, middle, run.high}, from, left);
}

static size_t find_in_found(struct solver *s, const struct branch *b, const struct found_rows *found, size_t from,
                            struct open_run open)
{
    size_t row = NONE;
    for (size_t i = 0; i < found->count && row == NONE; i++)
        row = find_in_rows(s, b, (struct run){0, found->rows[i], found->rows[i] + 1}, from, open);
    return row;
}

static size_t search_row(struct solver *s, size_t place, size_t from)
{
    struct branch *b = &s->walk.branches[s->branch_of[place]];
    const struct rows *rows = s->places[place].rows;
    struct found_rows found;
    if (from >= rows->count)
        return NONE;
    struct open_run open = {0, b->tests.count};
    for (size_t i = 0; i < b->tests.count; i++)
        solver_push(s, i, b->tests.items[i]);
    s->top = b->tests.count;
    return solver_look_up(s, b, &found) ? find_in_found(s, b, &found, from, open)
                                        : find_in_run(s, b, (struct run){1, 0, rows->count}, from, open);
}

/* --- rows that were found before --- */

/* Rows found once below a place are found again wherever as much is left of the constraints. */
#define ROWS_KEPT_MOST (1 << 21)
#define LISTS_MOST (1 << 17)
#define ENTERED_TRIED 1024 /* a place that is never found as it was before is not looked up */
#define ENTERED_AGAIN 16   /* one in so many */

static void keep_list(struct solver *s, struct visit *v)
{
    struct row_lists *l = &s->lists;
    struct row_list kept = {xcalloc(v->made.count + 1, sizeof *kept.rows), v->made.count};
    memcpy(kept.rows, v->made.rows, kept.count * sizeof *kept.rows);
    l->items = array_grow(l->items, l->count, sizeof *l->items);
    l->items[l->count] = kept;
    l->rows += kept.count;
    hash_map_put(&l->numbers, &v->residue, (int64_t)l->count++);
    v->is_listing = false;
}

static void note_row(struct solver *s, struct visit *v, size_t row)
{
    v->is_listing &= !s->stopped && (row == NONE || row <= UINT32_MAX);
    if (v->is_listing && row == NONE)
        keep_list(s, v);
    else if (v->is_listing) {
        *array_add(v->made.rows, v->made.count) = (uint32_t)row;
    }
}

static void enter(struct solver *s, size_t place, size_t from)
{
    struct branch *b = &s->walk.branches[s->branch_of[place]];
    struct visit *v = &s->visits[place];
    v->is_listed = v->is_listing = false;
    v->made.count = v->at = 0;
    if (b->entered > ENTERED_TRIED && b->entered_again * ENTERED_AGAIN < b->entered)
        return;
    v->residue = solver_residue(s, &s->walk, b);
    v->is_listed = hash_map_get(&s->lists.numbers, &v->residue, &v->number);
    v->is_listing = !v->is_listed && from == 0 && s->lists.count < LISTS_MOST && s->lists.rows < ROWS_KEPT_MOST;
    b->entered++;
    b->entered_again += v->is_listed;
}

static size_t find_listed(struct solver *s, size_t place, size_t from)
{
    struct visit *v = &s->visits[place];
    const struct row_list *list = &s->lists.items[v->number];
    while (v->at < list->count && list->rows[v->at] < from)
        v->at++;
    if (v->at == list->count)
        return NONE;
    solver_bind(s, place, list->rows[v->at]);
    return list->rows[v->at];
}

/* The first row from `from` on that can be part of a solution, bound then. `enters`: what is above has changed. */
static size_t find_row(struct solver *s, size_t place, size_t from, bool enters)
{
    const struct branch *b = &s->walk.branches[s->branch_of[place]];
    if (b->tests.count == 0 && b->children.count == 0) {
        if (from >= s->places[place].rows->count)
            return NONE;
        solver_bind(s, place, from);
        return from;
    }
    if (s->places[place].block == place)
        solver_guide(s, place, NONE);
    if (enters)
        enter(s, place, from);
    if (s->visits[place].is_listed)
        return find_listed(s, place, from);
    size_t row = search_row(s, place, from);
    note_row(s, &s->visits[place], row);
    return row;
}

void solver_forget_lists(struct solver *s)
{
    for (size_t i = 0; i < s->lists.count; i++)
        free(s->lists.items[i].rows);
    for (size_t p = 0; s->visits && p < s->place_count; p++)
        free(s->visits[p].made.rows);
    free_all(s->lists.items, s->visits);
    hash_map_free(&s->lists.numbers);
}

/* --- walking --- */

/* Every component can be met: from then on every row that is found can be part of a solution. */
static bool begin_walk(struct solver *s)
{
    bool *in = xcalloc(s->place_count + 1, sizeof *in), meets = solver_meets_fixed(s);
    memset(in, true, s->place_count);
    s->branch_of = xcalloc(s->place_count + 1, sizeof *s->branch_of);
    s->visits = xcalloc(s->place_count + 1, sizeof *s->visits);
    for (size_t p = 0; p < s->place_count && meets; p++) {
        if (!in[p])
            continue;
        size_t root = solver_grow(s, &s->walk, solver_component(s, in, p), ORDER_FILE);
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
    const struct section_shape *shape = s->request.shapes[section];
    size_t block = 0, first = 0;
    while (s->places[first].section != section)
        first++;
    while (block < shape->block_count && number >= shape->strides[block * shape->variable_count] + shape->counts[block])
        block++;
    const int64_t *strides = shape->strides + block * shape->variable_count;
    bool is_there = block < shape->block_count && number >= strides[0];
    int64_t left = is_there ? number - strides[0] : 0;
    rows[first] = block; /* past the last one: there is none */
    for (size_t v = 1; v < shape->variable_count; v++) {
        rows[first + v] = is_there && strides[v] ? (size_t)(left / strides[v]) : 0;
        left = is_there && strides[v] ? left % strides[v] : left;
    }
    return is_there;
}

static void join_numbers(const struct solver *s, int64_t *specs)
{
    const int64_t *strides = NULL;
    for (int i = 0; i < SECTION_COUNT; i++)
        specs[i] = s->request.shapes[i] ? 0 : -1;
    for (size_t p = 0; p < s->place_count; p++) {
        const struct variable_place *place = &s->places[p];
        const struct section_shape *shape = s->request.shapes[place->section];
        if (place->block == p)
            strides = shape->strides + place->row * shape->variable_count;
        specs[place->section] += place->block == p ? strides[0] : strides[p - place->block] * (int64_t)place->row;
    }
}

/* From the rows in `lower` on (NULL: any): whether there is a solution. */
static bool walk(struct solver *s, size_t place, size_t from, const size_t *lower)
{
    bool enters = !s->begun;
    bool tight = lower != NULL;
    for (;;) {
        size_t row = find_row(s, place, from, enters);
        if (s->stopped)
            return false;
        if (row != NONE) {
            tight = tight && row == lower[place];
            if (++place == s->place_count)
                return true;
            from = tight ? lower[place] : 0;
            enters = true;
            continue;
        }
        enters = false;
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
    s->speed = 0;
    s->stopped = s->failed = false;
    if (!s->branch_of)
        s->over = s->empty = !begin_walk(s);
    if (from && !s->empty) {
        s->over = false;
        lower = xcalloc(s->place_count + 1, sizeof *lower);
        bool tight = true;
        for (int i = 0; i < SECTION_COUNT && tight; i++)
            if (s->request.shapes[i])
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
