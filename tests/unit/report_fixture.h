/* Rows from an array and a sink into memory, both of which can be made to fail. */
#pragma once

#include "report/render.h"
#include "report/rows.h"
#include "util/buffer.h"

#define NONE                                                                                                           \
    {                                                                                                                  \
        .kind = CELL_NULL                                                                                              \
    }
#define INT(n)                                                                                                         \
    {                                                                                                                  \
        .kind = CELL_INT, .integer = (n)                                                                               \
    }
#define FLOAT(x)                                                                                                       \
    {                                                                                                                  \
        .kind = CELL_FLOAT, .real = (x)                                                                                \
    }
/* A literal, NUL bytes within it included. */
#define TEXT(literal)                                                                                                  \
    {                                                                                                                  \
        .kind = CELL_TEXT, .text = (literal), .length = sizeof(literal) - 1                                            \
    }

#define NEVER ((size_t)-1)

struct fixture_rows {
    const struct cell *cells; /* row by row */
    size_t row_count;
    size_t column_count;
    size_t fail_at; /* the row whose reading fails, or NEVER */
    size_t given;
    size_t calls;
};

struct fixture_sink {
    struct buffer text;
    size_t fail_at; /* the write that fails with ENOSPC, or NEVER */
    size_t calls;
};

int fixture_next(void *context, struct cell *cells, struct error *e);
/* `units` NULL: none. It stands until it is called again. */
struct row_source fixture_source(size_t count, const char *const *names, const char *const *units,
                                 struct fixture_rows *rows);
int fixture_write(void *context, const void *bytes, size_t length, struct error *e);

/* Returns what `render` makes of the rows with these options, NULL-terminated names and units (NULL: none). The
 * caller's; the test fails when rendering does. */
char *fixture_render(render_function *render, const struct cell *cells, size_t row_count, const char *const *names,
                     const char *const *units, struct render_options options);
