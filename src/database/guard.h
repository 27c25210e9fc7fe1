/* SQL expressions that people write, compiled under an authorizer: they may read columns of the tables of their
 * statement and call pure functions, nothing else. No write, no ATTACH, no PRAGMA, no subquery, no extension. */
#pragma once

#include "database/db.h"

/* As db_prepare, for a SELECT that contains somebody's expression. A refusal names what was asked for: "function
 * load_extension() may not be used here". ERROR_USAGE. */
int guard_prepare(struct db *db, const char *sql, struct stmt **out, struct error *e);

/* As guard_prepare for `before`, the expression in parentheses and `after`. It must stand there without parentheses,
 * too, or it could close them: "0) OR (1". */
int guard_prepare_expression(struct db *db, const char *before, const char *expression, const char *after,
                             struct stmt **out, struct error *e);
/* The same; `each` is called with the name of every column that the statement reads, once or more often. */
typedef void guard_column(void *context, const char *name);
int guard_prepare_reading(struct db *db, const char *sql, guard_column *each, void *context, struct stmt **out,
                          struct error *e);

/* Runs a statement of guard_prepare that gives one row of one value, and resets it: 1 when the value is true, 0 when it
 * is false or NULL, -1 when the expression fails (ERROR_USAGE, in SQLite's words). */
int guard_truth(struct stmt *s, struct error *e);

/* Checks that `expression` may stand after WHERE in a SELECT over something with these columns: as guard_prepare has
 * it. It is compiled apart from the statement it is for, because that may be over a view whose own subqueries SQLite
 * cannot tell from those of the expression. ERROR_USAGE; a column that does not exist is "no such column: x". */
int guard_check_where(const char *expression, const char *const *columns, size_t count, struct error *e);

/* Ends the statements of `db` with an error once this process has used `ms` more of processor time; 0: no limit. For
 * --where and the like, where a silly expression should stop, and a reader that pauses should not. */
void guard_limit_processor(struct db *db, int64_t ms);

/* Bounds what one call of a function can cost, which nothing can interrupt, to about a second: from now on `db` refuses
 * texts of more than 64 KiB, sets for trim() of more than 5,000 characters, and patterns of LIKE and GLOB of more than
 * 1,000 bytes. */
void guard_limit_values(struct db *db);

/* Gives the statements of `db` that guard_next runs `ms` in all from now on; what was left of an earlier allowance is
 * gone. `sentence` is what the error says once it is used up; copied. */
void guard_limit_time(struct db *db, int64_t ms, const char *sentence);

/* As stmt_next, within the allowance. ERROR_USAGE when that is used up. */
int guard_next(struct stmt *s, struct error *e);
