/* Tables in files (CSV, below a title too, Markdown, JSON; in UTF-8 or UTF-16): their rows, and what [import] makes of
 * them. */
#pragma once

#include "import/table.h"
#include "util/hash.h"

/* The table that was read. */
struct table_content {
    size_t bytes;
    struct hash128 hash; /* of them */
};

struct table_file {
    const char *file;          /* its path */
    const struct sweep *sweep; /* with [import] */
    struct table_content content;
    struct import_table *table; /* made from the header */
    size_t rows;
};

/* Calls `each` for the header, then for each row: one text per column, NULL for an empty cell, borrowed for the call.
 * -1: the file's, or as `each` filled it. */
typedef int table_row(void *context, size_t line, const char *const *cells, size_t count, struct error *e);
int table_read_rows(const char *file, struct table_content *out, table_row *each, void *context, struct error *e);

/* Reads and compiles it. -1 (ERROR_USAGE, ERROR_NOTHING without rows); table_file_free() in either case. */
int table_file_read(struct table_file *in, struct error *e);
void table_file_free(struct table_file *in);
