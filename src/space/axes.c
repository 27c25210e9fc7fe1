#include "space/axes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "space/expression.h"
#include "util/buffer.h"
#include "util/hash.h"
#include "util/memory.h"

#define MOST_SPECS (16 * 1024 * 1024)
#define FIXED_COLUMNS 4

/* A key of the section being expanded, seen from one block: which axis moves it. */
struct slot {
    const struct key *key;
    int column;              /* SQL parameter */
    const struct axis *axis; /* NULL: absent in this block */
    size_t axis_index;
    size_t place;       /* within the axis's tuple */
    char **fragments;   /* "name":json per value of the axis, rendered once */
};

struct expansion {
    struct slot *slots; /* sorted by key name: the canonical order */
    size_t slot_count;
    bool has_inert;
    struct stmt *insert;
    int64_t id;
    struct buffer json, identity;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct slot *)a)->key->name, ((const struct slot *)b)->key->name);
}

static void collect_slots(const struct names *n, enum section_kind section, struct expansion *x)
{
    int column = FIXED_COLUMNS;
    x->slots = xcalloc(n->key_count, sizeof *x->slots);
    for (size_t i = 0; i < n->key_count; i++)
        if (n->keys[i].section == section)
            x->slots[x->slot_count++] = (struct slot){.key = &n->keys[i], .column = ++column};
    for (size_t i = 0; i < x->slot_count; i++)
        x->has_inert |= x->slots[i].key->is_inert;
    qsort(x->slots, x->slot_count, sizeof *x->slots, by_name);
}

/* SQLite compares names of columns without regard to case. Two such keys are a problem already: one column is there for
 * what else is to be checked. */
static bool has_column(const struct names *n, size_t key)
{
    for (size_t i = 0; i < key; i++)
        if (n->keys[i].section == n->keys[key].section && strcasecmp(n->keys[i].name, n->keys[key].name) == 0)
            return true;
    return false;
}

int axes_declare(const struct names *n, enum section_kind section, struct db *db, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    buffer_printf(&sql, "CREATE TABLE \"%s\"(\"#id\" INTEGER PRIMARY KEY, \"#hash\" BLOB, \"#core\" TEXT, \"#json\" TEXT",
                  section_names[section]);
    for (size_t i = 0; i < n->key_count; i++) {
        if (n->keys[i].section != section || has_column(n, i))
            continue;
        buffer_add_text(&sql, ", ");
        expression_add_name(&sql, n->keys[i].name);
    }
    buffer_add_char(&sql, ')');
    int rc = db_exec(db, buffer_text(&sql), e);
    buffer_free(&sql);
    return rc;
}

static int prepare_insert(struct expansion *x, enum section_kind section, struct db *db, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    buffer_printf(&sql, "INSERT INTO \"%s\" VALUES (?, ?, ?, ?", section_names[section]);
    for (size_t i = 0; i < x->slot_count; i++)
        buffer_add_text(&sql, ", ?");
    buffer_add_char(&sql, ')');
    int rc = db_prepare(db, buffer_text(&sql), &x->insert, e);
    buffer_free(&sql);
    return rc;
}

static void bind_value(struct stmt *s, int index, const struct value *v)
{
    switch (v->kind) {
    case VALUE_NULL:
        stmt_bind_null(s, index);
        break;
    case VALUE_BOOL:
    case VALUE_INT:
        stmt_bind_int(s, index, v->integer);
        break;
    case VALUE_FLOAT:
        stmt_bind_double(s, index, v->real);
        break;
    case VALUE_STRING:
    case VALUE_JSON:
        stmt_bind_text(s, index, v->text);
        break;
    }
}

/* Rendering a value once per axis instead of once per spec makes large products a matter of memcpy. */
static void render_fragments(struct slot *slot)
{
    const struct axis *a = slot->axis;
    slot->fragments = xcalloc(a->value_count, sizeof *slot->fragments);
    for (size_t v = 0; v < a->value_count; v++) {
        struct buffer b = BUFFER_INIT;
        buffer_add_json_string(&b, slot->key->name, strlen(slot->key->name));
        buffer_add_char(&b, ':');
        value_add_json(&a->values[v * a->key_count + slot->place], &b);
        slot->fragments[v] = buffer_take(&b);
    }
}

static void release_fragments(struct slot *slot)
{
    for (size_t v = 0; slot->axis && v < slot->axis->value_count; v++)
        free(slot->fragments[v]);
    free(slot->fragments);
    slot->fragments = NULL;
    slot->axis = NULL;
}

