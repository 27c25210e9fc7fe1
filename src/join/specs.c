#include "join/specs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "expression/expression.h"
#include "join/evaluator.h"
#include "util/hash.h"
#include "util/memory.h"

#define FIXED_COLUMNS 2

/* The specs that have twins; none where there are very many and it cannot be found out. */
enum twins { TWINS_NONE, TWINS_SOME, TWINS_ALL };

#define HASHES_KEPT 1024 /* a power of two */

struct kept_hash {
    int64_t spec; /* plus 1; 0: none */
    struct hash128 hash;
};

struct specs {
    struct arena arena;
    const struct names *names;
    enum section_kind section;
    struct spec_block *blocks;
    size_t block_count;
    int64_t count;
    size_t *sorted; /* keys of the section by name: the canonical order */
    size_t key_count;
    bool has_label;
    size_t *columns; /* key behind each column from FIXED_COLUMNS on */
    /* The spec that was looked at last. */
    int64_t spec;
    const struct spec_block *block;
    const struct value **values; /* one per names.keys; NULL where absent */
    struct buffer text;
    enum twins twins;
    struct hash_index with_twins; /* TWINS_SOME: their content hashes */
    int64_t hashed;               /* the spec whose identity `text` is; -1: none */
    struct kept_hash kept[HASHES_KEPT];
};

/* --- making --- */

/* Returns whether the key is the one that tells twins apart. */
static bool key_tells_twins(const struct key *key)
{
    return key->is_label && strcmp(key->name, "name") == 0;
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
        a.keys[k] = (size_t)(names_find(s->names, s->section, axis->keys[k]) - s->names->keys);
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

/* The longest value of an axis, as part of a spec. */
static size_t longest_of(const struct specs *s, const struct spec_axis *a)
{
    OWNED_BUFFER scratch = BUFFER_INIT;
    size_t longest = 0;
    for (size_t v = 0; v < a->axis->value_count; v++) {
        buffer_clear(&scratch);
        for (size_t k = 0; k < a->axis->key_count; k++) {
            const char *name = s->names->keys[a->keys[k]].name;
            buffer_add_json_string(&scratch, name, strlen(name));
            buffer_add_text(&scratch, ":,");
            value_add_json(axis_value(a->axis, v * a->axis->key_count + k), &scratch);
        }
        longest = scratch.length > longest ? scratch.length : longest;
    }
    return longest;
}

/* Axes are independent: the longest spec has the longest value of each. */
static void check_length(const struct specs *s, const struct block *block, const struct spec_block *b,
                         struct problems *problems)
{
    size_t longest = 1;
    for (size_t a = 0; a < b->axis_count; a++)
        longest += longest_of(s, &b->axes[a]);
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
    for (size_t k = 0; k < n->key_count; k++) {
        if (n->keys[k].section != s->section)
            continue;
        insert_sorted(s, k);
        s->has_label |= n->keys[k].is_label;
    }
}

void specs_free(struct specs *s)
{
    if (!s)
        return;
    buffer_free(&s->text);
    hash_index_free(&s->with_twins);
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
    const size_t next = FIRST_SORTED(i, s->block_count, s->blocks[i].first > spec);
    return &s->blocks[next > 0 ? next - 1 : 0];
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
    return hash_index_has(&s->with_twins, &content);
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
    return hash_bytes(text.data, text.length);
}

bool specs_have_twins(const struct specs *s)
{
    return s->twins != TWINS_NONE;
}

struct hash128 specs_hash(struct specs *s, int64_t spec)
{
    struct kept_hash *kept = &s->kept[spec & (HASHES_KEPT - 1)];
    if (kept->spec != spec + 1) {
        buffer_clear(&s->text);
        add_json(s, spec, JSON_IDENTITY, NULL, &s->text);
        *kept = (struct kept_hash){spec + 1, hash_bytes(s->text.data, s->text.length)};
        s->hashed = spec;
    }
    return kept->hash;
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
    } else {
        s->hashed = -1;
        buffer_clear(&s->text);
        specs_add_json(s, row, false, NULL, &s->text);
        *out = sql_text(s->text.data);
    }
    return 0;
}

int specs_add_table(struct specs *s, struct db *db, struct error *e)
{
    OWNED_BUFFER columns = BUFFER_INIT;
    const struct table_source source = {count_rows, read_cell, s};
    buffer_add_text(&columns, "\"#id\" INTEGER, \"#json\" TEXT");
    s->columns = arena_keep(&s->arena, xcalloc(s->names->key_count + 1, sizeof *s->columns));
    section_columns(s->names, s->section, s->columns, &columns);
    return db_add_table(db, section_names[s->section], buffer_text(&columns), &source, e);
}

