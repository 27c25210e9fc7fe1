/* A statement's rows in one of the formats, with the units and types that the database knows of its columns. */
#ifndef MESHSWEEP_REPORT_STATEMENT_ROWS_H
#define MESHSWEEP_REPORT_STATEMENT_ROWS_H

#include "database/db.h"
#include "report/render.h"

/* How rows are shown, and where they go. */
struct shown_rows {
    const struct report_format *format;
    struct render_options options;
    const struct report_sink *sink;
    bool has_keys; /* columns with the names of keys are keys, as in the views `results` and `ranking` */
};

/* `*count`: the rows that were read, of a failure too; NULL: not wanted. */
int statement_rows_render(struct db *db, struct stmt *s, const struct shown_rows *shown, uint64_t *count,
                          struct error *e);

#endif
