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
