/* Rows as text in one of several formats. Renderers read rows once, in order, and hold a bounded amount of memory:
 * one row, an output buffer, and for `table` the sample that its widths come from.
 *
 * Text is UTF-8 in every format: each byte that is part of no well-formed sequence becomes U+FFFD.
 * Floats are written in the shortest form that reads back equal, NaN and infinities as NaN, Infinity and -Infinity;
 * `table` and `markdown`, which are for people, round to 6 significant digits (integer digits are always all there).
 * Units are shown by `table` and `markdown` as "name (unit)"; elsewhere a header is the bare name, so that it
 * reads back as such.
 *
 * All return 0, or -1 with `e` as the row source or the sink filled it: nothing is read or written after that, and
 * rows before it may or may not have reached the sink. */
#ifndef MESHSWEEP_REPORT_RENDER_H
#define MESHSWEEP_REPORT_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "report/rows.h"
#include "util/buffer.h"
#include "util/error.h"

struct render_options {
    bool lf;           /* csv: lines end with LF, not CR LF */
    bool ascii;        /* table: ASCII only; what is not is shown as \u00e9 or \U0001f600 */
    bool colour;       /* table: states stand out (text_state_style) */
    size_t cell_width; /* table: text of more terminal columns is cut, with "…" at its end; 0: no limit */
    size_t width;      /* table: lines have at most so many terminal columns: columns of the table are left out, those
                          without a value first; 0: none is */
    const char *const *kept; /* table: names of the columns that stay longest, the most important one first;
                                NULL-terminated; NULL: none. After them those to the left */
    size_t *left_out;        /* table: how many columns were left out; NULL: not wanted */
};

#define RENDER_OPTIONS_INIT                                                                                            \
    {                                                                                                                  \
        .cell_width = 60                                                                                               \
    }

typedef int render_function(const struct row_source *rows, const struct render_options *options,
                            const struct report_sink *sink, struct error *e);

/* RFC 4180 with a header; see report/csv.h for what a spreadsheet or a reader finds in a cell. */
render_function render_csv;

/* Tab-separated with a header, LF line ends. Backslash escapes \\ \t \n \r \0; NULL is \N. Formulas as in csv. */
render_function render_tsv;

/* One array of objects, one object per line; NaN and infinities as strings. "[]" without rows. */
render_function render_json;

/* One object per line, as json. */
render_function render_jsonl;

/* One document of the contract (results/json.h): {"schema_version": …, "columns": [{"name": …, "unit": …}, …],
 * "records": [one object per line]}; NaN and infinities are null. */
render_function render_document;

/* A GitHub table. Punctuation that means something to Markdown or HTML is escaped; line ends become <br>; other
 * control characters and direction marks are shown as escapes. NULL is an empty cell. */
render_function render_markdown;

/* Appends text as a cell of such a table has it, which also stands in a paragraph. */
void markdown_add_text(struct buffer *out, const char *text, size_t length);

/* Aligned columns for a terminal: widths from the header and the first 1,000 rows; a later cell that is wider pushes
 * its row out and loses nothing. Numbers to the right. Control characters and direction marks are shown as escapes
 * (\n, \x1b, \u202e). NULL is an empty cell. */
render_function render_table;

struct report_format {
    const char *name;    /* as `--format` takes it */
    const char *summary; /* a few words for a help text */
    render_function *render;
    bool is_json; /* it takes truth values and JSON as such; the others take them as text */
};

/* What --json gives. */
extern const struct report_format report_document;

/* In the order of a help text; ends with an entry whose name is NULL. */
extern const struct report_format report_formats[];

/* The format of this name; an unknown one is ERROR_USAGE, and the text lists what there is. `*out` is static. */
int report_format_find(const char *name, const struct report_format **out, struct error *e);

#endif
