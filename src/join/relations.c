#include "join/relations.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* Shapes that a block is tried on, and variables that a shape may have beyond those of its largest block. */
#define SHAPES_TRIED 16
#define VARIABLES_SHARED 16

/* Rows that are sorted: of fewer all are looked at. */
#define ROWS_SORTED_LEAST 9
#define ROWS_SORTED_MOST (1 << 20)

/* A variable on its way: its keys, and by block of the shape which axis moves it. */
struct shape_column {
    size_t *keys;
    size_t width;
    size_t *axes; /* by block; NONE: constant there */
};

#define NONE SIZE_MAX

struct draft {
    size_t *blocks;
    size_t block_count;
    struct shape_column *columns;
    size_t column_count;
};

struct maker {
    const struct spec_block *blocks;
    const struct names *names;
    enum section_kind section;
    struct draft *drafts;
    size_t draft_count;
};

/* --- which blocks go together --- */

static bool overlaps(const struct shape_column *c, const struct spec_axis *a)
{
    for (size_t i = 0; i < c->width; i++)
        for (size_t k = 0; k < a->axis->key_count; k++)
            if (c->keys[i] == a->keys[k])
                return true;
    return false;
}

/* The column of the draft that the axis moves: NONE for no one, column_count for more than one. */
static size_t column_of(const struct draft *d, const struct spec_axis *a)
{
    size_t found = NONE;
    for (size_t c = 0; c < d->column_count; c++)
        if (overlaps(&d->columns[c], a))
            found = found == NONE ? c : d->column_count;
    return found;
}

static bool varies(const struct spec_axis *a)
{
    return a->axis->value_count > 1;
}

/* Returns whether the block's axes stand in the order of the draft's columns, each on one of its own. */
static bool fits(const struct draft *d, const struct spec_block *b)
{
    size_t next = 0, added = 0, own = 0;
    for (size_t a = 0; a < b->axis_count; a++) {
        if (!varies(&b->axes[a]))
            continue;
        size_t c = column_of(d, &b->axes[a]);
        own++;
        if (c == NONE)
            added++;
        else if (c < next || c >= d->column_count)
            return false;
        else
            next = c + 1;
    }
    size_t most = own > d->column_count ? own : d->column_count;
    return d->column_count + added <= (most > VARIABLES_SHARED ? most : VARIABLES_SHARED);
}

static void note_key(struct shape_column *c, size_t key)
{
    for (size_t i = 0; i < c->width; i++)
        if (c->keys[i] == key)
            return;
    *array_add(c->keys, c->width) = key;
}

static void insert_column(struct draft *d, size_t at)
{
    d->columns = array_grow(d->columns, d->column_count, sizeof *d->columns);
    memmove(&d->columns[at + 1], &d->columns[at], (d->column_count - at) * sizeof *d->columns);
    d->columns[at] = (struct shape_column){NULL, 0, NULL};
    for (size_t i = 0; i < d->block_count; i++) {
        d->columns[at].axes = array_grow(d->columns[at].axes, i, sizeof *d->columns[at].axes);
        d->columns[at].axes[i] = NONE;
    }
    d->column_count++;
}

static void join_draft(struct draft *d, const struct spec_block *b, size_t block)
{
    size_t next = 0;
    for (size_t c = 0; c < d->column_count; c++) {
        d->columns[c].axes = array_grow(d->columns[c].axes, d->block_count, sizeof *d->columns[c].axes);
        d->columns[c].axes[d->block_count] = NONE;
    }
    *array_add(d->blocks, d->block_count) = block;
    for (size_t a = 0; a < b->axis_count; a++) {
        if (!varies(&b->axes[a]))
            continue;
        size_t c = column_of(d, &b->axes[a]);
        if (c == NONE)
            insert_column(d, c = next);
        assert(d->columns && d->columns[c].axes); /* there is this block at least */
        d->columns[c].axes[d->block_count - 1] = a;
        for (size_t k = 0; k < b->axes[a].axis->key_count; k++)
            note_key(&d->columns[c], b->axes[a].keys[k]);
        next = c + 1;
    }
}

static void place(struct maker *m, size_t block)
{
    size_t first = m->draft_count > SHAPES_TRIED ? m->draft_count - SHAPES_TRIED : 0, d = first;
    while (d < m->draft_count && !fits(&m->drafts[d], &m->blocks[block]))
        d++;
    if (d == m->draft_count) {
        m->drafts = array_grow(m->drafts, d, sizeof *m->drafts);
        m->drafts[m->draft_count++] = (struct draft){0};
    }
    join_draft(&m->drafts[d], &m->blocks[block], block);
}

/* --- rows --- */

/* Makes `all` unknown where the row has something else. */
static void cover(struct datum *all, const struct datum *row, size_t width)
{
    for (size_t k = 0; k < width; k++)
        if (!datum_equal(&all[k], &row[k]))
            all[k].kind = DATUM_UNKNOWN;
}

