/* Tables whose rows are computed when they are asked for. */
#pragma once

#include "database/function.h"

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
