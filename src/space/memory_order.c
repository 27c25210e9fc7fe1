#include "space/memory_order.h"

#include <stdlib.h>

#include "space/compile.h"
#include "space/match.h"
#include "util/memory.h"

struct coordinate {
    char *sql; /* NULL where it orders nothing */
    enum order_direction direction;
    size_t *keys; /* what its expression reads, without its `when` */
    size_t key_count;
};

struct space_order {
    struct coordinate *items;
    size_t count;
};

/* --- compiling --- */

static void add_levels(const struct order_entry *entry, const char *value, struct buffer *sql)
{
    buffer_printf(sql, "CASE %s", value);
    for (size_t i = 0; i < entry->level_count; i++) {
        buffer_add_text(sql, " WHEN ");
        if (entry->levels[i].kind == VALUE_STRING)
            buffer_add_quoted(sql, entry->levels[i].text, '\'');
        else
            value_add_text(&entry->levels[i], sql);
        buffer_printf(sql, " THEN %zu", i);
    }
    buffer_add_text(sql, " END");
}

static char *coordinate_sql(const struct order_entry *entry, const struct expression *value,
                            const struct expression *when)
{
    struct buffer sql = BUFFER_INIT;
    const char *sign = entry->direction == ORDER_FALLS ? "-" : "";
    if (when->sql)
        buffer_printf(&sql, "CASE WHEN %s IS TRUE THEN ", when->sql);
    if (entry->direction == ORDER_LISTED)
        add_levels(entry, value->sql, &sql);
    else if (entry->direction == ORDER_ANY)
        buffer_add_char(&sql, '0');
    else if (entry->direction == ORDER_EQUAL)
        buffer_add_text(&sql, value->sql);
    else
        buffer_printf(&sql, "CASE WHEN typeof%s IN ('integer', 'real') THEN %s%s END", value->sql, sign, value->sql);
    if (when->sql)
        buffer_add_text(&sql, " END");
    return buffer_take(&sql);
}

static void compile_entry(struct space *space, const struct order_entry *entry, struct problems *problems)
{
    struct expression value = EXPRESSION_INIT, when = EXPRESSION_INIT;
    const struct source_text source = {entry->expression, unknown_at(space, &entry->at),
                                       &entry->at,        "[predict.order]",
                                       entry->expression, NULL};
    struct source_text condition = source;
    condition.text = entry->when;
    bool good = compile_expression(space, &source, &value, problems) == 0 &&
                (!entry->when || compile_expression(space, &condition, &when, problems) == 0);
    /* An entry that reads no key of the sweep has nothing to order. */
    if (good && value.key_count > 0) {
        struct space_order *o = space->order;
        *array_add(o->items, o->count) =
            (struct coordinate){coordinate_sql(entry, &value, &when), entry->direction, value.keys, value.key_count};
        value.keys = NULL;
    }
    expression_free(&value);
    expression_free(&when);
}

void order_compile(struct space *space, struct problems *problems)
{
    const struct predict_config *c = &space->sweep->predict;
    if (!c->given || c->order_count == 0)
        return;
    space->order = xcalloc(1, sizeof *space->order);
    for (size_t i = 0; i < c->order_count; i++)
        compile_entry(space, &c->order[i], problems);
    if (space->order->count > ORDER_COORDINATES_MOST)
        problems_add(problems, (struct position){.file = space->sweep->path},
                     "[predict.order] has more than %d entries over keys of the sweep", ORDER_COORDINATES_MOST);
    if (space->order->count == 0 || c->prune == PRUNE_OFF)
        order_free(space);
}

void order_free(struct space *space)
{
    struct space_order *o = space->order;
    for (size_t i = 0; o && i < o->count; i++)
        free_all(o->items[i].sql, o->items[i].keys);
    if (o)
        free(o->items);
    free(o);
    space->order = NULL;
}

size_t order_coordinates(const struct space *space)
{
    return space->order->count;
}

/* --- reading --- */

struct order_reader {
    struct space *space;
    struct stmt *select; /* a column of what must be equal, then of each coordinate its value and its keys */
    struct stmt *stored; /* the same of a job of a database; NULL until one is asked for */
    struct buffer class;
};

static bool reads(const size_t *keys, size_t count, size_t key)
{
    return ANY(i, count, keys[i] == key);
}

