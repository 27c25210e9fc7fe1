#include "database/function.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/sqlite.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/quantile.h"

#define ARGUMENTS_MOST 8
#define REAL_ARGUMENTS_MOST 96
#define TEXT_ARGUMENTS_MOST 24

struct function {
    sql_function call; /* one of the three */
    sql_real_function call_real;
    sql_text_function call_text;
    void *context;
};

/* In place: a struct that is returned and copied costs more than all else of a call. */
static void read_argument(sqlite3_value *v, struct sql_value *out)
{
    switch (sqlite3_value_type(v)) {
    case SQLITE_INTEGER:
        out->type = COLUMN_INT;
        out->integer = sqlite3_value_int64(v);
        break;
    case SQLITE_TEXT:
        out->type = COLUMN_TEXT;
        out->text = (const char *)sqlite3_value_text(v);
        if (!out->text)
            out_of_memory();
        break;
    case SQLITE_FLOAT:
        out->type = COLUMN_FLOAT;
        out->real = sqlite3_value_double(v);
        break;
    case SQLITE_BLOB:
        out->type = COLUMN_BLOB;
        break;
    default:
        out->type = COLUMN_NULL;
    }
}

static void call(sqlite3_context *c, int count, sqlite3_value **values)
{
    const struct function *f = sqlite3_user_data(c);
    struct sql_value arguments[ARGUMENTS_MOST];
    struct error e; /* 16 KiB: not worth zeroing at every call */
    int64_t result;
    if (count > ARGUMENTS_MOST) {
        sqlite3_result_error(c, "too many arguments", -1);
        return;
    }
    for (int i = 0; i < count; i++)
        read_argument(values[i], &arguments[i]);
    int rc = f->call(f->context, arguments, count, &result, &e);
    if (rc > 0)
        sqlite3_result_int64(c, result);
    else if (rc == 0)
        sqlite3_result_null(c);
    else
        sqlite3_result_error(c, e.text, -1);
}

double sql_number(const struct sql_value *v)
{
    return v->type == COLUMN_INT ? (double)v->integer : v->type == COLUMN_FLOAT ? v->real : NAN;
}

static void call_real(sqlite3_context *c, int count, sqlite3_value **values)
{
    const struct function *f = sqlite3_user_data(c);
    struct sql_value arguments[REAL_ARGUMENTS_MOST];
    double result;
    if (count > REAL_ARGUMENTS_MOST) {
        sqlite3_result_error(c, "too many arguments", -1);
        return;
    }
    for (int i = 0; i < count; i++)
        read_argument(values[i], &arguments[i]);
    if (f->call_real(f->context, arguments, count, &result))
        sqlite3_result_double(c, result);
    else
        sqlite3_result_null(c);
}

