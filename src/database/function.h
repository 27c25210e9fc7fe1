/* meshsweep's SQL functions, for the expressions of one connection (database/guard.h says which names are allowed). */
#pragma once

#include "database/db.h"
#include "util/buffer.h"

/* NaN for what is no number. */
double sql_number(const struct sql_value *v);

/* 1 with `*out` as the result, 0 for NULL, -1 with `e` filled: then the statement fails with its text. */
typedef int (*sql_function)(void *context, const struct sql_value *arguments, int count, int64_t *out, struct error *e);

/* For any number of arguments. `context` must outlive the connection. What it returns may change from one run of a
 * statement to the next. */
int db_add_function(struct db *db, const char *name, sql_function call, void *context, struct error *e);

/* The same for numbers that are not whole; false: NULL. Views may call it, too. It must give equal results for equal
 * arguments while a statement runs: SQLite may call it once for them. */
typedef bool (*sql_real_function)(void *context, const struct sql_value *arguments, int count, double *out);
int db_add_real_function(struct db *db, const char *name, sql_real_function call, void *context, struct error *e);

/* The same for texts, which are functions of their arguments alone: it appends to `out`. NULL if the first argument
 * is. `arguments` -1: of any number; those that are not given are NULL, up to the 24th. Views may call
 * it, too. */
typedef void (*sql_text_function)(const struct sql_value *arguments, struct buffer *out);
int db_add_text_function(struct db *db, const char *name, int arguments, sql_text_function call, struct error *e);

/* --- tables --- */

/* Tables whose rows are computed when they are asked for. */

/* Rows are numbered from 0; column 0 is that number. */
struct table_source {
    int64_t (*count)(void *context);
    /* Fills `out`, zeroed before, with a column from 1 on; a blob is `text` with `integer` bytes. Texts and blobs are
     * borrowed until the next call. -1: there is no memory of how it went wrong but `e`. */
    int (*cell)(void *context, int64_t row, int column, struct sql_value *out, struct error *e);
    void *context; /* outlives the connection, or the table */
};

/* Makes the table `name` with `columns`, the list between the parentheses of CREATE TABLE; the first is the number.
 * Columns without a type compare as those of other tables do. */
int db_add_table(struct db *db, const char *name, const char *columns, const struct table_source *source,
                 struct error *e);

/* The rows of an array of structs: each column has its name, its kind, and where in the struct it stands. */
enum field_kind {
    FIELD_INT,
    FIELD_POSITIVE,
    FIELD_REAL,
    FIELD_TEXT,
    FIELD_HASH,
    FIELD_BOOL
}; /* as sql_int() and so on */
struct field {
    const char *column;
    enum field_kind kind;
    size_t at;
};
struct array_source {
    const void *array; /* where the pointer to the first struct stands, which may change, as may the count */
    const size_t *count;
    size_t bytes; /* of a struct */
    const struct field *fields;
    size_t field_count;
};
#define ARRAY_SOURCE(array, count, fields)                                                                             \
    ((struct array_source){&(array), &(count), sizeof *(array), fields, sizeof(fields) / sizeof *(fields)})

/* db_add_table of such a source, which outlives the table. */
int db_add_array(struct db *db, const char *name, const struct array_source *source, struct error *e);

/* Takes it away again; no statement may read it any more. Nothing where there is none. */
void db_drop_table(struct db *db, const char *name);