static void cover_rows(struct rows *r)
{
    r->all = xcalloc(r->width + 1, sizeof *r->all);
    memcpy(r->all, r->cells, r->width * sizeof *r->all);
    for (size_t row = 1; row < r->count; row++)
        cover(r->all, r->cells + row * r->width, r->width);
}

struct sorting {
    const struct rows *rows;
    size_t column;
};

static int by_value(const void *a, const void *b, void *context)
{
    const struct sorting *s = context;
    const uint32_t *x = a, *y = b;
    int64_t left = s->rows->cells[*x * s->rows->width + s->column].integer;
    int64_t right = s->rows->cells[*y * s->rows->width + s->column].integer;
    return left != right ? (left > right) - (left < right) : (*x > *y) - (*x < *y);
}

static uint32_t *sort_column(const struct rows *r, size_t column)
{
    struct sorting s = {r, column};
    bool are_integers = r->count >= ROWS_SORTED_LEAST && r->count <= ROWS_SORTED_MOST, ascend = true;
    for (size_t row = 0; row < r->count && are_integers; row++)
        are_integers = r->cells[row * r->width + column].kind == DATUM_INT;
    if (!are_integers)
        return NULL;
    uint32_t *rows = xcalloc(r->count, sizeof *rows);
    for (uint32_t row = 0; row < r->count; row++) {
        rows[row] = row;
        ascend = ascend && (row == 0 || by_value(&rows[row - 1], &rows[row], &s) < 0);
    }
    if (!ascend)
        qsort_r(rows, r->count, sizeof *rows, by_value, &s);
    return rows;
}

static void sort_rows(struct rows *r)
{
    r->sorted = xcalloc(r->width + 1, sizeof *r->sorted);
    for (size_t k = 0; k < r->width; k++)
        r->sorted[k] = sort_column(r, k);
}

static bool same_rows(const struct rows *a, const struct rows *b)
{
    if (a->count != b->count)
        return false;
    return !ANY(i, a->count * a->width, !datum_equal(&a->cells[i], &b->cells[i]));
}

/* Takes the rows over; the number under which they stand. */
static size_t add_rows(struct variable *v, struct rows r)
{
    /* Blocks mostly follow others that are like them. */
    for (size_t i = v->rows_count, tried = 0; i-- > 0 && tried < SHAPES_TRIED; tried++)
        if (same_rows(&v->rows[i], &r)) {
            free(r.cells);
            return i;
        }
    cover_rows(&r);
    sort_rows(&r);
    v->rows = array_grow(v->rows, v->rows_count, sizeof *v->rows);
    v->rows[v->rows_count] = r;
    return v->rows_count++;
}

/* The cells of a block, by key: where its axes have several, the first. */
static void read_constants(const struct spec_block *b, struct datum *cells, size_t key_count)
{
    memset(cells, 0, key_count * sizeof *cells);
    for (size_t a = 0; a < b->axis_count; a++)
        for (size_t k = 0; k < b->axes[a].axis->key_count; k++)
            cells[b->axes[a].keys[k]] = specs_datum_of(axis_value(b->axes[a].axis, k));
}

static struct rows rows_of(const struct shape_column *c, const struct spec_axis *a, const struct datum *constants)
{
    struct rows r = {.count = a ? a->axis->value_count : 1, .width = c->width};
    r.cells = xcalloc(r.count * r.width + 1, sizeof *r.cells);
    for (size_t row = 0; row < r.count; row++)
        for (size_t i = 0; i < c->width; i++) {
            struct datum *cell = &r.cells[row * c->width + i];
            *cell = constants[c->keys[i]];
            for (size_t k = 0; a && k < a->axis->key_count; k++)
                if (a->keys[k] == c->keys[i])
                    *cell = specs_datum_of(axis_value(a->axis, row * a->axis->key_count + k));
        }
    return r;
}

static void cover_all(struct variable *v)
{
    v->overall = xcalloc(v->width + 1, sizeof *v->overall);
    memcpy(v->overall, v->rows[0].all, v->width * sizeof *v->overall);
    for (size_t i = 1; i < v->rows_count; i++)
        cover(v->overall, v->rows[i].all, v->width);
}

static void hash_variable(struct variable *v, size_t block_count)
{
    OWNED_BUFFER b = BUFFER_INIT;
    buffer_add(&b, v->keys, v->width * sizeof *v->keys);
    if (v->rows_of)
        buffer_add(&b, v->rows_of, block_count * sizeof *v->rows_of);
    for (size_t i = 0; i < v->rows_count; i++) {
        const struct rows *r = &v->rows[i];
        buffer_add(&b, &r->count, sizeof r->count);
        for (size_t c = 0; c < r->count * r->width; c++)
            datum_add(&r->cells[c], &b);
    }
    v->hash = hash_bytes(b.data, b.length);
}

static void finish_variable(struct variable *v, size_t block_count)
{
    cover_all(v);
    hash_variable(v, block_count);
}

/* --- shapes --- */

static bool has_key(const struct draft *d, size_t key)
{
    for (size_t c = 0; c < d->column_count; c++)
        for (size_t k = 0; k < d->columns[c].width; k++)
            if (d->columns[c].keys[k] == key)
                return true;
    return false;
}

