/* Renders a statement's rows in one of the formats, with its columns' units and types from the database. */
#pragma once

#include "database/db.h"
#include "report/render.h"

/* How and where rows are shown. */
struct shown_rows {
    const struct report_format *format;
    struct render_options options;
    const struct report_sink *sink;
    bool has_keys; /* columns named like keys are keys, as in the views `results` and `ranking` */
};

/* `*count` is set to the rows read, also on failure; NULL: not wanted. */
int statement_rows_render(struct db *db, struct stmt *s, const struct shown_rows *shown, uint64_t *count,
                          struct error *e);
