#include "join/specs.h"

#include <string.h>

#include "util/hash_set.h"

/* So many specs are looked at one by one, and so many blocks with each other. */
#define SPECS_MOST 4096
#define BLOCKS_MOST 64

static bool differ_one_by_one(struct specs *s)
{
    struct hash_set seen = HASH_SET_INIT;
    bool differ = true;
    for (int64_t spec = 0; spec < specs_count(s) && differ; spec++) {
        const struct hash128 hash = specs_hash(s, spec);
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

bool specs_are_distinct(struct specs *s)
{
    size_t count;
    const struct spec_block *blocks = specs_blocks(s, &count);
    const struct names *n = specs_names(s);
    if (specs_count(s) <= SPECS_MOST)
        return differ_one_by_one(s);
    bool distinct = count <= BLOCKS_MOST;
    for (size_t b = 0; b < count && distinct; b++) {
        for (size_t a = 0; a < blocks[b].axis_count && distinct; a++)
            distinct = rows_differ(&blocks[b].axes[a], n);
        for (size_t other = 0; other < b && distinct; other++)
            distinct = blocks_differ(&blocks[b], &blocks[other], n);
    }
    return distinct;
}
