/* Drafts a sweep file with [import] for an undescribed table, from each column's name and cells. A comment marks every
 * guess. Pure. */
#pragma once

#include <stddef.h>

#include "util/buffer.h"

struct import_draft;

/* For a table with these columns, which are copied. Never NULL; import_draft_free frees it. */
struct import_draft *import_draft_create(const char *const *columns, size_t count);
void import_draft_free(struct import_draft *d);

/* Adds a row: one text per column, NULL for an empty cell. */
void import_draft_add(struct import_draft *d, const char *const *cells);

/* Writes the whole file. `name` is the sweep's; `table` is the table's name in comments. */
void import_draft_write(struct import_draft *d, const char *name, const char *table, struct buffer *out);