/* --- distinct ones ---
 *
 * A row is what a block says of keys that move together in some block of the section. A spec is a row of each group of
 * such keys, and stands in all the blocks in which all its rows do: it is counted in the first of them. */

#define BLOCKS_MOST 64   /* that are compared: bits of a word */
#define BOXES_MOST 256   /* products of rows that are made */
#define STEPS_MOST 65536 /* on the way to them */
#define ROWS_MOST 4096   /* of a group in which a block has several axes */

struct block_row {
    struct hash128 identity, all; /* of its values without labels, and with those that count */
    size_t block, group;
    size_t number;   /* in the product of the block's axes of the group, the last one fastest */
    uint64_t before; /* the blocks before its own that have it, too */
    uint64_t differ; /* of these those in which its labels are others */
};

/* Rows of a block and a group, one after the other. */
struct row_run {
    size_t first, count;
};

struct cutting {
    const struct names *names;
    const struct spec_block *blocks;
    size_t *group_of; /* by key: keys of one group move together in some block of the section */
    struct block_row *rows;
    size_t row_count;
    struct row_run *runs;     /* by block and group */
    struct spec_block *boxes; /* the arena's */
    struct arena *arena;
    size_t box_count, steps;
    struct buffer scratch;
    bool for_twins;     /* labels are names alone, and none counts; else a name counts as the rest of a spec does */
    bool failed;        /* it would take too long, or equal specs have different labels */
    bool labels_differ; /* the latter */
};

static void find_groups(struct cutting *c, size_t count)
{
    c->group_of = xcalloc(c->names->key_count + 1, sizeof *c->group_of);
    for (size_t k = 0; k < c->names->key_count; k++)
        c->group_of[k] = k;
    for (size_t b = 0; b < count; b++)
        for (size_t a = 0; a < c->blocks[b].axis_count; a++) {
            const struct spec_axis *axis = &c->blocks[b].axes[a];
            for (size_t i = 1; i < axis->axis->key_count; i++) {
                const size_t from = c->group_of[axis->keys[0]], to = c->group_of[axis->keys[i]];
                for (size_t k = 0; k < c->names->key_count; k++)
                    c->group_of[k] = c->group_of[k] == from ? to : c->group_of[k];
            }
        }
}

/* --- rows --- */

