/* A sweep file with [import] for a table that nobody has described yet: what each column is, by its name and its cells.
 * Every guess that is one stands beside a comment that says so. Pure. */
#ifndef MESHSWEEP_DRAFT_TABLE_DRAFT_H
#define MESHSWEEP_DRAFT_TABLE_DRAFT_H

#include <stddef.h>

#include "util/buffer.h"

struct import_draft;

/* Of a table with these columns, copied. Never NULL; import_draft_free. */
struct import_draft *import_draft_create(const char *const *columns, size_t count);
void import_draft_free(struct import_draft *d);

/* A row: one text per column, NULL for an empty cell. */
void import_draft_add(struct import_draft *d, const char *const *cells);

/* The whole file. `name` is the sweep's, `table` what comments call the table. */
void import_draft_write(struct import_draft *d, const char *name, const char *table, struct buffer *out);

#endif
