/* meshsweep's SQL functions, for the expressions of one connection (database/guard.h says which names are allowed). */
#pragma once

#include "database/db.h"

/* 1 with `*out` as the result, 0 for NULL, -1 with `e` filled: then the statement fails with its text. */
typedef int (*sql_function)(void *context, const struct sql_value *arguments, int count, int64_t *out, struct error *e);

/* For any number of arguments. `context` must outlive the connection. What it returns may change from one run of a
 * statement to the next. */
int db_add_function(struct db *db, const char *name, sql_function call, void *context, struct error *e);

/* The same for numbers that are not whole; false: NULL. It must give equal results for equal arguments while a
 * statement runs: SQLite may call it once for them. */
typedef bool (*sql_real_function)(void *context, const struct sql_value *arguments, int count, double *out);
int db_add_real_function(struct db *db, const char *name, sql_real_function call, void *context, struct error *e);
