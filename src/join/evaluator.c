#include "join/evaluator.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database/function.h"
#include "database/guard.h"
#include "util/hash.h"
#include "util/memory.h"

#define REMEMBERED (1U << 15) /* a power of two */

struct remembered {
    struct hash128 of;  /* the part and the values of its keys */
    struct datum datum; /* no text */
    bool taken;
};

struct section_view {
    struct evaluator *evaluator;
    size_t *keys; /* behind the columns */
};

struct evaluator {
    const struct names *names;
    struct db *db;
    struct section_view views[SECTION_COUNT];
    const struct datum *keys;  /* of the evaluation at hand */
    struct datum *failed_keys; /* of the one that failed */
    struct remembered *memory;
    uint64_t prepared; /* so far */
    int64_t asked;     /* since that was taken */
    bool failed;
    struct error why;
    struct buffer key;
};

/* --- values, and the columns that they are in --- */

struct datum datum_of_column(const struct stmt *s, int column)
{
    switch (stmt_type(s, column)) {
    case COLUMN_INT:
        return (struct datum){DATUM_INT, {.integer = stmt_int(s, column)}};
    case COLUMN_FLOAT:
        return (struct datum){DATUM_REAL, {.real = stmt_double(s, column)}};
    case COLUMN_TEXT:
        return (struct datum){DATUM_TEXT, {.text = stmt_text(s, column)}};
    default:
        return (struct datum){DATUM_NULL, {0}};
    }
}

struct sql_value datum_sql(const struct datum *d)
{
    return d->kind == DATUM_INT    ? sql_int(d->integer)
           : d->kind == DATUM_REAL ? sql_real(d->real)
           : d->kind == DATUM_TEXT ? sql_text(d->text)
                                   : sql_null();
}

void section_columns(const struct names *n, enum section_kind section, size_t *columns, struct buffer *sql)
{
    size_t count = 0;
    for (size_t k = 0; k < n->key_count; k++) {
        size_t i = FIRST(at, count, strcasecmp(n->keys[columns[at]].name, n->keys[k].name) == 0);
        if (n->keys[k].section != section || i < count)
            continue;
        columns[count++] = k;
        buffer_add_text(sql, ", ");
        expression_add_name(sql, n->keys[k].name);
    }
}

/* --- what is bound, as tables --- */

static int64_t count_rows(void *context)
{
    (void)context;
    return 1;
}

static int read_cell(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct section_view *view = context;
    (void)row;
    (void)e;
    *out = datum_sql(&view->evaluator->keys[view->keys[column - 1]]);
    return 0;
}

static int add_view(struct evaluator *v, int section, struct error *e)
{
    struct section_view *view = &v->views[section];
    const struct table_source source = {count_rows, read_cell, view};
    OWNED_BUFFER columns = BUFFER_INIT;
    view->evaluator = v;
    view->keys = xcalloc(v->names->key_count + 1, sizeof *view->keys);
    buffer_add_text(&columns, "\"#id\"");
    section_columns(v->names, (enum section_kind)section, view->keys, &columns);
    OWNED char *name = xasprintf("#bound %s", section_names[section]);
    return db_add_table(v->db, name, buffer_text(&columns), &source, e);
}

int evaluator_create(const struct names *names, struct db *db, struct evaluator **out, struct error *e)
{
    struct evaluator *v = xcalloc(1, sizeof *v);
    v->names = names;
    v->db = db;
    v->failed_keys = xcalloc(names->key_count + 1, sizeof *v->failed_keys);
    v->memory = xcalloc(REMEMBERED, sizeof *v->memory);
    int rc = 0;
    for (int i = 0; i < SECTION_COUNT && rc == 0; i++)
        rc = add_view(v, i, e);
    if (rc < 0)
        evaluator_free(v);
    else
        *out = v;
    return rc;
}

void evaluator_free(struct evaluator *v)
{
    if (!v)
        return;
    for (int i = 0; i < SECTION_COUNT; i++)
        free(v->views[i].keys);
    free_all(v->failed_keys, v->memory);
    buffer_free(&v->key);
    free(v);
}

