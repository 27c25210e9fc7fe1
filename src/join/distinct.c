/* The distinct specs of a section as disjoint blocks: the first of two that overlap has what both have, and what the
 * other has besides is cut into blocks of its own. */
#include <stdlib.h>
#include <string.h>

#include "join/specs.h"
#include "util/hash_set.h"
#include "util/memory.h"

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

bool key_tells_twins(const struct key *key)
{
    return key->is_label && strcmp(key->name, "name") == 0;
}

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
    c->names = specs_names(s);
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
        const struct hash128 content = specs_content_hash(s, i);
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

enum twins specs_find_twins(struct specs *s, size_t name, struct hash_set *some)
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
