#include "join/specs.h"

#include <string.h>

#include "util/hash_set.h"

/* So many specs are looked at one by one, and so many blocks with each other. */
#define SPECS_MOST 4096
#define BLOCKS_MOST 64

static bool same_axes(const struct spec_axis *x, const struct spec_axis *y)
{
    const struct axis *a = x->axis, *b = y->axis;
    if (a->key_count != b->key_count || a->value_count != b->value_count ||
        memcmp(x->keys, y->keys, a->key_count * sizeof *x->keys) != 0)
        return false;
    for (size_t i = 0; i < a->key_count * a->value_count; i++)
        if (!value_equal(&a->values[i], &b->values[i]))
            return false;
    return true;
}

static bool same_blocks(const struct spec_block *x, const struct spec_block *y)
{
    bool same = x->axis_count == y->axis_count;
    for (size_t a = 0; a < x->axis_count && same; a++) {
        size_t other = 0;
        while (other < y->axis_count && !same_axes(&x->axes[a], &y->axes[other]))
            other++;
        same = other < y->axis_count;
    }
    return same;
}

bool specs_repeat(const struct specs *s, size_t block)
{
    size_t count;
    const struct spec_block *blocks = specs_blocks(s, &count);
    for (size_t b = 0; b < block && count <= BLOCKS_MOST; b++)
        if (same_blocks(&blocks[b], &blocks[block]))
            return true;
    return false;
}

static bool differ_one_by_one(struct specs *s, bool but_for_repeats)
{
    size_t count;
    const struct spec_block *blocks = specs_blocks(s, &count);
    struct hash_set seen = HASH_SET_INIT;
    bool differ = true;
    for (size_t b = 0; b < count && differ; b++)
        for (int64_t i = 0; i < blocks[b].count && differ && !(but_for_repeats && i == 0 && specs_repeat(s, b)); i++) {
            const struct hash128 hash = specs_hash(s, blocks[b].first + i);
            differ = hash_set_add(&seen, &hash);
        }
    hash_set_free(&seen);
    return differ;
}

/* What an axis adds to the identity of a spec. */
static struct hash128 hash_of_row(const struct spec_axis *a, size_t row, const struct names *n, struct buffer *scratch)
{
    const size_t width = a->axis->key_count;
    buffer_clear(scratch);
    for (size_t k = 0; k < width; k++) {
        if (n->keys[a->keys[k]].is_label)
            continue;
        value_add_json(&a->axis->values[row * width + k], scratch);
        buffer_add_char(scratch, '\0');
    }
    return hash_bytes(scratch->data, scratch->length);
}

static bool rows_differ(const struct spec_axis *a, const struct names *n)
{
    struct hash_set seen = HASH_SET_INIT;
    struct buffer scratch = BUFFER_INIT;
    bool differ = true;
    for (size_t row = 0; row < a->axis->value_count && differ; row++) {
        const struct hash128 hash = hash_of_row(a, row, n, &scratch);
        differ = hash_set_add(&seen, &hash);
    }
    buffer_free(&scratch);
    hash_set_free(&seen);
    return differ;
}

/* The axis of a block that has the key, alone. */
static const struct spec_axis *find_axis(const struct spec_block *b, size_t key)
{
    for (size_t a = 0; a < b->axis_count; a++)
        if (b->axes[a].axis->key_count == 1 && b->axes[a].keys[0] == key)
            return &b->axes[a];
    return NULL;
}

static bool have_common_row(const struct spec_axis *x, const struct spec_axis *y, const struct names *n)
{
    struct hash_set seen = HASH_SET_INIT;
    struct buffer scratch = BUFFER_INIT;
    bool common = false;
    for (size_t row = 0; row < x->axis->value_count; row++) {
        const struct hash128 hash = hash_of_row(x, row, n, &scratch);
        hash_set_add(&seen, &hash);
    }
    for (size_t row = 0; row < y->axis->value_count && !common; row++) {
        const struct hash128 hash = hash_of_row(y, row, n, &scratch);
        common = hash_set_has(&seen, &hash);
    }
    buffer_free(&scratch);
    hash_set_free(&seen);
    return common;
}

static bool blocks_differ(const struct spec_block *x, const struct spec_block *y, const struct names *n)
{
    for (size_t a = 0; a < x->axis_count; a++) {
        const struct spec_axis *other = x->axes[a].axis->key_count == 1 ? find_axis(y, x->axes[a].keys[0]) : NULL;
        if (other && !n->keys[x->axes[a].keys[0]].is_label && !have_common_row(&x->axes[a], other, n))
            return true;
    }
    return false;
}

bool specs_are_distinct(struct specs *s, bool but_for_repeats)
{
    size_t count;
    const struct spec_block *blocks = specs_blocks(s, &count);
    const struct names *n = specs_names(s);
    if (specs_count(s) <= SPECS_MOST)
        return differ_one_by_one(s, but_for_repeats);
    bool distinct = count <= BLOCKS_MOST;
    for (size_t b = 0; b < count && distinct; b++) {
        if (but_for_repeats && specs_repeat(s, b))
            continue;
        for (size_t a = 0; a < blocks[b].axis_count && distinct; a++)
            distinct = rows_differ(&blocks[b].axes[a], n);
        for (size_t other = 0; other < b && distinct; other++)
            distinct = blocks_differ(&blocks[b], &blocks[other], n) || (but_for_repeats && specs_repeat(s, other));
    }
    return distinct;
}
