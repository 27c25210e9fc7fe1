/* Arbitrary text as HTML and JSON, for the report's page. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

/* Columns after which names and texts are cut with "…". */
#define HTML_NAME_MOST 80
#define HTML_TEXT_MOST 400

/* Appends `text`, escaped for an element or a quoted attribute, and at most `limit` columns of it (0: no limit).
 * Control characters are shown as escapes (report/text.h). NULL adds nothing. */
void html_add(struct buffer *out, const char *text, size_t limit);

/* The same between two pieces of HTML, such as tags: a name of at most HTML_NAME_MOST columns, or a longer text of at
 * most HTML_TEXT_MOST. */
void html_name(struct buffer *out, const char *before, const char *name, const char *after);
void html_text(struct buffer *out, const char *before, const char *text, const char *after);

/* The same for several lines; line ends stay. */
void html_add_lines(struct buffer *out, const char *text, size_t limit);

/* The same two as JSON strings for a script element, the first behind `before`; NULL is "". */
void html_add_json(struct buffer *out, const char *before, const char *text, size_t limit);
void html_add_json_lines(struct buffer *out, const char *text, size_t limit);

/* A JSON number with at least 6 digits (text_add_rounded). NaN is null; infinities are strings that JavaScript's
 * Number() reads. */
void html_add_json_number(struct buffer *out, double value);

/* The length of the unit itself: "GiB" in "GiB reserved, rank 0". */
size_t html_unit_length(const char *unit);

/* " (unit)", or nothing if it is "". */
void html_add_unit(struct buffer *out, const char *unit);

/* 6 significant digits; "NaN", "Infinity". */
void html_add_number(struct buffer *out, double value);

#define HTML_SIZE_BYTES 24

/* 3 significant digits with the largest binary prefix: "16 MiB", "9.22 MiB". Returns `out`. */
const char *html_size(double bytes, char out[HTML_SIZE_BYTES]);

/* A short number with its unit: "6.09 M tokens/s", "16 MiB"; `unit` "": none. As a cell, without the unit, which is in
 * the heading; its tooltip has all digits. */
void html_add_amount(struct buffer *out, double value, const char *unit);
void html_add_amount_cell(struct buffer *out, double value, const char *unit);

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
