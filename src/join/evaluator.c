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

struct prepared {
    struct stmt *select;
    uint64_t number;
    char *text;             /* of the last result; NULL: it was none */
    struct hash128 text_of; /* the part and the values of its keys, as above */
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

size_t section_columns(const struct names *n, enum section_kind section, size_t *columns)
{
    size_t count = 0;
    for (size_t k = 0; k < n->key_count; k++) {
        size_t i = FIRST(at, count, strcasecmp(n->keys[columns[at]].name, n->keys[k].name) == 0);
        if (n->keys[k].section == section && i == count)
            columns[count++] = k;
    }
    return count;
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
    const size_t count = section_columns(v->names, (enum section_kind)section, view->keys);
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(&columns, ", ");
        expression_add_name(&columns, v->names->keys[view->keys[i]].name);
    }
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

static void add_select(const struct evaluator *v, const char *what, const char *sql, const size_t *keys, size_t count,
                       struct buffer *out)
{
    unsigned sections = 0;
    const char *word = " FROM ";
    for (size_t i = 0; i < count; i++)
        sections |= 1U << v->names->keys[keys[i]].section;
    buffer_printf(out, "SELECT %s(%s)", what, sql);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (sections & 1U << i) {
            buffer_printf(out, "%s\"#bound %s\" AS \"%s\"", word, section_names[i], section_names[i]);
            word = ", ";
        }
}

static void release(void *prepared)
{
    struct prepared *p = prepared;
    stmt_free(p->select);
    free_all(p->text, p);
}

static struct prepared *prepare(struct evaluator *v, struct sql_part *part)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    if (part->prepared)
        return part->prepared;
    struct prepared *p = xcalloc(1, sizeof *p);
    p->number = ++v->prepared;
    add_select(v, "", part->sql, part->keys, part->key_count, &sql);
    if (db_prepare(v->db, buffer_text(&sql), &p->select, &v->why) < 0)
        v->failed = true;
    part->release = release;
    return part->prepared = p;
}

static struct remembered *recall(struct evaluator *v, const struct sql_part *part, const struct prepared *p,
                                 struct hash128 *of)
{
    uint32_t place;
    buffer_clear(&v->key);
    buffer_add(&v->key, &p->number, sizeof p->number);
    for (size_t i = 0; i < part->key_count; i++)
        datum_add(&v->keys[part->keys[i]], &v->key);
    *of = hash_bytes(v->key.data, v->key.length);
    memcpy(&place, of->bytes, sizeof place);
    return &v->memory[place & (REMEMBERED - 1)];
}

static void note_failure(struct evaluator *v)
{
    v->failed = true;
    memcpy(v->failed_keys, v->keys, v->names->key_count * sizeof *v->keys);
}

static struct datum work_out(const struct scope *s, struct sql_part *part)
{
    struct evaluator *v = s->context;
    struct datum cell = {DATUM_NULL, {0}};
    struct hash128 of;
    struct prepared *p = v->failed ? NULL : prepare(v, part);
    if (v->failed)
        return cell;
    v->keys = s->keys;
    struct remembered *r = recall(v, part, p, &of);
    if (r->taken && memcmp(r->of.bytes, of.bytes, sizeof of.bytes) == 0)
        return r->datum;
    if (p->text && memcmp(p->text_of.bytes, of.bytes, sizeof of.bytes) == 0)
        return (struct datum){DATUM_TEXT, {.text = p->text}};
    free(p->text);
    p->text = NULL;
    p->text_of = of;
    int rc = guard_next(p->select, &v->why);
    v->asked++;
    if (rc > 0)
        cell = datum_of_column(p->select, 0);
    if (cell.kind == DATUM_TEXT)
        cell.text = p->text = xstrdup(cell.text);
    stmt_reset(p->select);
    if (rc < 0)
        note_failure(v);
    if (rc > 0 && cell.kind != DATUM_TEXT)
        *r = (struct remembered){of, cell, true};
    return cell;
}

struct scope evaluator_scope(struct evaluator *v, struct datum *keys)
{
    return (struct scope){keys, work_out, v};
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

bool evaluator_fails(struct evaluator *v, const struct expression *x, struct error *why)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    for (size_t i = 0; i < x->key_count; i++)
        if (v->failed_keys[x->keys[i]].kind == DATUM_UNKNOWN)
            return false;
    v->keys = v->failed_keys;
    add_select(v, "count", x->sql, x->keys, x->key_count, &sql);
    bool fails = guard_fails(v->db, buffer_text(&sql), why);
    return fails;
}