static bool same_hash(const struct hash128 *a, const struct hash128 *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static void mix(struct hash128 *into, const struct hash128 *one)
{
    for (size_t i = 0; i < sizeof into->bytes; i++)
        into->bytes[i] ^= one->bytes[i];
}

/* Whatever the order of the keys is. */
static void mix_row(struct cutting *c, const struct spec_axis *a, size_t row, struct block_row *into)
{
    for (size_t k = 0; k < a->axis->key_count; k++) {
        const struct key *key = &c->names->keys[a->keys[k]];
        const bool is_label = key->is_label && (c->for_twins || !key_tells_twins(key));
        buffer_clear(&c->scratch);
        buffer_add(&c->scratch, &a->keys[k], sizeof a->keys[k]);
        value_add_json(axis_value(a->axis, row * a->axis->key_count + k), &c->scratch);
        const struct hash128 hash = hash_bytes(c->scratch.data, c->scratch.length);
        if (!c->for_twins || !is_label || key_tells_twins(key))
            mix(&into->all, &hash);
        if (!is_label)
            mix(&into->identity, &hash);
    }
}

static bool is_in_group(const struct cutting *c, const struct spec_axis *a, size_t group)
{
    return c->group_of[a->keys[0]] == group;
}

/* The rows of a block: one without any value where it has no key of the group. */
static void add_rows(struct cutting *c, size_t block, size_t group)
{
    const struct spec_block *b = &c->blocks[block];
    size_t count = 1, axes = 0;
    for (size_t a = 0; a < b->axis_count && !c->failed; a++)
        if (is_in_group(c, &b->axes[a], group)) {
            count *= b->axes[a].axis->value_count;
            c->failed = ++axes > 1 && count > ROWS_MOST;
        }
    for (size_t n = 0; n < count && !c->failed; n++) {
        struct block_row *row = array_add(c->rows, c->row_count);
        *row = (struct block_row){.block = block, .group = group, .number = n};
        size_t left = n;
        for (size_t a = b->axis_count; a-- > 0;)
            if (is_in_group(c, &b->axes[a], group)) {
                mix_row(c, &b->axes[a], left % b->axes[a].axis->value_count, row);
                left /= b->axes[a].axis->value_count;
            }
    }
}

static int by_identity(const void *a, const void *b)
{
    const struct block_row *x = a, *y = b;
    const int order = x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                                           : memcmp(x->identity.bytes, y->identity.bytes, sizeof x->identity.bytes);
    return order ? order : (x->block > y->block) - (x->block < y->block);
}

static int by_blocks(const void *a, const void *b)
{
    const struct block_row *x = a, *y = b;
    if (x->block != y->block || x->group != y->group)
        return x->block != y->block ? (x->block > y->block) - (x->block < y->block)
                                    : (x->group > y->group) - (x->group < y->group);
    return x->before != y->before ? (x->before > y->before) - (x->before < y->before)
                                  : (x->differ > y->differ) - (x->differ < y->differ);
}

/* Finds which blocks have a row, and keeps it once of each. */
static void compare_rows(struct cutting *c)
{
    size_t kept = 0, first = 0; /* the first of one identity */
    array_sort(c->rows, c->row_count, by_identity);
    for (size_t i = 0; i < c->row_count; i++) {
        struct block_row row = c->rows[i];
        if (kept == 0 || c->rows[first].group != row.group || !same_hash(&c->rows[first].identity, &row.identity))
            first = kept;
        for (size_t k = first; k < kept; k++) {
            row.before |= UINT64_C(1) << c->rows[k].block;
            row.differ |= (uint64_t)!same_hash(&c->rows[k].all, &row.all) << c->rows[k].block;
        }
        c->labels_differ |= row.differ >> row.block & 1;
        c->rows[kept] = row;
        kept += kept == first || c->rows[kept - 1].block != row.block;
    }
    c->row_count = kept;
}

static void note_runs(struct cutting *c)
{
    const size_t keys = c->names->key_count;
    array_sort(c->rows, c->row_count, by_blocks);
    for (size_t i = c->row_count; i-- > 0;) {
        struct row_run *run = &c->runs[c->rows[i].block * keys + c->rows[i].group];
        *run = (struct row_run){i, run->count + 1};
    }
}

/* --- boxes --- */

/* The rows as one axis; what its values hold is borrowed. Without keys where the block has none of the group. */
static struct spec_axis axis_of(const struct cutting *c, const struct spec_block *b, size_t group, struct row_run run)
{
    struct axis *axis = arena_keep(c->arena, xcalloc(1, sizeof *axis));
    struct spec_axis made = {axis, arena_keep(c->arena, xcalloc(c->names->key_count + 1, sizeof *made.keys)), 1};
    for (size_t a = 0; a < b->axis_count; a++)
        for (size_t k = 0; is_in_group(c, &b->axes[a], group) && k < b->axes[a].axis->key_count; k++)
            made.keys[axis->key_count++] = b->axes[a].keys[k];
    axis->value_count = run.count;
    axis->values = arena_keep(c->arena, xcalloc(run.count * axis->key_count + 1, sizeof *axis->values));
    for (size_t row = 0; row < run.count; row++) {
        struct value *end = axis->values + (row + 1) * axis->key_count;
        size_t number = c->rows[run.first + row].number;
        for (size_t a = b->axis_count; a-- > 0;) {
            const struct axis *from = b->axes[a].axis;
            if (!is_in_group(c, &b->axes[a], group))
                continue;
            for (size_t k = from->key_count; k-- > 0;)
                *--end = *axis_value(from, number % from->value_count * from->key_count + k);
            number /= from->value_count;
        }
    }
    return made;
}

/* `runs`: by group. */
static void add_box(struct cutting *c, size_t block, const struct row_run *runs)
{
    const struct spec_block *from = &c->blocks[block];
    struct spec_block box = {.count = 1};
    box.axes = arena_keep(c->arena, xcalloc(c->names->key_count + 1, sizeof *box.axes));
    for (size_t g = 0; g < c->names->key_count; g++)
        if (ANY(a, from->axis_count, is_in_group(c, &from->axes[a], g))) {
            box.axes[box.axis_count++] = axis_of(c, from, g, runs[g]);
            box.count *= (int64_t)runs[g].count;
        }
    *arena_add(c->arena, c->boxes, c->box_count) = box;
    c->failed |= c->box_count > BOXES_MOST;
}

/* Adds the specs of a block that have those rows of the groups before `group`, and stand in none of the blocks before
 * it: in those of `before` these rows do, and in those of `differ` some have other labels. */
static void add_boxes(struct cutting *c, const struct block_row *last, struct row_run *runs)
{
    const struct row_run *own = c->runs + last->block * c->names->key_count;
    size_t group = last->group;
    c->failed |= ++c->steps > STEPS_MOST || c->labels_differ;
    for (; group < c->names->key_count && (own[group].count == 0 || !last->before); group++)
        runs[group] = own[group];
    if (c->failed)
        return;
    if (group == c->names->key_count) {
        c->labels_differ |= (last->before & last->differ) != 0;
        if (!last->before && !c->for_twins)
            add_box(c, last->block, runs);
        return;
    }
    for (size_t i = own[group].first, end = i + own[group].count; i < end; i += runs[group].count) {
        const struct block_row *row = &c->rows[i];
        struct block_row next = {.block = last->block, .group = group + 1, .before = last->before & row->before};
        next.differ = last->differ | row->differ;
        runs[group] = (struct row_run){i, 1};
        while (i + runs[group].count < end && row[runs[group].count].before == row->before &&
               row[runs[group].count].differ == row->differ)
            runs[group].count++;
        add_boxes(c, &next, runs);
    }
}

/* Fills the boxes of `c`. */
static void cut(const struct specs *s, struct cutting *c)
{
    OWNED struct row_run *runs = xcalloc(s->names->key_count + 1, sizeof *runs);
    c->names = s->names;
    c->blocks = s->blocks;
    c->failed = s->block_count > BLOCKS_MOST;
    find_groups(c, s->block_count);
    for (size_t b = 0; b < s->block_count; b++)
        for (size_t k = 0; k < s->key_count && !c->failed; k++)
            if (c->group_of[s->sorted[k]] == s->sorted[k])
                add_rows(c, b, s->sorted[k]);
    if (!c->failed)
        c->runs = xcalloc(s->block_count * s->names->key_count + 1, sizeof *c->runs);
    if (!c->failed && c->row_count > 0) {
        compare_rows(c);
        note_runs(c);
    }
    for (size_t b = 0; b < s->block_count && !c->failed; b++)
        add_boxes(c, &(struct block_row){.block = b, .before = (UINT64_C(1) << b) - 1}, runs);
    c->failed |= c->labels_differ;
    free_all(c->rows, c->runs, c->group_of);
    buffer_free(&c->scratch);
}

bool specs_distinct_blocks(const struct specs *s, struct arena *arena, struct spec_block **out, size_t *count)
{
    struct cutting c = {.arena = arena};
    cut(s, &c);
    *out = c.boxes;
    *count = c.box_count;
    return !c.failed;
}

/* --- what can be told --- */

/* So many specs are looked at one by one. */
#define SPECS_MOST 4096
#define SPECS_MOST_FOR_TWINS 262144 /* where nothing else tells: a quarter of a second */

static bool differ_one_by_one(struct specs *s)
{
    struct hash_index seen = HASH_INDEX_INIT;
    bool differ = true;
    for (int64_t i = 0; i < specs_count(s) && differ; i++) {
        const struct hash128 hash = specs_hash(s, i);
        differ = hash_index_takes(&seen, &hash);
    }
    hash_index_free(&seen);
    return differ;
}

bool specs_are_distinct(struct specs *s)
{
    struct arena scratch = {0};
    struct spec_block *blocks;
    size_t count;
    int64_t sum = 0;
    if (specs_count(s) <= SPECS_MOST)
        return differ_one_by_one(s);
    const bool is_known = specs_distinct_blocks(s, &scratch, &blocks, &count);
    for (size_t b = 0; is_known && b < count; b++)
        sum += blocks[b].count;
    arena_free(&scratch);
    return is_known && sum == specs_count(s);
}

static enum twins find_one_by_one(struct specs *s, size_t name, struct hash_index *some)
{
    struct hash_index contents = HASH_INDEX_INIT, all = HASH_INDEX_INIT;
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
        const bool is_new = hash_index_takes(&contents, &content), is_named_new = hash_index_takes(&all, &named);
        if (is_new || !is_named_new)
            continue;
        hash_index_takes(some, &content);
        found = TWINS_SOME;
    }
    hash_index_free(&contents);
    hash_index_free(&all);
    return found;
}

/* `name`: of names.keys. `some`: the content hashes of those that have twins, if not all have. */
static enum twins find_twins(struct specs *s, size_t name, struct hash_index *some)
{
    struct cutting c = {.for_twins = true};
    if (specs_count(s) <= SPECS_MOST)
        return find_one_by_one(s, name, some);
    cut(s, &c);
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
