/* Text of any bytes as HTML, for the report's page. */
#ifndef MESHSWEEP_PAGE_TEXT_H
#define MESHSWEEP_PAGE_TEXT_H

#include "util/buffer.h"

/* Columns after which a name is cut with "…", so that a hostile one does not become the page. */
#define HTML_NAME_MOST 80
#define HTML_TEXT_MOST 400

/* Appends `text` so that it stands as that text in an element or a quoted attribute, control characters and marks that
 * change the direction as escapes (report/text.h), at most `limit` columns of it (0: no limit). NULL adds nothing. */
void html_add(struct buffer *out, const char *text, size_t limit);

/* The same between two pieces of HTML, such as tags: a name of at most HTML_NAME_MOST columns, or a longer text of at
 * most HTML_TEXT_MOST. */
void html_name(struct buffer *out, const char *before, const char *name, const char *after);
void html_text(struct buffer *out, const char *before, const char *text, const char *after);

/* The same for many lines, such as the end of a log: line ends stay. */
void html_add_lines(struct buffer *out, const char *text, size_t limit);

/* The same two as JSON strings within a script element; NULL is "". */
void html_add_json(struct buffer *out, const char *text, size_t limit);
void html_add_json_lines(struct buffer *out, const char *text, size_t limit);

/* A number of JSON to 6 digits or more (text_add_rounded): NaN is null, infinities are the strings that JavaScript's
 * Number() reads. */
void html_add_json_number(struct buffer *out, double value);

/* The length of the unit itself in one that says whose it is, too: "GiB reserved, rank 0". */
size_t html_unit_length(const char *unit);

/* " (unit)", nothing where there is none. */
void html_add_unit(struct buffer *out, const char *unit);

/* 6 significant digits; "NaN", "Infinity". */
void html_add_number(struct buffer *out, double value);

/* 3 significant digits with the decimal prefix that a unit would have: "6.09 M", "234 k", "12.3"; as above where the
 * number is below 10,000 or no number. */
void html_add_short(struct buffer *out, double value);

/* The same with so many digits, as ticks want them: "62.5 k". */
void html_add_scaled(struct buffer *out, double value, int digits);

#define HTML_SIZE_BYTES 24

/* 3 significant digits with the greatest binary prefix: "16 MiB", "9.22 MiB". Returns `out`. */
const char *html_size(double bytes, char out[HTML_SIZE_BYTES]);

/* What a person reads: "6.09 M tokens/s", of bytes "16 MiB"; `unit` "" for none. The same as a cell of a table whose
 * heading has the unit; all digits are in its title. */
void html_add_amount(struct buffer *out, double value, const char *unit);
void html_add_amount_cell(struct buffer *out, double value, const char *unit);

#endif
