/* The data of a plot as a table, for readers who cannot see it or want the numbers. */
#ifndef MESHSWEEP_PAGE_FIGURES_H
#define MESHSWEEP_PAGE_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

/* Rows of one table; of more the page says so (figures_end). */
#define FIGURES_MOST 250

struct figures_column {
    const char *title, *unit; /* "": the corner above row titles; unit NULL or "": none */
};

/* A closed "<details>" below the plot, called "CAPTION, as a table", up to "<tbody>". Rows follow: figures_job() or
 * "<tr>" begins each. */
void figures_begin(struct buffer *out, const char *caption, const struct figures_column *columns, size_t count);

/* "<tr>" and the cell of a job, with a link to it. */
void figures_job(struct buffer *out, int64_t job);

/* A cell with a number, empty where it is NaN; one with a text, NULL: empty. */
void figures_number(struct buffer *out, double value);
void figures_text(struct buffer *out, const char *text);

/* `shown` of `all` rows are there; `where_others` ends the sentence that says so. */
void figures_end(struct buffer *out, size_t shown, size_t all, const char *where_others);

#endif
