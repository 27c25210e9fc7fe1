/* A CSV file that [import] reads. */
#ifndef MESHSWEEP_CLI_TABLE_FILE_H
#define MESHSWEEP_CLI_TABLE_FILE_H

#include "import/table.h"
#include "util/buffer.h"

struct table_file {
    const char *file;           /* its path */
    const struct sweep *sweep;  /* with [import] */
    struct buffer bytes;        /* BUFFER_INIT; then the whole of it */
    size_t given;               /* of them, to the CSV reader */
    struct import_table *table; /* made from the header */
    size_t rows;
};

/* Reads and compiles it. -1 (ERROR_USAGE, ERROR_NOTHING without rows); table_file_free() in either case. */
int table_file_read(struct table_file *in, struct error *e);
void table_file_free(struct table_file *in);

#endif
