/* The data of a plot as a table, for readers who cannot see it or want the numbers. */
#ifndef MESHSWEEP_PAGE_FIGURES_H
#define MESHSWEEP_PAGE_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

/* Rows in one table; if there are more, figures_end() says so. */
#define FIGURES_MOST 250

struct figures_column {
    const char *title, *unit; /* title "": the corner above row titles; unit NULL or "": none */
};

/* Begins a closed "<details>" with the table "CAPTION, as a table", up to "<tbody>". Each row begins with figures_job()
 * or "<tr>". */
void figures_begin(struct buffer *out, const char *caption, const struct figures_column *columns, size_t count);

/* "<tr>" and the cell of a job, with a link to it. */
void figures_job(struct buffer *out, int64_t job);

/* A cell with a number (NaN: empty) or a text (NULL: empty). */
void figures_number(struct buffer *out, double value);
void figures_text(struct buffer *out, const char *text);

/* Ends the table, which has `shown` of `all` rows; `where_others` completes the sentence about the others. */
void figures_end(struct buffer *out, size_t shown, size_t all, const char *where_others);

#endif
