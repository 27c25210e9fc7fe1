/* A statement's rows for the renderers of report/. */
#ifndef MESHSWEEP_REPORT_STATEMENT_ROWS_H
#define MESHSWEEP_REPORT_STATEMENT_ROWS_H

#include "database/db.h"
#include "report/rows.h"
#include "results/query.h"

struct statement_rows {
    struct row_source source;
    uint64_t count; /* rows given so far */
    struct stmt *statement;
    char **names;
    const enum key_type *types; /* one per column; NULL: as SQLite has them. Borrowed */
};

/* `s` is borrowed, and `units` (may be NULL), one per column; release with statement_rows_free. */
void statement_rows_init(struct statement_rows *r, struct stmt *s, char *const *units);
void statement_rows_free(struct statement_rows *r);

#endif