static void call_text(sqlite3_context *c, int count, sqlite3_value **values)
{
    const struct function *f = sqlite3_user_data(c);
    struct sql_value arguments[TEXT_ARGUMENTS_MOST] = {{COLUMN_NULL, 0, 0, NULL}};
    OWNED_BUFFER out = BUFFER_INIT;
    for (int i = 0; i < count && i < TEXT_ARGUMENTS_MOST; i++)
        read_argument(values[i], &arguments[i]);
    if (count > 0 && arguments[0].type == COLUMN_NULL)
        return;
    f->call_text(arguments, &out);
    sqlite3_result_text64(c, buffer_text(&out), out.length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* `like`: what is called, of which a copy is kept. */
static int add_function(struct db *db, const char *name, int arguments, const struct function *like, struct error *e)
{
    struct function *f = xmalloc(sizeof *f);
    *f = *like;
    /* One that may refuse its arguments is not of any schema. */
    const int flags = f->call ? 0 : SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    return sqlite3_create_function_v2(db->handle, name, arguments, SQLITE_UTF8 | flags, f,
                                      f->call        ? call
                                      : f->call_real ? call_real
                                                     : call_text,
                                      NULL, NULL, free) == SQLITE_OK
               ? 0
               : db_error(db, e);
}

int db_add_function(struct db *db, const char *name, sql_function function, void *context, struct error *e)
{
    return add_function(db, name, -1, &(struct function){.call = function, .context = context}, e);
}

int db_add_real_function(struct db *db, const char *name, sql_real_function function, void *context, struct error *e)
{
    return add_function(db, name, -1, &(struct function){.call_real = function, .context = context}, e);
}

int db_add_text_function(struct db *db, const char *name, int arguments, sql_text_function function, struct error *e)
{
    assert(arguments <= TEXT_ARGUMENTS_MOST);
    return add_function(db, name, arguments, &(struct function){.call_text = function}, e);
}

/* --- of every connection --- */

static void number(const struct sql_value *arguments, struct buffer *out)
{
    const double value = sql_number(arguments);
    if (isfinite(value))
        buffer_add_double(out, value);
    else
        buffer_add_text(out, "null");
}

static void quoted(const struct sql_value *arguments, struct buffer *out)
{
    buffer_add_json_string(out, arguments[0].text, strlen(arguments[0].text));
}

static bool half_width(void *context, const struct sql_value *a, int count, double *out)
{
    (void)context;
    const struct standard_error first = {sql_number(&a[0]), sql_number(&a[1])},
                                second = {sql_number(&a[2]), sql_number(&a[3])};
    *out = count == 5 ? lead_half_width(first, second, (size_t)sql_number(&a[4])) : NAN;
    return !isnan(*out);
}

int functions_add(struct db *db, struct error *e)
{
    return db_add_text_function(db, "number", 1, number, e) < 0 || db_add_text_function(db, "quoted", 1, quoted, e) < 0
               ? -1
               : db_add_real_function(db, "half_width", half_width, NULL, e);
}

/* --- tables --- */

struct module {
    struct table_source source;
    char *declaration;
};

struct computed_table {
    sqlite3_vtab base;
    const struct module *module;
};

struct computed_cursor {
    sqlite3_vtab_cursor base;
    int64_t row, end;
};

static int connect(sqlite3 *db, void *context, int count, const char *const *arguments, sqlite3_vtab **out, char **why)
{
    struct module *m = context;
    (void)count;
    (void)arguments;
    (void)why;
    int rc = sqlite3_declare_vtab(db, m->declaration);
    if (rc != SQLITE_OK)
        return rc;
    struct computed_table *t = xcalloc(1, sizeof *t);
    t->module = m;
    *out = &t->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *base)
{
    free(base);
    return SQLITE_OK;
}

/* One row by its number, or all in order. */
static int choose(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = 1e12;
    info->estimatedRows = 1000000;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn > 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ ||
            !info->aConstraint[i].usable)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxNum = 1;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        break;
    }
    info->orderByConsumed = info->nOrderBy == 1 && info->aOrderBy[0].iColumn <= 0 && !info->aOrderBy[0].desc;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    struct computed_cursor *c = xcalloc(1, sizeof *c);
    *out = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    free(base);
    return SQLITE_OK;
}

static const struct table_source *source_of(const sqlite3_vtab_cursor *base)
{
    return &((const struct computed_table *)base->pVtab)->module->source;
}

static int filter(sqlite3_vtab_cursor *base, int by_number, const char *unused, int count, sqlite3_value **values)
{
    struct computed_cursor *c = (struct computed_cursor *)base;
    const struct table_source *source = source_of(base);
    (void)unused;
    c->row = 0;
    c->end = source->count(source->context);
    if (!by_number || count < 1)
        return SQLITE_OK;
    bool is_number = sqlite3_value_type(values[0]) == SQLITE_INTEGER;
    c->row = sqlite3_value_int64(values[0]);
    c->end = is_number && c->row >= 0 && c->row < c->end ? c->row + 1 : c->row;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    ((struct computed_cursor *)base)->row++;
    return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    const struct computed_cursor *c = (const struct computed_cursor *)base;
    return c->row >= c->end;
}

