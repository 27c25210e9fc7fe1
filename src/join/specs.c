#include "join/specs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/computed_table.h"
#include "expression/expression.h"
#include "join/evaluator.h"
#include "util/memory.h"

#define FIXED_COLUMNS 4
#define NO_KEY SIZE_MAX

struct specs {
    const struct names *names;
    enum section_kind section;
    struct spec_block *blocks;
    size_t block_count;
    int64_t count;
    size_t *sorted; /* keys of the section by name: the canonical order */
    size_t key_count;
    bool has_inert, has_label;
    size_t *columns; /* key behind each column from FIXED_COLUMNS on */
    size_t column_count;
    /* The spec that was looked at last. */
    int64_t spec;
    const struct spec_block *block;
    const struct value **values; /* one per names.keys; NULL where absent */
    struct buffer text;
    enum twins twins;
    struct hash_set with_twins; /* TWINS_SOME: their content hashes */
    int64_t hashed;             /* the spec whose identity `text` is, with its hash; -1: none */
    struct hash128 hash;
};

/* --- making --- */

static size_t find_key(const struct names *n, enum section_kind section, const char *name)
{
    const struct key *key = names_find(n, section, name);
    return key ? (size_t)(key - n->keys) : NO_KEY;
}

/* Products and sums that do not fit are INT64_MAX. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static struct spec_axis take_axis(const struct specs *s, const struct axis *axis)
{
    struct spec_axis a = {axis, xcalloc(axis->key_count, sizeof *a.keys), 1};
    for (size_t k = 0; k < axis->key_count; k++)
        a.keys[k] = find_key(s->names, s->section, axis->keys[k]);
    return a;
}

static void take_block(struct specs *s, const struct block *block)
{
    s->blocks = array_grow(s->blocks, s->block_count, sizeof *s->blocks);
    struct spec_block *b = &s->blocks[s->block_count++];
    *b = (struct spec_block){s->count, 1, xcalloc(block->axis_count, sizeof *b->axes), block->axis_count};
    for (size_t a = block->axis_count; a-- > 0;) {
        b->axes[a] = take_axis(s, &block->axes[a]);
        b->axes[a].stride = b->count;
        b->count = times(b->count, (int64_t)block->axes[a].value_count);
    }
    s->count = plus(s->count, b->count);
}

static size_t length_of(const struct specs *s, size_t key, const struct value *v, struct buffer *scratch)
{
    const char *name = s->names->keys[key].name;
    buffer_clear(scratch);
    buffer_add_json_string(scratch, name, strlen(name));
    value_add_json(v, scratch);
    return scratch->length + 2;
}

/* The longest value of an axis, as part of a spec. */
static size_t longest_of(const struct specs *s, const struct spec_axis *a, struct buffer *scratch)
{
    size_t longest = 0;
    for (size_t v = 0; v < a->axis->value_count; v++) {
        size_t length = 0;
        for (size_t k = 0; k < a->axis->key_count; k++)
            length += length_of(s, a->keys[k], axis_value(a->axis, v * a->axis->key_count + k), scratch);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Axes are independent: the longest spec has the longest value of each. */
static void check_length(const struct specs *s, const struct block *block, const struct spec_block *b,
                         struct problems *problems)
{
    OWNED_BUFFER scratch = BUFFER_INIT;
    size_t longest = 1;
    for (size_t a = 0; a < b->axis_count; a++)
        longest += longest_of(s, &b->axes[a], &scratch);
    if (longest > SPEC_LONGEST)
        problems_add(problems, block->at, "a spec of %zu KiB, more than %d KiB", longest >> 10, SPEC_LONGEST >> 10);
}

static void insert_sorted(struct specs *s, size_t key)
{
    const struct key *keys = s->names->keys;
    size_t at = s->key_count++;
    for (; at > 0 && strcmp(keys[s->sorted[at - 1]].name, keys[key].name) > 0; at--)
        s->sorted[at] = s->sorted[at - 1];
    s->sorted[at] = key;
}

static void collect_keys(struct specs *s)
{
    const struct names *n = s->names;
    s->sorted = xcalloc(n->key_count + 1, sizeof *s->sorted);
    s->columns = xcalloc(n->key_count + 1, sizeof *s->columns);
    s->column_count = section_columns(n, s->section, s->columns);
    for (size_t k = 0; k < n->key_count; k++) {
        if (n->keys[k].section != s->section)
            continue;
        insert_sorted(s, k);
        s->has_inert |= n->keys[k].is_inert;
        s->has_label |= n->keys[k].is_label;
    }
}

struct specs *specs_create(const struct sweep *sweep, const struct names *names, enum section_kind section,
                           struct problems *problems)
{
    const struct section *from = &sweep->sections[section];
    struct specs *s = xcalloc(1, sizeof *s);
    s->names = names;
    s->section = section;
    s->spec = s->hashed = -1;
    s->values = xcalloc(names->key_count + 1, sizeof *s->values);
    collect_keys(s);
    for (size_t b = 0; b < from->block_count; b++) {
        take_block(s, &from->blocks[b]);
        /* A block that is too long by itself is reported already. */
        if (problems->found == 0)
            check_length(s, &from->blocks[b], &s->blocks[b], problems);
    }
    for (size_t i = 0; i < s->key_count && problems->found == 0; i++)
        if (key_tells_twins(&names->keys[s->sorted[i]]) && specs_differ(s, s->sorted[i]))
            s->twins = specs_find_twins(s, s->sorted[i], &s->with_twins);
    return s;
}

void specs_free(struct specs *s)
{
    if (!s)
        return;
    for (size_t b = 0; b < s->block_count; b++) {
        for (size_t a = 0; a < s->blocks[b].axis_count; a++)
            free(s->blocks[b].axes[a].keys);
        free(s->blocks[b].axes);
    }
    free_all(s->blocks, s->sorted, s->columns, s->values);
    buffer_free(&s->text);
    hash_set_free(&s->with_twins);
    free(s);
}

/* --- reading --- */

int64_t specs_count(const struct specs *s)
{
    return s->count;
}

const struct names *specs_names(const struct specs *s)
{
    return s->names;
}

const struct spec_block *specs_blocks(const struct specs *s, size_t *count)
{
    *count = s->block_count;
    return s->blocks;
}

static const struct spec_block *block_of(const struct specs *s, int64_t spec)
{
    size_t low = 0, high = s->block_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->blocks[middle].first <= spec)
            low = middle;
        else
            high = middle;
    }
    return &s->blocks[low];
}