/* The variable that says which block: its row is what is constant in it. What is equal in all is fixed. */
static void make_block_variable(const struct maker *m, const struct draft *d, const struct datum *constants,
                                struct section_shape *s)
{
    size_t key_count = m->names->key_count;
    struct variable *v = &s->variables[0];
    struct rows r = {.count = d->block_count};
    for (size_t k = 0; k < key_count; k++) {
        s->fixed[k].kind = DATUM_UNKNOWN;
        if (m->names->keys[k].section != m->section || has_key(d, k))
            continue;
        s->fixed[k] = constants[k];
        for (size_t b = 1; b < d->block_count; b++)
            cover(&s->fixed[k], &constants[b * key_count + k], 1);
        if (s->fixed[k].kind == DATUM_UNKNOWN)
            *array_add(v->keys, v->width) = k;
    }
    r.width = v->width;
    r.cells = xcalloc(r.count * r.width + 1, sizeof *r.cells);
    for (size_t b = 0; b < d->block_count; b++)
        for (size_t k = 0; k < v->width; k++)
            r.cells[b * v->width + k] = constants[b * key_count + v->keys[k]];
    add_rows(v, r);
    finish_variable(v, d->block_count);
}

static void make_variable(const struct maker *m, const struct draft *d, size_t c, const struct datum *constants,
                          struct section_shape *s)
{
    struct variable *v = &s->variables[c + 1];
    const struct shape_column *column = &d->columns[c];
    *v = (struct variable){.keys = column->keys, .width = column->width};
    v->rows_of = xcalloc(d->block_count, sizeof *v->rows_of);
    for (size_t b = 0; b < d->block_count; b++) {
        const struct spec_block *block = &m->blocks[d->blocks[b]];
        const struct spec_axis *a = column->axes[b] == NONE ? NULL : &block->axes[column->axes[b]];
        v->rows_of[b] = add_rows(v, rows_of(column, a, constants + b * m->names->key_count));
        s->strides[b * s->variable_count + c + 1] = a ? a->stride : 0;
    }
    if (v->rows_count == 1) {
        free(v->rows_of);
        v->rows_of = NULL;
    }
    finish_variable(v, d->block_count);
}

static void make_shape(const struct maker *m, const struct draft *d, struct section_shape *s)
{
    size_t key_count = m->names->key_count;
    OWNED struct datum *constants = xcalloc(d->block_count * key_count + 1, sizeof *constants);
    for (size_t b = 0; b < d->block_count; b++)
        read_constants(&m->blocks[d->blocks[b]], constants + b * key_count, key_count);
    *s = (struct section_shape){.blocks = d->blocks,
                                .block_count = d->block_count,
                                .variable_count = d->column_count + 1};
    s->variables = xcalloc(s->variable_count, sizeof *s->variables);
    s->strides = xcalloc(s->variable_count * d->block_count, sizeof *s->strides);
    s->counts = xcalloc(d->block_count, sizeof *s->counts);
    s->fixed = xcalloc(key_count + 1, sizeof *s->fixed);
    make_block_variable(m, d, constants, s);
    for (size_t c = 0; c < d->column_count; c++)
        make_variable(m, d, c, constants, s);
    for (size_t b = 0; b < d->block_count; b++) {
        s->strides[b * s->variable_count] = m->blocks[d->blocks[b]].first;
        s->counts[b] = m->blocks[d->blocks[b]].count;
    }
}

void relation_make(const struct spec_block *blocks, size_t count, const struct names *names, enum section_kind section,
                   struct relation *out)
{
    struct maker m = {.blocks = blocks, .names = names, .section = section};
    for (size_t b = 0; b < count; b++)
        place(&m, b);
    *out = (struct relation){xcalloc(m.draft_count + 1, sizeof *out->shapes), m.draft_count};
    for (size_t d = 0; d < m.draft_count; d++) {
        make_shape(&m, &m.drafts[d], &out->shapes[d]);
        for (size_t c = 0; c < m.drafts[d].column_count; c++)
            free(m.drafts[d].columns[c].axes);
        free(m.drafts[d].columns);
    }
    free(m.drafts);
}

static void free_variable(struct variable *v)
{
    for (size_t i = 0; i < v->rows_count; i++) {
        free_all(v->rows[i].cells, v->rows[i].all);
        for (size_t k = 0; k < v->width; k++)
            free(v->rows[i].sorted[k]);
        free(v->rows[i].sorted);
    }
    free_all(v->rows, v->rows_of, v->overall, v->keys);
}

void relation_free(struct relation *r)
{
    for (size_t i = 0; i < r->shape_count; i++) {
        struct section_shape *s = &r->shapes[i];
        for (size_t v = 0; v < s->variable_count; v++)
            free_variable(&s->variables[v]);
        free_all(s->variables, s->blocks, s->strides, s->counts, s->fixed);
    }
    free(r->shapes);
    *r = (struct relation){NULL, 0};
}
