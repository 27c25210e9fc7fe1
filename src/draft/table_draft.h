/* Drafts a sweep file with [import] for an undescribed table, from each column's name and cells. A comment marks every
 * guess. */
#pragma once

#include <stddef.h>

#include "util/buffer.h"
#include "util/error.h"

struct import_draft;

/* For a table with these columns, which are copied. NULL: they are named by values, and `e` (ERROR_USAGE) says what to
 * do. */
struct import_draft *import_draft_create(const char *const *columns, size_t count, struct error *e);
void import_draft_free(struct import_draft *d);

/* Adds a row: one text per column, NULL for an empty cell. */
void import_draft_add(struct import_draft *d, const char *const *cells);

/* Writes the whole file. `name` is the sweep's; `table` is the table's name in comments. -1 (ERROR_USAGE) where the
 * rows are to be made others first, and says how. */
int import_draft_write(struct import_draft *d, const char *name, const char *table, struct buffer *out,
                       struct error *e);