static void look_at(struct specs *s, int64_t spec)
{
    if (s->spec == spec)
        return;
    const struct spec_block *b =
        s->block && spec >= s->block->first && spec - s->block->first < s->block->count ? s->block : block_of(s, spec);
    assert(b);
    if (s->block != b)
        for (size_t i = 0; i < s->key_count; i++)
            s->values[s->sorted[i]] = NULL;
    int64_t left = spec - b->first;
    for (size_t a = 0; a < b->axis_count; a++) {
        const struct axis *axis = b->axes[a].axis;
        const size_t row = (size_t)(left / b->axes[a].stride) * axis->key_count;
        left %= b->axes[a].stride;
        for (size_t k = 0; k < axis->key_count; k++)
            s->values[b->axes[a].keys[k]] = axis_value(axis, row + k);
    }
    s->block = b;
    s->spec = spec;
}

const struct value *specs_value(struct specs *s, int64_t spec, size_t key)
{
    look_at(s, spec);
    return s->values[key];
}

struct datum specs_datum_of(const struct value *v)
{
    if (!v || v->kind == VALUE_NULL)
        return (struct datum){DATUM_NULL, {0}};
    if (v->kind == VALUE_BOOL || v->kind == VALUE_INT)
        return (struct datum){DATUM_INT, {.integer = v->integer}};
    /* SQLite has no NaN. */
    if (v->kind == VALUE_FLOAT)
        return isnan(v->real) ? (struct datum){DATUM_TEXT, {.text = "NaN"}}
                              : (struct datum){DATUM_REAL, {.real = v->real}};
    return (struct datum){DATUM_TEXT, {.text = v->text}};
}

/* The keys that a JSON text has. */
enum json_keys { JSON_ALL, JSON_IDENTITY, JSON_CONTENT };

static bool has_twin(struct specs *s, int64_t spec)
{
    if (s->twins != TWINS_SOME)
        return s->twins == TWINS_ALL;
    const struct hash128 content = specs_content_hash(s, spec);
    return hash_set_has(&s->with_twins, &content);
}