static void give_value(sqlite3_context *context, const struct sql_value *value)
{
    switch (value->type) {
    case COLUMN_INT:
        sqlite3_result_int64(context, value->integer);
        break;
    case COLUMN_FLOAT:
        sqlite3_result_double(context, value->real);
        break;
    case COLUMN_TEXT:
        sqlite3_result_text(context, value->text, -1, SQLITE_TRANSIENT);
        break;
    case COLUMN_BLOB:
        sqlite3_result_blob(context, value->text, (int)value->integer, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_result_null(context);
    }
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
    const struct computed_cursor *c = (const struct computed_cursor *)base;
    const struct table_source *source = source_of(base);
    struct sql_value value = {0};
    struct error e;
    if (index == 0)
        sqlite3_result_int64(context, c->row);
    else if (source->cell(source->context, c->row, index, &value, &e) < 0)
        sqlite3_result_error(context, e.text, -1);
    else
        give_value(context, &value);
    return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = ((const struct computed_cursor *)base)->row;
    return SQLITE_OK;
}

/* Eponymous: connect() stands for create(), and there is nothing to store. */
static const sqlite3_module methods = {
    .iVersion = 1,
    .xConnect = connect,
    .xBestIndex = choose,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = column,
    .xRowid = row_number,
};

static void release(void *context)
{
    OWNED struct module *m = context;
    free(m->declaration);
}

/* SQLite declares a table when it is first used: not by an expression under the guard, which may declare nothing. */
static int use(struct db *db, const char *name, struct error *e)
{
    OWNED_STMT *probe = NULL;
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", name);
    int rc = db_prepare(db, sql, &probe, e);
    sqlite3_free(sql);
    return rc;
}

int db_add_table(struct db *db, const char *name, const char *columns, const struct table_source *source,
                 struct error *e)
{
    struct module *m = xmalloc(sizeof *m);
    *m = (struct module){*source, xasprintf("CREATE TABLE t(%s)", columns)};
    if (sqlite3_create_module_v2(db->handle, name, &methods, m, release) != SQLITE_OK)
        return db_error(db, e);
    return use(db, name, e);
}

/* --- arrays --- */

static int64_t count_structs(void *context)
{
    return (int64_t) * ((const struct array_source *)context)->count;
}

static int read_field(void *context, int64_t row, int column, struct sql_value *out, struct error *e)
{
    const struct array_source *a = context;
    const struct field *f = &a->fields[column - 1];
    const char *structs;
    (void)e;
    memcpy(&structs, a->array, sizeof structs);
    const void *at = structs + (size_t)row * a->bytes + f->at;
    switch (f->kind) {
    case FIELD_INT:
        *out = sql_int(*(const int64_t *)at);
        break;
    case FIELD_POSITIVE:
        *out = sql_positive(*(const int64_t *)at);
        break;
    case FIELD_REAL:
        *out = sql_real(*(const double *)at);
        break;
    case FIELD_TEXT:
        *out = sql_text(*(const char *const *)at);
        break;
    case FIELD_HASH:
        *out = sql_hash(at);
        break;
    case FIELD_BOOL:
        *out = sql_int(*(const bool *)at);
        break;
    }
    return 0;
}

int db_add_array(struct db *db, const char *name, const struct array_source *source, struct error *e)
{
    const struct table_source computed = {count_structs, read_field, (void *)source};
    OWNED_BUFFER columns = BUFFER_INIT;
    buffer_add_text(&columns, "number INTEGER");
    for (size_t i = 0; i < source->field_count; i++)
        buffer_printf(&columns, ", %s", source->fields[i].column);
    return db_add_table(db, name, buffer_text(&columns), &computed, e);
}

void db_drop_table(struct db *db, const char *name)
{
    sqlite3_create_module_v2(db->handle, name, NULL, NULL, NULL);
}
