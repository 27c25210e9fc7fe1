#include "join/specs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/computed_table.h"
#include "expression/expression.h"
#include "join/evaluator.h"
#include "util/hash.h"
#include "util/memory.h"

#define FIXED_COLUMNS 4
#define NO_KEY SIZE_MAX

/* The specs that have twins; none where there are very many and it cannot be found out. */
enum twins { TWINS_NONE, TWINS_SOME, TWINS_ALL };

struct specs {
    struct arena arena;
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

/* Returns whether the key is the one that tells twins apart. */
static bool key_tells_twins(const struct key *key)
{
    return key->is_label && strcmp(key->name, "name") == 0;
}

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

static struct spec_axis take_axis(struct specs *s, const struct axis *axis)
{
    struct spec_axis a = {axis, arena_keep(&s->arena, xcalloc(axis->key_count, sizeof *a.keys)), 1};
    for (size_t k = 0; k < axis->key_count; k++)
        a.keys[k] = find_key(s->names, s->section, axis->keys[k]);
    return a;
}

static void take_block(struct specs *s, const struct block *block)
{
    struct spec_block *b = arena_add(&s->arena, s->blocks, s->block_count);
    *b = (struct spec_block){s->count, 1, arena_keep(&s->arena, xcalloc(block->axis_count, sizeof *b->axes)),
                             block->axis_count};
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
    s->sorted = arena_keep(&s->arena, xcalloc(n->key_count + 1, sizeof *s->sorted));
    s->columns = arena_keep(&s->arena, xcalloc(n->key_count + 1, sizeof *s->columns));
    s->column_count = section_columns(n, s->section, s->columns);
    for (size_t k = 0; k < n->key_count; k++) {
        if (n->keys[k].section != s->section)
            continue;
        insert_sorted(s, k);
        s->has_inert |= n->keys[k].is_inert;
        s->has_label |= n->keys[k].is_label;
    }
}

void specs_free(struct specs *s)
{
    if (!s)
        return;
    buffer_free(&s->text);
    hash_set_free(&s->with_twins);
    arena_free(&s->arena);
    free(s);
}

/* --- reading --- */

int64_t specs_count(const struct specs *s)
{
    return s->count;
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

/* Of the JSON without any label. */
static struct hash128 content_hash(struct specs *s, int64_t spec);

static bool has_twin(struct specs *s, int64_t spec)
{
    if (s->twins != TWINS_SOME)
        return s->twins == TWINS_ALL;
    const struct hash128 content = content_hash(s, spec);
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

static struct hash128 content_hash(struct specs *s, int64_t spec)
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

/* --- distinct ones ---
 *
 * The distinct specs of a section as disjoint blocks: the first of two that overlap has what both have, and what the
 * other has besides is cut into blocks of its own. */

/* More blocks are not compared, nor axes made one of which the product has more rows. */
#define BLOCKS_MOST 64
#define ROWS_MOST 4096

struct block_list {
    struct spec_block *items;
    size_t count;
};

struct cutting {
    const struct names *names;
    size_t *group_of; /* by key: keys of one group move together in some block of the section */
    struct buffer scratch;
    struct block_list done;
    bool for_twins;     /* labels are names alone, and none counts; else a name counts as the rest of a spec does */
    bool failed;        /* it would take too long, or equal specs have different labels */
    bool labels_differ; /* the latter */
};

/* --- blocks of the same groups --- */

static void join_groups(struct cutting *c, size_t a, size_t b)
{
    size_t from = c->group_of[a], to = c->group_of[b];
    for (size_t k = 0; k < c->names->key_count; k++)
        if (c->group_of[k] == from)
            c->group_of[k] = to;
}

static struct axis *axis_make(size_t key_count, size_t value_count)
{
    struct axis *a = xcalloc(1, sizeof *a);
    a->key_count = key_count;
    a->value_count = value_count;
    a->values = xcalloc(key_count * value_count + 1, sizeof *a->values);
    return a;
}

static void free_axis(struct spec_axis *a)
{
    free_all(a->axis->values, (struct axis *)a->axis, a->keys);
}

/* Copies the row; what the values hold is borrowed. */
static void copy_row(struct value *to, const struct axis *from, size_t row)
{
    for (size_t k = 0; k < from->key_count; k++)
        to[k] = *axis_value(from, row * from->key_count + k);
}

static struct spec_axis copy_axis(const struct spec_axis *from, const bool *takes, size_t count)
{
    const size_t width = from->axis->key_count;
    struct axis *axis = axis_make(width, 0);
    struct spec_axis copy = {axis, xcalloc(width, sizeof *copy.keys), 1};
    axis->values = xreallocarray(axis->values, count * width + 1, sizeof *axis->values);
    memcpy(copy.keys, from->keys, width * sizeof *copy.keys);
    for (size_t row = 0; row < from->axis->value_count; row++)
        if (!takes || takes[row])
            copy_row(axis->values + width * axis->value_count++, from->axis, row);
    return copy;
}

/* The product of both, the second fastest. */
static struct spec_axis multiply(const struct spec_axis *x, const struct spec_axis *y)
{
    const struct axis *a = x->axis, *b = y->axis;
    struct axis *axis = axis_make(a->key_count + b->key_count, a->value_count * b->value_count);
    struct spec_axis product = {axis, xcalloc(axis->key_count, sizeof *product.keys), 1};
    memcpy(product.keys, x->keys, a->key_count * sizeof *product.keys);
    memcpy(product.keys + a->key_count, y->keys, b->key_count * sizeof *product.keys);
    for (size_t row = 0; row < axis->value_count; row++) {
        struct value *values = axis->values + row * axis->key_count;
        copy_row(values, a, row / b->value_count);
        copy_row(values + a->key_count, b, row % b->value_count);
    }
    return product;
}

static struct spec_axis *axis_of_group(const struct cutting *c, const struct spec_block *b, size_t group)
{
    for (size_t a = 0; a < b->axis_count; a++)
        if (c->group_of[b->axes[a].keys[0]] == group)
            return &b->axes[a];
    return NULL;
}

static void add_to_box(struct cutting *c, struct spec_block *box, const struct spec_axis *a)
{
    struct spec_axis *there = axis_of_group(c, box, c->group_of[a->keys[0]]);
    if (!there) {
        box->axes[box->axis_count++] = copy_axis(a, NULL, a->axis->value_count);
        return;
    }
    c->failed |= there->axis->value_count * a->axis->value_count > ROWS_MOST;
    if (c->failed)
        return;
    struct spec_axis product = multiply(there, a);
    free_axis(there);
    *there = product;
}

/* --- rows --- */

struct row_hashes {
    struct hash128 identity, all; /* without labels; with them */
};

static bool is_label(const struct cutting *c, size_t key)
{
    const struct key *k = &c->names->keys[key];
    return k->is_label && (c->for_twins || !key_tells_twins(k));
}

static void note_labels_differ(struct cutting *c, bool differ)
{
    c->labels_differ |= differ;
    c->failed |= differ;
}

static void mix(struct hash128 *into, const struct hash128 *one)
{
    for (size_t i = 0; i < sizeof into->bytes; i++)
        into->bytes[i] ^= one->bytes[i];
}

/* Whatever the order of the keys is. */
static struct row_hashes hash_row(struct cutting *c, const struct spec_axis *a, size_t row)
{
    struct row_hashes hashes = {{{0}}, {{0}}};
    for (size_t k = 0; k < a->axis->key_count; k++) {
        buffer_clear(&c->scratch);
        buffer_add(&c->scratch, &a->keys[k], sizeof a->keys[k]);
        value_add_json(axis_value(a->axis, row * a->axis->key_count + k), &c->scratch);
        const struct hash128 hash = hash_bytes(c->scratch.data, c->scratch.length);
        if (!c->for_twins || !is_label(c, a->keys[k]) || key_tells_twins(&c->names->keys[a->keys[k]]))
            mix(&hashes.all, &hash);
        if (!is_label(c, a->keys[k]))
            mix(&hashes.identity, &hash);
    }
    return hashes;
}

/* Each row once. */
static void drop_repeats(struct cutting *c, struct spec_axis *a)
{
    struct hash_set identities = HASH_SET_INIT, all = HASH_SET_INIT;
    OWNED bool *is_new = xcalloc(a->axis->value_count, sizeof *is_new);
    size_t count = 0;
    for (size_t row = 0; row < a->axis->value_count; row++) {
        const struct row_hashes hashes = hash_row(c, a, row);
        is_new[row] = hash_set_add(&identities, &hashes.identity);
        note_labels_differ(c, hash_set_add(&all, &hashes.all) && !is_new[row]);
        count += is_new[row];
    }
    if (count < a->axis->value_count) {
        struct spec_axis once = copy_axis(a, is_new, count);
        free_axis(a);
        *a = once;
    }
    hash_set_free(&identities);
    hash_set_free(&all);
}

/* --- cutting --- */

static void free_block(struct spec_block *b)
{
    for (size_t a = 0; a < b->axis_count; a++)
        free_axis(&b->axes[a]);
    free(b->axes);
}

static void push(struct block_list *l, struct spec_block b)
{
    b.count = 1;
    for (size_t a = 0; a < b.axis_count; a++)
        b.count *= (int64_t)b.axes[a].axis->value_count;
    *array_add(l->items, l->count) = b;
}

static struct spec_block make_box(struct cutting *c, const struct spec_block *b)
{
    struct spec_block box = {.axes = xcalloc(b->axis_count + 1, sizeof *box.axes)};
    for (size_t a = 0; a < b->axis_count && !c->failed; a++)
        add_to_box(c, &box, &b->axes[a]);
    for (size_t a = 0; a < box.axis_count && !c->failed; a++)
        drop_repeats(c, &box.axes[a]);
    return box;
}

static bool is_of_labels(const struct cutting *c, const struct spec_axis *a)
{
    for (size_t k = 0; k < a->axis->key_count; k++)
        if (!is_label(c, a->keys[k]))
            return false;
    return true;
}

/* Returns whether blocks may differ by an axis that only one of the two has. */
static bool may_differ(const struct cutting *c, const struct spec_axis *a)
{
    bool differs = !c->for_twins;
    for (size_t k = 0; k < a->axis->key_count; k++)
        differs |= key_tells_twins(&c->names->keys[a->keys[k]]);
    return differs;
}

/* Finds the rows of the axis that the other has, too; returns how many. `*differs` where one has other labels there. */
static size_t find_common(struct cutting *c, const struct spec_axis *a, const struct spec_axis *other, bool *is_common,
                          bool *differs)
{
    struct hash_set identities = HASH_SET_INIT, all = HASH_SET_INIT;
    size_t count = 0;
    for (size_t row = 0; row < other->axis->value_count; row++) {
        const struct row_hashes hashes = hash_row(c, other, row);
        hash_set_add(&identities, &hashes.identity);
        hash_set_add(&all, &hashes.all);
    }
    for (size_t row = 0; row < a->axis->value_count; row++) {
        const struct row_hashes hashes = hash_row(c, a, row);
        is_common[row] = hash_set_has(&identities, &hashes.identity);
        *differs |= is_common[row] && !hash_set_has(&all, &hashes.all);
        count += is_common[row];
    }
    hash_set_free(&identities);
    hash_set_free(&all);
    return count;
}

/* Returns whether the blocks have a spec in common; `common` are the rows of each axis of `b` that are in it, where the
 * other has such an axis. */
static bool overlap(struct cutting *c, const struct spec_block *b, const struct spec_block *other, bool **common)
{
    bool overlaps = true, differs = false;
    for (size_t a = 0; a < other->axis_count && overlaps; a++)
        if (!axis_of_group(c, b, c->group_of[other->axes[a].keys[0]])) {
            overlaps = is_of_labels(c, &other->axes[a]);
            differs |= may_differ(c, &other->axes[a]);
        }
    for (size_t a = 0; a < b->axis_count && overlaps; a++) {
        const struct spec_axis *same = axis_of_group(c, other, c->group_of[b->axes[a].keys[0]]);
        common[a] = xcalloc(b->axes[a].axis->value_count, sizeof *common[a]);
        overlaps = same ? find_common(c, &b->axes[a], same, common[a], &differs) > 0 : is_of_labels(c, &b->axes[a]);
        differs |= !same && may_differ(c, &b->axes[a]);
    }
    note_labels_differ(c, overlaps && differs);
    return overlaps;
}

static struct spec_block copy_block(const struct spec_block *b)
{
    struct spec_block copy = {.axes = xcalloc(b->axis_count + 1, sizeof *copy.axes), .axis_count = b->axis_count};
    for (size_t a = 0; a < b->axis_count; a++)
        copy.axes[a] = copy_axis(&b->axes[a], NULL, b->axes[a].axis->value_count);
    return copy;
}

static void choose_rows(struct spec_axis *a, const bool *rows, bool are_taken)
{
    OWNED bool *takes = xcalloc(a->axis->value_count, sizeof *takes);
    size_t count = 0;
    for (size_t row = 0; row < a->axis->value_count; row++)
        count += takes[row] = rows[row] == are_taken;
    struct spec_axis chosen = copy_axis(a, takes, count);
    free_axis(a);
    *a = chosen;
}

/* Adds what is left of `b`, which is taken over, without what the other has: for each axis what lies outside of the
 * other's, the axes before it inside. */
static void cut(struct cutting *c, struct spec_block b, const struct spec_block *other, struct block_list *out)
{
    bool **common = xcalloc(b.axis_count + 1, sizeof *common);
    bool overlaps = overlap(c, &b, other, common);
    if (!overlaps)
        push(out, copy_block(&b));
    for (size_t a = 0; a < b.axis_count && overlaps && !c->failed; a++) {
        struct spec_block outside = copy_block(&b);
        choose_rows(&outside.axes[a], common[a], false);
        if (outside.axes[a].axis->value_count > 0)
            push(out, outside);
        else
            free_block(&outside);
        choose_rows(&b.axes[a], common[a], true);
    }
    for (size_t a = 0; a < b.axis_count; a++)
        free(common[a]);
    free(common);
    free_block(&b);
}

/* Each piece of a block is cut by all that stand before it. */
static void add_block(struct cutting *c, const struct spec_block *block)
{
    const size_t before = c->done.count;
    struct block_list pieces = {NULL, 0};
    push(&pieces, make_box(c, block));
    for (size_t other = 0; other < before && !c->failed; other++) {
        struct block_list left = {NULL, 0};
        for (size_t p = 0; p < pieces.count; p++)
            cut(c, pieces.items[p], &c->done.items[other], &left);
        free(pieces.items);
        pieces = left;
        c->failed |= c->done.count + pieces.count > BLOCKS_MOST;
    }
    for (size_t p = 0; p < pieces.count; p++)
        push(&c->done, pieces.items[p]);
    free(pieces.items);
}

static void find_groups(struct cutting *c, const struct spec_block *blocks, size_t count)
{
    c->group_of = xcalloc(c->names->key_count + 1, sizeof *c->group_of);
    for (size_t k = 0; k < c->names->key_count; k++)
        c->group_of[k] = k;
    for (size_t b = 0; b < count; b++)
        for (size_t a = 0; a < blocks[b].axis_count; a++)
            for (size_t k = 1; k < blocks[b].axes[a].axis->key_count; k++)
                join_groups(c, blocks[b].axes[a].keys[0], blocks[b].axes[a].keys[k]);
}

void spec_blocks_free(struct spec_block *blocks, size_t count)
{
    for (size_t b = 0; b < count; b++)
        free_block(&blocks[b]);
    free(blocks);
}

static void cut_all(const struct specs *s, struct cutting *c)
{
    size_t count;
    const struct spec_block *blocks = specs_blocks(s, &count);
    c->names = s->names;
    c->failed = count > BLOCKS_MOST;
    find_groups(c, blocks, count);
    for (size_t b = 0; b < count && !c->failed; b++)
        add_block(c, &blocks[b]);
    free(c->group_of);
    buffer_free(&c->scratch);
}

bool specs_distinct_blocks(const struct specs *s, struct spec_block **out, size_t *out_count)
{
    struct cutting c = {.for_twins = false};
    cut_all(s, &c);
    if (c.failed) {
        spec_blocks_free(c.done.items, c.done.count);
        return false;
    }
    *out = c.done.items;
    *out_count = c.done.count;
    return true;
}

/* --- what can be told --- */

/* So many specs are looked at one by one. */
#define SPECS_MOST 4096
#define SPECS_MOST_FOR_TWINS 262144 /* where nothing else tells: a quarter of a second */

static bool differ_one_by_one(struct specs *s)
{
    struct hash_set seen = HASH_SET_INIT;
    bool differ = true;
    for (int64_t i = 0; i < specs_count(s) && differ; i++) {
        const struct hash128 hash = specs_hash(s, i);
        differ = hash_set_add(&seen, &hash);
    }
    hash_set_free(&seen);
    return differ;
}

bool specs_are_distinct(struct specs *s)
{
    struct spec_block *blocks;
    size_t count;
    int64_t sum = 0;
    if (specs_count(s) <= SPECS_MOST)
        return differ_one_by_one(s);
    if (!specs_distinct_blocks(s, &blocks, &count))
        return false;
    for (size_t b = 0; b < count; b++)
        sum += blocks[b].count;
    spec_blocks_free(blocks, count);
    return sum == specs_count(s);
}

static enum twins find_one_by_one(struct specs *s, size_t name, struct hash_set *some)
{
    struct hash_set contents = HASH_SET_INIT, all = HASH_SET_INIT;
    enum twins found = TWINS_NONE;
    for (int64_t i = 0; i < specs_count(s); i++) {
        const struct hash128 content = content_hash(s, i);
        const struct value *v = specs_value(s, i, name);
        struct buffer text = BUFFER_INIT;
        buffer_add(&text, content.bytes, sizeof content.bytes);
        if (v)
            value_add_json(v, &text);
        const struct hash128 named = hash_bytes(text.data, text.length);
        buffer_free(&text);
        const bool is_new = hash_set_add(&contents, &content), is_named_new = hash_set_add(&all, &named);
        if (is_new || !is_named_new)
            continue;
        hash_set_add(some, &content);
        found = TWINS_SOME;
    }
    hash_set_free(&contents);
    hash_set_free(&all);
    return found;
}

/* `name`: of names.keys. `some`: the content hashes of those that have twins, if not all have. */
static enum twins find_twins(struct specs *s, size_t name, struct hash_set *some)
{
    struct cutting c = {.for_twins = true};
    if (specs_count(s) <= SPECS_MOST)
        return find_one_by_one(s, name, some);
    cut_all(s, &c);
    spec_blocks_free(c.done.items, c.done.count);
    if (c.failed && !c.labels_differ && specs_count(s) <= SPECS_MOST_FOR_TWINS)
        return find_one_by_one(s, name, some);
    return c.labels_differ ? TWINS_ALL : TWINS_NONE;
}

struct specs *specs_create(const struct sweep *sweep, const struct names *names, enum section_kind section,
                           struct problems *problems)
{
    const struct section *from = &sweep->sections[section];
    struct specs *s = xcalloc(1, sizeof *s);
    s->names = names;
    s->section = section;
    s->spec = s->hashed = -1;
    s->values = arena_keep(&s->arena, xcalloc(names->key_count + 1, sizeof *s->values));
    collect_keys(s);
    for (size_t b = 0; b < from->block_count; b++) {
        take_block(s, &from->blocks[b]);
        /* A block that is too long by itself is reported already. */
        if (problems->found == 0)
            check_length(s, &from->blocks[b], &s->blocks[b], problems);
    }
    for (size_t i = 0; i < s->key_count && problems->found == 0; i++)
        if (key_tells_twins(&names->keys[s->sorted[i]]) && specs_differ(s, s->sorted[i]))
            s->twins = find_twins(s, s->sorted[i], &s->with_twins);
    return s;
}
