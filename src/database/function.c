#include "database/function.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "database/sqlite.h"
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
    return db_add_text_function(db, "number", 1, number, e) < 0
               ? -1
               : db_add_real_function(db, "half_width", half_width, NULL, e);
}
