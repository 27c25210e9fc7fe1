#include "join/relations.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* Rows that are sorted: of fewer all are looked at. */
#define ROWS_SORTED_LEAST 9
#define ROWS_SORTED_MOST (1 << 20)

struct maker {
    struct arena *arena;
    const struct spec_block *blocks;
    size_t block_count;
    size_t *shape_of; /* by block */
    const struct names *names;
    enum section_kind section;
};

/* --- variables --- */

/* Makes `all` unknown where the row has something else. */
static void cover(struct datum *all, const struct datum *row, size_t width)
{
    for (size_t k = 0; k < width; k++)
        if (!datum_equal(&all[k], &row[k]))
            all[k].kind = DATUM_UNKNOWN;
}

struct sorting {
    const struct variable *variable;
    size_t column;
};

static int by_value(const void *a, const void *b, void *context)
{
    const struct sorting *s = context;
    const uint32_t *x = a, *y = b;
    int64_t left = s->variable->cells[*x * s->variable->width + s->column].integer;
    int64_t right = s->variable->cells[*y * s->variable->width + s->column].integer;
    return left != right ? (left > right) - (left < right) : (*x > *y) - (*x < *y);
}

static uint32_t *sort_column(struct arena *p, const struct variable *v, size_t column)
{
    struct sorting s = {v, column};
    bool are_integers = v->count >= ROWS_SORTED_LEAST && v->count <= ROWS_SORTED_MOST, ascend = true;
    for (size_t row = 0; row < v->count && are_integers; row++)
        are_integers = v->cells[row * v->width + column].kind == DATUM_INT;
    if (!are_integers)
        return NULL;
    uint32_t *rows = arena_keep(p, xcalloc(v->count, sizeof *rows));
    for (uint32_t row = 0; row < v->count; row++) {
        rows[row] = row;
        ascend = ascend && (row == 0 || by_value(&rows[row - 1], &rows[row], &s) < 0);
    }
    if (!ascend)
        qsort_r(rows, v->count, sizeof *rows, by_value, &s);
    return rows;
}

static void find_common(struct arena *p, struct variable *v)
{
    v->all = arena_keep(p, xcalloc(v->width + 1, sizeof *v->all));
    v->sorted = arena_keep(p, xcalloc(v->width + 1, sizeof *v->sorted));
    memcpy(v->all, v->cells, v->width * sizeof *v->all);
    for (size_t row = 1; row < v->count; row++)
        cover(v->all, v->cells + row * v->width, v->width);
}

/* What follows from keys and cells. */
static void finish_variable(struct arena *p, struct variable *v)
{
    OWNED_BUFFER b = BUFFER_INIT;
    find_common(p, v);
    for (size_t k = 0; k < v->width; k++)
        v->sorted[k] = sort_column(p, v, k);
    buffer_add(&b, &v->count, sizeof v->count); /* which no cell tells of blocks that are alike */
    buffer_add(&b, v->keys, v->width * sizeof *v->keys);
    for (size_t i = 0; i < v->count * v->width; i++)
        datum_add(&v->cells[i], &b);
    v->hash = hash_bytes(b.data, b.length);
}

static struct variable variable_of(struct arena *p, const struct spec_axis *a)
{
    const size_t width = a->axis->key_count, count = a->axis->value_count;
    struct variable v = {.keys = arena_keep(p, xcalloc(width, sizeof *v.keys)),
                         .width = width,
                         .count = count,
                         .cells = arena_keep(p, xcalloc(count * width, sizeof *v.cells))};
    memcpy(v.keys, a->keys, width * sizeof *v.keys);
    for (size_t i = 0; i < count * width; i++)
        v.cells[i] = specs_datum_of(axis_value(a->axis, i));
    finish_variable(p, &v);
    return v;
}

/* --- shapes --- */

static bool varies(const struct spec_axis *a)
{
    return a->axis->value_count > 1;
}

/* Blocks with one hash are of one shape. */
static struct hash128 hash_of(const struct spec_block *b)
{
    OWNED_BUFFER all = BUFFER_INIT;
    for (size_t a = 0; a < b->axis_count; a++) {
        const struct axis *axis = b->axes[a].axis;
        if (!varies(&b->axes[a]))
            continue;
        buffer_add(&all, &axis->key_count, sizeof axis->key_count);
        buffer_add(&all, b->axes[a].keys, axis->key_count * sizeof *b->axes[a].keys);
        buffer_add(&all, &axis->value_count, sizeof axis->value_count);
        for (size_t i = 0; i < axis->value_count * axis->key_count; i++) {
            const struct datum cell = specs_datum_of(axis_value(axis, i));
            datum_add(&cell, &all);
        }
    }
    return hash_bytes(all.data, all.length);
}