/* A label counts in the identity of a job where its command or a derived key is made from it. */
static bool counts_in_identity(const struct space *space, size_t key)
{
    bool counts = !space->names.keys[key].is_label;
    for (size_t i = 0; i < space->placeholder_count; i++)
        counts |= !space->placeholders[i].is_derived && space->placeholders[i].index == key;
    for (size_t i = 0; i < space->names.derived_count; i++)
        counts |= space->names.derived[i].reads_label &&
                  reads(space->names.derived[i].keys, space->names.derived[i].key_count, key);
    return counts;
}

static bool is_ordered(const struct space_order *o, size_t key)
{
    return ANY(i, o->count, reads(o->items[i].keys, o->items[i].key_count, key));
}

/* SQLite takes up to 127 arguments. */
#define KEYS_PER_CALL 100

/* The values of keys as one text. */
static void add_values(const struct space *space, const size_t *keys, size_t count, struct buffer *sql)
{
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(sql, i == 0 ? "json_array(" : i % KEYS_PER_CALL == 0 ? ") || json_array(" : ", ");
        expression_add_column(sql, &space->names.keys[keys[i]]);
    }
    buffer_add_text(sql, count ? ")" : "''");
}

static void add_columns(const struct space *space, struct buffer *sql)
{
    const struct space_order *o = space->order;
    size_t *equal = xcalloc(space->names.key_count + 1, sizeof *equal), count = 0;
    for (size_t k = 0; k < space->names.key_count; k++)
        if (counts_in_identity(space, k) && !is_ordered(o, k))
            equal[count++] = k;
    buffer_add_text(sql, "SELECT ");
    add_values(space, equal, count, sql);
    for (size_t i = 0; i < o->count; i++) {
        buffer_printf(sql, ", %s, ", o->items[i].sql);
        add_values(space, o->items[i].keys, o->items[i].key_count, sql);
    }
    free(equal);
    buffer_add_char(sql, ' ');
}

int order_reader_open(struct space *space, struct order_reader **out, struct error *e)
{
    struct order_reader *r = xcalloc(1, sizeof *r);
    struct buffer sql = BUFFER_INIT;
    r->space = space;
    add_columns(space, &sql);
    space_add_combination(space, 1, &sql);
    int rc = db_prepare_built(space->db, &sql, &r->select, e);
    if (rc < 0)
        order_reader_close(r);
    else
        *out = r;
    return rc;
}

void order_reader_close(struct order_reader *r)
{
    if (!r)
        return;
    stmt_free(r->select);
    stmt_free(r->stored);
    buffer_free(&r->class);
    free(r);
}

static void add_equal(struct buffer *class, size_t coordinate, const char *text)
{
    buffer_printf(class, "#%zu", coordinate);
    buffer_add_text(class, text);
}

static void take_point(struct order_reader *r, const struct stmt *row, double *coordinates)
{
    const struct space_order *o = r->space->order;
    buffer_clear(&r->class);
    buffer_add_text(&r->class, stmt_text(row, 0));
    for (size_t i = 0; i < o->count; i++) {
        int value = 1 + 2 * (int)i;
        bool orders = !stmt_is_null(row, value);
        coordinates[i] = 0;
        if (!orders)
            add_equal(&r->class, i, stmt_text(row, value + 1));
        else if (o->items[i].direction == ORDER_EQUAL)
            add_equal(&r->class, i, stmt_text(row, value));
        else
            coordinates[i] = stmt_double(row, value);
    }
}

static int read_point(struct order_reader *r, struct stmt *s, struct hash128 *class, double *coordinates,
                      struct error *e)
{
    int rc = stmt_next(s, e);
    if (rc > 0) {
        take_point(r, s, coordinates);
        *class = hash_bytes(r->class.data, r->class.length);
    }
    stmt_reset(s);
    return rc;
}

int order_read(struct order_reader *r, int64_t rank, struct hash128 *class, double *coordinates, struct error *e)
{
    if (rank < 0 || rank >= space_combinations(r->space))
        return 0;
    space_bind_rank(r->space, r->select, 1, rank);
    return read_point(r, r->select, class, coordinates, e);
}

static int open_stored(struct order_reader *r, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    add_columns(r->space, &sql);
    stored_add_from(r->space, NULL, &sql);
    return db_prepare_built(r->space->db, &sql, &r->stored, e);
}

int order_read_stored(struct order_reader *r, const struct job_specs *job, struct hash128 *class, double *coordinates,
                      struct error *e)
{
    if (!r->stored && open_stored(r, e) < 0)
        return -1;
    stored_bind(r->stored, r->space, job);
    return read_point(r, r->stored, class, coordinates, e);
}