static void attach_block(struct expansion *x, const struct block *block)
{
    for (size_t a = 0; a < block->axis_count; a++) {
        for (size_t k = 0; k < block->axes[a].key_count; k++) {
            for (size_t i = 0; i < x->slot_count; i++) {
                struct slot *slot = &x->slots[i];
                if (strcmp(slot->key->name, block->axes[a].keys[k]) != 0)
                    continue;
                slot->axis = &block->axes[a];
                slot->axis_index = a;
                slot->place = k;
                render_fragments(slot);
            }
        }
    }
    for (size_t i = 0; i < x->slot_count; i++)
        if (!x->slots[i].axis)
            stmt_bind_null(x->insert, x->slots[i].column);
}

static void detach_block(struct expansion *x)
{
    for (size_t i = 0; i < x->slot_count; i++)
        release_fragments(&x->slots[i]);
}

static void add_member(struct buffer *b, const char *fragment)
{
    buffer_add_char(b, b->length ? ',' : '{');
    buffer_add_text(b, fragment);
}

static void close_object(struct buffer *b)
{
    buffer_add_text(b, b->length ? "}" : "{}");
}

/* Writes the spec that stands at `at` (a value index per axis) as JSON, with and without labels. */
static void render_spec(struct expansion *x, const size_t *at)
{
    buffer_clear(&x->json);
    buffer_clear(&x->identity);
    for (size_t i = 0; i < x->slot_count; i++) {
        const struct slot *slot = &x->slots[i];
        if (!slot->axis)
            continue;
        add_member(&x->json, slot->fragments[at[slot->axis_index]]);
        if (!slot->key->is_label)
            add_member(&x->identity, slot->fragments[at[slot->axis_index]]);
    }
    close_object(&x->json);
    close_object(&x->identity);
}

/* Binds what the axis `a` moves. */
static void bind_axis(struct expansion *x, size_t a, size_t value)
{
    for (size_t i = 0; i < x->slot_count; i++) {
        const struct slot *slot = &x->slots[i];
        if (slot->axis && slot->axis_index == a)
            bind_value(x->insert, slot->column, &slot->axis->values[value * slot->axis->key_count + slot->place]);
    }
}

static int insert_spec(struct expansion *x, const struct block *block, const size_t *at, struct error *e)
{
    render_spec(x, at);
    if (x->json.length > SPEC_LONGEST)
        return error_set(e, ERROR_USAGE, "%s:%d:%d: a spec of %zu KiB, more than %d KiB", block->at.file, block->at.line,
                         block->at.column, x->json.length >> 10, SPEC_LONGEST >> 10);
    struct hash128 hash = hash_bytes(x->identity.data, x->identity.length);
    stmt_bind_int(x->insert, 1, x->id++);
    stmt_bind_blob(x->insert, 2, hash.bytes, sizeof hash.bytes);
    stmt_bind_text(x->insert, 3, x->has_inert ? x->identity.data : NULL);
    stmt_bind_text(x->insert, 4, x->json.data);
    return stmt_run(x->insert, e);
}

/* Moves the odometer; false when it has gone round. */
static bool advance(struct expansion *x, const struct block *block, size_t *at)
{
    for (size_t a = block->axis_count; a-- > 0;) {
        at[a] = (at[a] + 1) % block->axes[a].value_count;
        bind_axis(x, a, at[a]);
        if (at[a] != 0)
            return true;
    }
    return false;
}

static int64_t block_size(const struct block *block)
{
    int64_t product = 1;
    for (size_t a = 0; a < block->axis_count && product <= MOST_SPECS; a++)
        product *= (int64_t)block->axes[a].value_count;
    return product;
}

int64_t axes_count(const struct sweep *s, enum section_kind section, struct problems *problems)
{
    const struct section *blocks = &s->sections[section];
    int64_t count = 0;
    for (size_t b = 0; b < blocks->block_count; b++) {
        count += block_size(&blocks->blocks[b]);
        if (count <= MOST_SPECS)
            continue;
        problems_add(problems, blocks->blocks[b].at, "this section expands to more than %d specs; split the sweep",
                     MOST_SPECS);
        break;
    }
    return count;
}

static int expand_block(struct expansion *x, const struct block *block, struct error *e)
{
    size_t *at = xcalloc(block->axis_count, sizeof *at);
    int rc;
    attach_block(x, block);
    for (size_t a = 0; a < block->axis_count; a++)
        bind_axis(x, a, 0);
    do
        rc = insert_spec(x, block, at, e);
    while (rc == 0 && advance(x, block, at));
    detach_block(x);
    free(at);
    return rc;
}

int axes_fill(const struct sweep *s, const struct names *n, enum section_kind section, struct db *db, struct error *e)
{
    struct expansion x = {0};
    collect_slots(n, section, &x);
    int rc = prepare_insert(&x, section, db, e);
    for (size_t b = 0; rc == 0 && b < s->sections[section].block_count; b++)
        rc = expand_block(&x, &s->sections[section].blocks[b], e);
    stmt_free(x.insert);
    free(x.slots);
    buffer_free(&x.json);
    buffer_free(&x.identity);
    return rc;
}