/* The cells of a block, by key: where its axes have several, the first. */
static void read_constants(const struct spec_block *b, struct datum *cells)
{
    for (size_t a = 0; a < b->axis_count; a++)
        for (size_t k = 0; k < b->axes[a].axis->key_count; k++)
            cells[b->axes[a].keys[k]] = specs_datum_of(axis_value(b->axes[a].axis, k));
}

static bool has_key(const struct section_shape *s, size_t key)
{
    for (size_t v = 1; v < s->variable_count; v++)
        for (size_t k = 0; k < s->variables[v].width; k++)
            if (s->variables[v].keys[k] == key)
                return true;
    return false;
}

/* The variable that says which block: its row is what is constant in it. What is equal in all is fixed. */
static void make_block_variable(const struct maker *m, const struct datum *constants, size_t count,
                                struct section_shape *s)
{
    const size_t key_count = m->names->key_count;
    struct variable *v = &s->variables[0];
    s->fixed = arena_keep(m->arena, xcalloc(key_count + 1, sizeof *s->fixed));
    v->count = count;
    for (size_t k = 0; k < key_count; k++) {
        s->fixed[k].kind = DATUM_UNKNOWN;
        if (m->names->keys[k].section != m->section || has_key(s, k))
            continue;
        s->fixed[k] = constants[k];
        for (size_t b = 1; b < count; b++)
            cover(&s->fixed[k], &constants[b * key_count + k], 1);
        if (s->fixed[k].kind == DATUM_UNKNOWN)
            *arena_add(m->arena, v->keys, v->width) = k;
    }
    v->cells = arena_keep(m->arena, xcalloc(count * v->width + 1, sizeof *v->cells));
    for (size_t i = 0; i < count * v->width; i++)
        v->cells[i] = constants[i / v->width * key_count + v->keys[i % v->width]];
    finish_variable(m->arena, v);
}

static void make_variables(struct arena *p, const struct spec_block *b, struct section_shape *s)
{
    s->variables = arena_keep(p, xcalloc(b->axis_count + 1, sizeof *s->variables));
    s->strides = arena_keep(p, xcalloc(b->axis_count + 1, sizeof *s->strides));
    s->variable_count = 1;
    s->count = b->count;
    for (size_t a = 0; a < b->axis_count; a++)
        if (varies(&b->axes[a])) {
            s->strides[s->variable_count] = b->axes[a].stride;
            s->variables[s->variable_count++] = variable_of(p, &b->axes[a]);
        }
}

static void make_shape(const struct maker *m, size_t number, struct section_shape *s)
{
    const size_t key_count = m->names->key_count;
    OWNED struct datum *constants = xcalloc(m->block_count * key_count + 1, sizeof *constants);
    size_t count = 0;
    s->firsts = arena_keep(m->arena, xcalloc(m->block_count, sizeof *s->firsts));
    for (size_t b = 0; b < m->block_count; b++) {
        if (m->shape_of[b] != number)
            continue;
        if (count == 0)
            make_variables(m->arena, &m->blocks[b], s);
        read_constants(&m->blocks[b], constants + count * key_count);
        s->firsts[count++] = m->blocks[b].first;
    }
    make_block_variable(m, constants, count, s);
}

void relation_make(struct arena *arena, const struct spec_block *blocks, size_t count, const struct names *names,
                   enum section_kind section, struct relation *out)
{
    struct hash_index known = HASH_INDEX_INIT;
    OWNED size_t *shape_of = xcalloc(count + 1, sizeof *shape_of);
    const struct maker m = {arena, blocks, count, shape_of, names, section};
    bool is_new;
    for (size_t b = 0; b < count; b++) {
        const struct hash128 hash = hash_of(&blocks[b]);
        shape_of[b] = hash_index_add(&known, &hash, &is_new);
    }
    *out = (struct relation){arena_keep(arena, xcalloc(known.count + 1, sizeof *out->shapes)), known.count};
    for (size_t n = 0; n < known.count; n++)
        make_shape(&m, n, &out->shapes[n]);
    hash_index_free(&known);
}

void relation_list(struct arena *arena, const struct names *names, const struct variable *rows, const int64_t *numbers,
                   struct relation *out)
{
    struct section_shape *s = arena_keep(arena, xcalloc(1, sizeof *s));
    s->variables = arena_keep(arena, xcalloc(1, sizeof *rows));
    s->strides = arena_keep(arena, xcalloc(1, sizeof *s->strides));
    s->variable_count = s->count = 1;
    s->firsts = arena_keep(arena, xcalloc(rows->count + 1, sizeof *s->firsts));
    s->fixed = arena_keep(arena, xcalloc(names->key_count + 1, sizeof *s->fixed));
    *s->variables = *rows;
    find_common(arena, s->variables);
    memcpy(s->firsts, numbers, rows->count * sizeof *s->firsts);
    for (size_t k = 0; k < names->key_count; k++)
        s->fixed[k].kind = DATUM_UNKNOWN;
    *out = (struct relation){s, 1};
}
