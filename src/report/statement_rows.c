#include "report/statement_rows.h"

#include <stdlib.h>

#include "results/query.h"
#include "util/memory.h"

struct statement_rows {
    struct stmt *statement;
    const struct result_column *columns;
    bool is_json; /* the format writes booleans and JSON as such */
    uint64_t count;
};

static struct cell cell_of(const struct stmt *s, int column)
{
    switch (stmt_type(s, column)) {
    case COLUMN_INT:
        return (struct cell){.kind = CELL_INT, .integer = stmt_int(s, column)};
    case COLUMN_FLOAT:
        return (struct cell){.kind = CELL_FLOAT, .real = stmt_double(s, column)};
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        return (struct cell){.kind = CELL_TEXT, .text = stmt_blob(s, column), .length = stmt_bytes(s, column)};
    case COLUMN_NULL:
        break;
    }
    return (struct cell){.kind = CELL_NULL};
}

/* Types that SQLite lacks. */
static void give_type(struct cell *cell, enum key_type type, bool is_json)
{
    if (type == KEY_TRUTH && cell->kind == CELL_INT && is_json)
        cell->kind = CELL_TRUTH;
    else if (type == KEY_TRUTH && cell->kind == CELL_INT)
        *cell =
            (struct cell){.kind = CELL_TEXT, .text = cell->integer ? "true" : "false", .length = cell->integer ? 4 : 5};
    else if (type == KEY_JSON && cell->kind == CELL_TEXT && is_json)
        cell->kind = CELL_JSON;
    cell->is_exact = type == KEY_OTHER;
}

static int next_row(void *context, struct cell *cells, struct error *e)
{
    struct statement_rows *r = context;
    int rc = stmt_next(r->statement, e);
    for (int i = 0; rc > 0 && i < stmt_column_count(r->statement); i++) {
        cells[i] = cell_of(r->statement, i);
        give_type(&cells[i], r->columns[i].type, r->is_json);
    }
    r->count += rc > 0;
    return rc;
}

int statement_rows_render(struct db *db, struct stmt *s, const struct shown_rows *shown, uint64_t *count,
                          struct error *e)
{
    const enum unit_form form = shown->format == &report_document ? UNITS_BARE
                                : shown->options.units            ? UNITS_ALL
                                                                  : UNITS_SHOWN;
    struct statement_rows rows = {.statement = s, .is_json = shown->format->is_json};
    struct result_column *columns = NULL;
    int rc = result_columns(db, s, form, shown->has_keys, &columns, e);
    rows.columns = columns;
    if (rc == 0) {
        const struct row_source source = {(size_t)stmt_column_count(s), columns, next_row, &rows};
        rc = shown->format->render(&source, &shown->options, shown->sink, e);
    }
    result_columns_free(columns);
    if (count)
        *count = rows.count;
    return rc;
}
