#include "space/memory_order.h"

#include "space/compile.h"
#include "util/memory.h"

struct coordinate {
    struct formula *formula; /* NULL where it orders nothing */
    enum order_direction direction;
    struct expression reads; /* without its `when` */
};

struct space_order {
    struct coordinate *items;
    size_t count;
    bool *is_equal; /* by key: it counts in the identity of a job, and is not ordered */
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
    struct expression value, when = {.sql = NULL};
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
        OWNED char *sql = coordinate_sql(entry, &value, &when);
        *arena_add(&space->arena, o->items, o->count) =
            (struct coordinate){formula_compile(&space->names, sql), entry->direction, value};
    }
}

static bool reads(const struct expression *x, size_t key)
{
    return ANY(i, x->key_count, x->keys[i] == key);
}

/* A label counts in the identity of a job where its command or a derived key is made from it. */
static bool counts_in_identity(const struct space *space, size_t key)
{
    bool counts = !space->names.keys[key].is_label;
    for (size_t i = 0; i < space->placeholder_count; i++)
        counts |= !space->placeholders[i].is_derived && space->placeholders[i].index == key;
    for (size_t i = 0; i < space->names.derived_count; i++)
        counts |= space->names.derived[i].reads_label && reads(&space->names.derived[i].expression, key);
    return counts;
}

static void note_equal(struct space *space)
{
    space->order->is_equal =
        arena_keep(&space->arena, xcalloc(space->names.key_count + 1, sizeof *space->order->is_equal));
    for (size_t k = 0; k < space->names.key_count; k++)
        space->order->is_equal[k] =
            counts_in_identity(space, k) && !ANY(i, space->order->count, reads(&space->order->items[i].reads, k));
}

void order_compile(struct space *space, struct problems *problems)
{
    const struct predict_config *c = &space->sweep->predict;
    if (!c->given || c->order_count == 0)
        return;
    space->order = arena_keep(&space->arena, xcalloc(1, sizeof *space->order));
    for (size_t i = 0; i < c->order_count; i++)
        compile_entry(space, &c->order[i], problems);
    if (space->order->count > ORDER_COORDINATES_MOST)
        problems_add(problems, (struct position){.file = space->sweep->path},
                     "[predict.order] has more than %d entries over keys of the sweep", ORDER_COORDINATES_MOST);
    if (space->order->count == 0 || c->prune == PRUNE_OFF)
        order_free(space);
    else
        note_equal(space);
}

void order_free(struct space *space)
{
    struct space_order *o = space->order;
    for (size_t i = 0; o && i < o->count; i++)
        formula_free(o->items[i].formula);
    space->order = NULL;
}

size_t order_coordinates(const struct space *space)
{
    return space->order->count;
}

/* --- reading --- */

int order_read(const struct space *space, struct datum *keys, struct hash128 *class, double *coordinates,
               struct error *e)
{
    const struct space_order *o = space->order;
    const struct scope s = {keys, space->evaluator};
    OWNED_BUFFER equal = BUFFER_INIT;
    for (size_t k = 0; k < space->names.key_count; k++)
        if (o->is_equal[k])
            datum_add(&keys[k], &equal);
    for (size_t i = 0; i < o->count; i++) {
        const struct coordinate *c = &o->items[i];
        const struct datum value = formula_value(c->formula, &s);
        const bool orders = value.kind != DATUM_NULL && c->direction != ORDER_EQUAL;
        coordinates[i] = !orders ? 0 : value.kind == DATUM_INT ? (double)value.integer : value.real;
        buffer_add_char(&equal, orders ? '+' : '=');
        if (!orders && value.kind != DATUM_NULL)
            datum_add(&value, &equal);
        for (size_t k = 0; value.kind == DATUM_NULL && k < c->reads.key_count; k++)
            datum_add(&keys[c->reads.keys[k]], &equal);
    }
    *class = hash_bytes(equal.data, equal.length);
    return evaluator_failed(space->evaluator, e) ? -1 : 0;
}
