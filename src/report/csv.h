/* CSV both ways, through libcsv.
 *
 * Written (render_csv): RFC 4180, UTF-8, CR LF line ends (LF as an option), a header of names.
 *   NULL            an empty cell without quotes
 *   empty text      "" in quotes, so that it reads back as text
 *   text            as it is; quoted where it holds a quote, comma, line end or control character, or begins or ends
 *                   with a blank; invalid bytes are U+FFFD
 *   numbers         as they are, negative ones too; NaN, Infinity, and -Infinity with the guard of such text
 * A row of one NULL is an empty line.
 *
 * A spreadsheet runs a cell as a formula when it begins with = + - or @ (full-width forms too), or with a tab or line
 * end that it drops. Such text is guarded by a single quote in front. So that every text reads back, text that looks
 * guarded already is guarded once more; csv_unescape_formula undoes exactly one guard. Names in the header are text.
 */
#ifndef MESHSWEEP_REPORT_CSV_H
#define MESHSWEEP_REPORT_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "report/rows.h"
#include "util/error.h"

/* Whether text, after any single quotes, begins as a formula does: such text is written with a guard. */
bool csv_formula_like(const char *text, size_t length);

/* As which cell a number is written: itself; as text where it would be run as a formula, which is -Infinity. */
struct cell csv_number(struct cell number);

/* The cell without its guard, if it is text with one; else the cell. Borrows from `cell`. For every text t,
 * reading back what render_csv or render_tsv made of t and applying this gives t (of valid UTF-8). */
struct cell csv_unescape_formula(struct cell cell);

/* Gives up to `room` bytes: their number, 0 at the end, -1 with `e` filled. */
struct csv_input {
    long (*read)(void *context, void *bytes, size_t room, struct error *e);
    void *context;
};

struct csv_record {
    size_t line;              /* on which it begins, from 1, counted by LF */
    const struct cell *cells; /* CELL_TEXT, or CELL_NULL for an empty cell without quotes; guards are still there */
    size_t count;
};

/* A cell or a line may not be longer; more cells than this are refused. */
#define CSV_CELL_BYTES_MAX ((size_t)64 << 20)
#define CSV_CELLS_MAX ((size_t)32767)

/* Calls `record` for each line of cells, the header included, until the end of the input or an error. Records and
 * what they point to are borrowed for the length of that call.
 *
 * Cells stand between commas; where the first line has none, between its tabs, else its semicolons. Blanks belong to
 * cells. Lines may end with LF, CR LF or CR; the last need not end. A UTF-8 byte order mark at the
 * beginning is dropped. Empty lines are skipped, but where the first record has one cell they are a NULL.
 *
 * Returns 0, or -1: from `input` or `record`, with `e` as they filled it; else ERROR_USAGE with "line N: " and what
 * is wrong: a quote within a cell without quotes, text after a closing quote, quotes that never close, a number of
 * cells other than the first record's, text that is no UTF-8, or one of the limits. */
int csv_read_rows(const struct csv_input *input,
                  int (*record)(void *context, const struct csv_record *record, struct error *e), void *context,
                  struct error *e);

#endif
