#include "report/statement_rows.h"

#include <stdlib.h>

#include "util/memory.h"

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

static int next_row(void *context, struct cell *cells, struct error *e)
{
    struct statement_rows *r = context;
    int rc = stmt_next(r->statement, e);
    for (int i = 0; rc > 0 && i < stmt_column_count(r->statement); i++) {
        cells[i] = cell_of(r->statement, i);
        if (r->types && r->types[i] == KEY_TRUTH && cells[i].kind == CELL_INT)
            cells[i].kind = CELL_TRUTH;
        if (r->types && r->types[i] == KEY_JSON && cells[i].kind == CELL_TEXT)
            cells[i].kind = CELL_JSON;
    }
    r->count += rc > 0;
    return rc;
}

void statement_rows_init(struct statement_rows *r, struct stmt *s, char *const *units)
{
    size_t count = (size_t)stmt_column_count(s);
    char **names = xcalloc(count + 1, sizeof *names);
    /* Copies: SQLite's own may move at the first step. */
    for (size_t i = 0; i < count; i++)
        names[i] = xstrdup(stmt_column_name(s, (int)i));
    *r = (struct statement_rows){
        .source = {count, (const char *const *)names, (const char *const *)units, next_row, r},
        .statement = s,
        .names = names,
    };
}

void statement_rows_free(struct statement_rows *r)
{
    for (char **name = r->names; *name; name++)
        free(*name);
    free(r->names);
}
