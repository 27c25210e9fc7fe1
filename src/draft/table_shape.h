/* The shape of an undescribed table, from rows that are no measurements: further lines of a header, a column for each
 * value of a key, sums below the rest. Pure. */
#pragma once

#include <stddef.h>

#include "util/buffer.h"
#include "util/error.h"

struct table_shape;

/* For a table with these columns, which are copied; NULL: they are named by values (ERROR_USAGE says what to do). */
struct table_shape *table_shape_create(const char *const *columns, size_t count, struct error *e);
void table_shape_free(struct table_shape *s);

/* Adds a row: one text per column, NULL for an empty cell. */
void table_shape_add(struct table_shape *s, const char *const *cells);

/* -1 (ERROR_USAGE) where the rows are to be made others first, and says how. Else adds what refuses those that sum up
 * others to the sweep file's text. */
int table_shape_finish(const struct table_shape *s, struct buffer *out, struct error *e);
