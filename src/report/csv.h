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
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "report/rows.h"
#include "util/error.h"

/* Returns whether text, after any single quotes, begins like a formula, so that it is written with a guard. */
bool csv_formula_like(const char *text, size_t length);

/* The cell without its guard if it is guarded text, else the cell itself. Borrows from `cell`. Applied to what
 * render_csv or render_tsv wrote for a text, it gives that text (if valid UTF-8). */
struct cell csv_unescape_formula(struct cell cell);

struct csv_record {
    size_t line;              /* line on which it begins, from 1, counting LF */
    const struct cell *cells; /* CELL_TEXT, still with guards, or CELL_NULL for an empty cell without quotes */
    size_t count;
};

/* Limits of the size of a cell or line, and of the number of cells. */
#define CSV_CELL_BYTES_MAX ((size_t)64 << 20)
#define CSV_CELLS_MAX ((size_t)32767)

/* Calls `record` for each row of the text, the header included, until its end or an error. Records are borrowed for
 * that call.
 *
 * Cells are separated by commas; if the first line has none, by its tabs, else by its semicolons. Blanks at their ends
 * belong to them within quotes alone. Lines end with LF, CR LF or CR; the last line needs no end. A leading UTF-8 byte
 * order mark is dropped. Empty lines are skipped, except that they are a NULL if the first record has one cell.
 *
 * Returns 0, or -1: with `e` as set by `record`; else ERROR_USAGE with "line N: " and the fault: a quote
 * within an unquoted cell, text after a closing quote, an unclosed quote, another number of cells than the first
 * record, invalid UTF-8, or an exceeded limit. */
int csv_read_rows(const char *text, size_t length,
                  int (*record)(void *context, const struct csv_record *record, struct error *e), void *context,
                  struct error *e);
