/* Rows going in and bytes going out: what every renderer takes, so that none of them knows where rows come from or
 * where text goes. */
#ifndef MESHSWEEP_REPORT_ROWS_H
#define MESHSWEEP_REPORT_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum cell_kind {
    CELL_NULL = 0, /* absent: not the same as an empty text */
    CELL_INT,
    CELL_FLOAT,
    CELL_TEXT,
    CELL_TRUTH, /* only for formats of JSON: false where `integer` is 0 */
    CELL_JSON,  /* only for formats of JSON: text that is JSON */
};

struct cell {
    enum cell_kind kind;
    int64_t integer;  /* CELL_INT */
    double real;      /* CELL_FLOAT: any value, NaN and infinities included */
    const char *text; /* CELL_TEXT: `length` bytes of any kind, NUL and invalid UTF-8 included; may be NULL when
                         `length` is 0. Borrowed until the next call of the function that gave it */
    size_t length;
};

struct row_source {
    size_t column_count;
    const char *const *names; /* NUL-terminated, any bytes */
    const char *const *units; /* NULL, or per column the unit, or NULL or "" where there is none */
    /* Fills `column_count` cells: 1 for a row, 0 at the end (not called again), -1 with `e` filled. */
    int (*next)(void *context, struct cell *cells, struct error *e);
    void *context;
};

/* Takes all of `length` bytes, in order, or returns -1 with `e` filled; then it is not called again. */
struct report_sink {
    int (*write)(void *context, const void *bytes, size_t length, struct error *e);
    void *context;
};

/* What appends to a buffer, and what writes to a file that is open. */
struct buffer;
struct atomic_file;
struct report_sink report_sink_of_buffer(struct buffer *out);
struct report_sink report_sink_of_file(struct atomic_file *file);

#endif