/* --- parts --- */

void sql_part_free(struct sql_part *part)
{
    stmt_free(part->select);
    free_all(part->text, part->sql, part->keys);
}

static void prepare(struct evaluator *v, struct sql_part *part)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    unsigned sections = 0;
    const char *word = " FROM ";
    for (size_t i = 0; i < part->key_count; i++)
        sections |= 1U << v->names->keys[part->keys[i]].section;
    buffer_printf(&sql, "SELECT (%s)", part->sql);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (sections & 1U << i) {
            buffer_printf(&sql, "%s\"#bound %s\" AS \"%s\"", word, section_names[i], section_names[i]);
            word = ", ";
        }
    part->number = ++v->prepared;
    v->failed = db_prepare(v->db, buffer_text(&sql), &part->select, &v->why) < 0;
}

static struct remembered *recall(struct evaluator *v, const struct datum *keys, const struct sql_part *part,
                                 struct hash128 *of)
{
    uint32_t place;
    buffer_clear(&v->key);
    buffer_add(&v->key, &part->number, sizeof part->number);
    for (size_t i = 0; i < part->key_count; i++)
        datum_add(&keys[part->keys[i]], &v->key);
    *of = hash_bytes(v->key.data, v->key.length);
    memcpy(&place, of->bytes, sizeof place);
    return &v->memory[place & (REMEMBERED - 1)];
}

/* The cell, whose text stays with the part. */
static struct datum ask(struct evaluator *v, const struct datum *keys, struct sql_part *part)
{
    struct datum cell = {DATUM_NULL, {0}};
    v->keys = keys;
    v->asked++;
    if (guard_next(part->select, &v->why) > 0)
        cell = datum_of_column(part->select, 0);
    else {
        v->failed = true;
        memmove(v->failed_keys, keys, v->names->key_count * sizeof *keys);
    }
    free(part->text);
    part->text = cell.kind == DATUM_TEXT ? xstrdup(cell.text) : NULL;
    if (part->text)
        cell.text = part->text;
    stmt_reset(part->select);
    return cell;
}

struct datum evaluator_work_out(const struct scope *s, struct sql_part *part)
{
    struct evaluator *v = s->evaluator;
    struct hash128 of;
    if (!v->failed && !part->select)
        prepare(v, part);
    if (v->failed)
        return (struct datum){DATUM_NULL, {0}};
    struct remembered *r = recall(v, s->keys, part, &of);
    if (r->taken && memcmp(r->of.bytes, of.bytes, sizeof of.bytes) == 0)
        return r->datum;
    if (part->text && memcmp(part->text_of.bytes, of.bytes, sizeof of.bytes) == 0)
        return (struct datum){DATUM_TEXT, {.text = part->text}};
    part->text_of = of;
    const struct datum cell = ask(v, s->keys, part);
    if (!v->failed && cell.kind != DATUM_TEXT)
        *r = (struct remembered){of, cell, true};
    return cell;
}

bool evaluator_failed(struct evaluator *v, struct error *e)
{
    if (!v->failed)
        return false;
    *e = v->why;
    v->failed = false;
    return true;
}

int64_t evaluator_take_count(struct evaluator *v)
{
    int64_t asked = v->asked;
    v->asked = 0;
    return asked;
}

bool evaluator_fails(struct evaluator *v, const char *sql, struct error *why)
{
    struct formula *f = formula_compile(v->names, sql);
    const struct scope s = {v->failed_keys, v};
    struct error e;
    size_t count;
    const size_t *keys = formula_keys(f, &count);
    if (!ANY(i, count, v->failed_keys[keys[i]].kind == DATUM_UNKNOWN))
        formula_value(f, &s);
    formula_free(f);
    if (!evaluator_failed(v, &e) || e.kind != ERROR_FAILED)
        return false;
    /* Behind what failed, which the caller names. */
    error_set(why, ERROR_USAGE, "%s", e.text + strcspn(e.text, ":") + 2);
    return true;
}