static void add_json(struct specs *s, int64_t spec, enum json_keys which, const bool *skips, struct buffer *out)
{
    char before = '{';
    const bool is_named = which == JSON_IDENTITY && has_twin(s, spec);
    look_at(s, spec);
    for (size_t i = 0; i < s->key_count; i++) {
        const struct key *key = &s->names->keys[s->sorted[i]];
        const struct value *v = s->values[s->sorted[i]];
        const bool is_left_out = key->is_label && !(is_named && key_tells_twins(key));
        if (!v || (which != JSON_ALL && (is_left_out || (skips && skips[s->sorted[i]]))))
            continue;
        buffer_add_char(out, before);
        buffer_add_json_string(out, key->name, strlen(key->name));
        buffer_add_char(out, ':');
        value_add_json(v, out);
        before = ',';
    }
    buffer_add_text(out, before == '{' ? "{}" : "}");
}

void specs_add_json(struct specs *s, int64_t spec, bool identity, const bool *skips, struct buffer *out)
{
    if (s->hashed == spec && !skips && (identity || !s->has_label))
        buffer_add(out, s->text.data, s->text.length);
    else
        add_json(s, spec, identity ? JSON_IDENTITY : JSON_ALL, skips, out);
}

struct hash128 specs_content_hash(struct specs *s, int64_t spec)
{
    OWNED_BUFFER text = BUFFER_INIT;
    add_json(s, spec, JSON_CONTENT, NULL, &text);
    const struct hash128 hash = hash_bytes(text.data, text.length);
    return hash;
}

bool specs_have_twins(const struct specs *s)
{
    return s->twins != TWINS_NONE;
}

struct hash128 specs_hash(struct specs *s, int64_t spec)
{
    if (s->hashed != spec) {
        buffer_clear(&s->text);
        add_json(s, spec, JSON_IDENTITY, NULL, &s->text);
        s->hash = hash_bytes(s->text.data, s->text.length);
        s->hashed = spec;
    }
    return s->hash;
}

static const struct value *value_in(const struct spec_block *b, size_t key, size_t row, size_t *rows)
{
    for (size_t a = 0; a < b->axis_count; a++)
        for (size_t k = 0; k < b->axes[a].axis->key_count; k++)
            if (b->axes[a].keys[k] == key) {
                *rows = b->axes[a].axis->value_count;
                return axis_value(b->axes[a].axis, row * b->axes[a].axis->key_count + k);
            }
    *rows = 1;
    return NULL;
}

static bool same(const struct value *a, const struct value *b)
{
    const struct datum x = specs_datum_of(a), y = specs_datum_of(b);
    if (x.kind == DATUM_TEXT || y.kind == DATUM_TEXT)
        return x.kind == y.kind && strcmp(x.text, y.text) == 0;
    if (x.kind == DATUM_NULL || y.kind == DATUM_NULL)
        return x.kind == y.kind;
    if (x.kind == y.kind)
        return x.kind == DATUM_INT ? x.integer == y.integer : x.real == y.real;
    return (x.kind == DATUM_INT ? (double)x.integer : x.real) == (y.kind == DATUM_INT ? (double)y.integer : y.real);
}

bool specs_differ(const struct specs *s, size_t key)
{
    size_t rows;
    const struct value *first = s->block_count ? value_in(&s->blocks[0], key, 0, &rows) : NULL;
    for (size_t b = 0; b < s->block_count; b++) {
        rows = 1;
        for (size_t row = 0; row < rows; row++)
            if (!same(first, value_in(&s->blocks[b], key, row, &rows)))
                return true;
    }
    return false;
}

/* --- as a table --- */

static int64_t count_rows(void *context)
{
    return specs_count(context);
}

static int read_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    struct specs *s = context;
    (void)e;
    if (column >= FIXED_COLUMNS) {
        const struct datum cell = specs_datum_of(specs_value(s, row, s->columns[column - FIXED_COLUMNS]));
        *out = datum_sql(&cell);
    } else if (column == 1) {
        specs_hash(s, row);
        *out = sql_hash(&s->hash);
    } else if (column == 3 || s->has_inert) {
        s->hashed = -1;
        buffer_clear(&s->text);
        specs_add_json(s, row, column == 2, NULL, &s->text);
        *out = sql_text(s->text.data);
    }
    return 0;
}

int specs_add_table(struct specs *s, struct db *db, struct error *e)
{
    OWNED_BUFFER columns = BUFFER_INIT;
    const struct table_source source = {count_rows, read_cell, s};
    buffer_add_text(&columns, "\"#id\" INTEGER, \"#hash\" BLOB, \"#core\" TEXT, \"#json\" TEXT");
    for (size_t i = 0; i < s->column_count; i++) {
        buffer_add_text(&columns, ", ");
        expression_add_name(&columns, s->names->keys[s->columns[i]].name);
    }
    return db_add_table(db, section_names[s->section], buffer_text(&columns), &source, e);
}
