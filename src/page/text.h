/* Arbitrary text as HTML and JSON, for the report's page. */
#ifndef MESHSWEEP_PAGE_TEXT_H
#define MESHSWEEP_PAGE_TEXT_H

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

/* The same two as JSON strings for a script element; NULL is "". */
void html_add_json(struct buffer *out, const char *text, size_t limit);
void html_add_json_lines(struct buffer *out, const char *text, size_t limit);

/* A JSON number with at least 6 digits (text_add_rounded). NaN is null; infinities are strings that JavaScript's
 * Number() reads. */
void html_add_json_number(struct buffer *out, double value);

/* Length of the unit itself: of "GiB" in "GiB reserved, rank 0". */
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

#endif
