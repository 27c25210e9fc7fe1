/* Rows in and bytes out: the interfaces of every renderer, so that none of them knows where rows come from or where
 * text goes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/query.h"
#include "util/error.h"

enum cell_kind {
    CELL_NULL = 0, /* absent, unlike an empty text */
    CELL_INT,
    CELL_FLOAT,
    CELL_TEXT,
    CELL_TRUTH, /* for JSON formats only; false if `integer` is 0 */
    CELL_JSON,  /* for JSON formats only; `text` is JSON */
};

struct cell {
    enum cell_kind kind;
    int64_t integer;  /* CELL_INT */
    double real;      /* CELL_FLOAT: any value, including NaN and infinities */
    bool is_exact;    /* CELL_FLOAT: no format rounds it */
    const char *text; /* CELL_TEXT: any `length` bytes, including NUL and invalid UTF-8; may be NULL if `length` is 0.
                         Borrowed until the next call of the function that set it */
    size_t length;
};

struct row_source {
    size_t column_count;
    const struct result_column *columns;
    /* Fills `column_count` cells. Returns 1 for a row, 0 at the end (not called again), -1 with `e` set. */
    int (*next)(void *context, struct cell *cells, struct error *e);
    void *context;
};

/* Writes all `length` bytes, in order, or returns -1 with `e` set and is not called again. */
struct report_sink {
    int (*write)(void *context, const void *bytes, size_t length, struct error *e);
    void *context;
};

/* Sinks that append to a buffer, and that write to an open file. */
struct buffer;
struct atomic_file;
struct report_sink report_sink_of_buffer(struct buffer *out);
struct report_sink report_sink_of_file(struct atomic_file *file);
