/* Renders rows as text in one of several formats. Renderers read rows once, in order, and use bounded memory: one row,
 * an output buffer, and for `table` the sample that its column widths come from.
 *
 * Text is UTF-8 in every format; each byte outside a well-formed sequence becomes U+FFFD. Floats are written in the
 * shortest form that reads back equal, NaN and infinities as NaN, Infinity and -Infinity. `table` and `markdown`, which
 * are for people, round to 6 significant digits but keep all integer digits, and all digits of a key. They show units
 * as "name (unit)"; other formats write the bare name as header, so that it reads back as such.
 *
 * All return 0, or -1 with `e` as set by the row source or the sink. After an error nothing more is read or written;
 * earlier rows may or may not have reached the sink. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "report/rows.h"
#include "util/buffer.h"
#include "util/error.h"

struct render_options {
    bool units;        /* csv, tsv, xlsx: a second header has the units */
    bool lf;           /* csv: lines end with LF, not CR LF */
    bool ascii;        /* table: ASCII only; other characters are shown as \u00e9 or \U0001f600 */
    bool colour;       /* table: states are coloured (text_state_style) */
    size_t cell_width; /* table: longer text is cut to this many terminal columns, with "…" at its end; 0: no limit */
    size_t width;      /* table: the most terminal columns of a line; columns of the table are left out to fit, those
                          without a value first; 0: no limit */
    const size_t *order; /* table: its columns, the one to keep longest first; NULL: from left to right */
    size_t *left_out;    /* table: number of columns left out; NULL: not wanted */
};

#define RENDER_OPTIONS_INIT ((struct render_options){.cell_width = 60})

typedef int render_function(const struct row_source *rows, const struct render_options *options,
                            const struct report_sink *sink, struct error *e);

/* The formats for programs: its name and that of its renderer, whether it writes booleans and JSON as such. A new one
 * comes last.
 *
 * csv: RFC 4180 with a header; report/csv.h describes the cells. tsv: tab-separated with a header, LF line ends;
 * backslash escapes \\ \t \n \r \0; NULL is \N; formulas as in csv. json: one array with an object per line; NaN and
 * infinities are strings; "[]" without rows. jsonl: one object per line, otherwise like json. */
#define REPORT_FORMATS(ROW)                                                                                            \
    ROW(csv, false)                                                                                                    \
    ROW(tsv, false)                                                                                                    \
    ROW(json, true)                                                                                                    \
    ROW(jsonl, true)

#define RENDERER(name, is_json) extern render_function render_##name;
REPORT_FORMATS(RENDERER)
#undef RENDERER

/* The document of results/json.h: {"schema_version": …, "columns": [{"name": …, "unit": …}, …], "records": [one object
 * per line]}; NaN and infinities are null. */
render_function render_document;

/* A GitHub table. Markdown and HTML punctuation is escaped; line ends become <br>; other control characters and
 * direction marks are shown as escapes. NULL is an empty cell. */
render_function render_markdown;

/* Appends text escaped as in a cell of such a table; valid in a paragraph too. */
void markdown_add_text(struct buffer *out, const char *text, size_t length);

/* Aligned columns for a terminal. Widths come from the header and the first 1,000 rows; a wider cell later shifts the
 * rest of its row but is not cut. Numbers are right-aligned. Control characters and direction marks are shown as
 * escapes (\n, \x1b, \u202e). NULL is an empty cell. */
render_function render_table;

/* A workbook of one sheet (libxlsxwriter): numbers are numbers, texts texts whatever they look like, the view's times
 * times; NaN and infinities are words. ERROR_USAGE in a program built without the library. */
render_function render_xlsx;

struct report_format {
    const char *name; /* as `--format` takes it */
    render_function *render;
    bool is_json; /* writes booleans and JSON as such; the others write them as text */
};

/* The format of --json. */
extern const struct report_format report_document;

/* In the order of messages; ends with an entry whose name is NULL. */
extern const struct report_format report_formats[];

/* Finds a format by name. ERROR_USAGE for an unknown one, with a text that lists all. `*out` is static. */
int report_format_find(const char *name, const struct report_format **out, struct error *e);
