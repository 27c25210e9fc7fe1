/* Text of any bytes made fit for a format or for people. */
#ifndef MESHSWEEP_REPORT_TEXT_H
#define MESHSWEEP_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

/* Appends `text` with each byte that is part of no well-formed UTF-8 sequence replaced by U+FFFD. */
void text_add_valid(struct buffer *out, const char *text, size_t length);

/* Appends `text` as one line that a terminal shows as it is, and returns the columns it takes. Control characters,
 * line and paragraph separators, invisible tags and the marks that change the direction of text are shown as escapes:
 * \n \t \r, else \x1b below U+0080, \u202e, \U000e0041 above. Invalid bytes become U+FFFD. With `ascii`, all that is
 * not ASCII is shown as an escape.
 *
 * With `limit` other than 0, at most that many columns are taken: longer text is cut between characters and marked
 * with "…" (ASCII: "..."). At most 16 bytes per column are taken then, whatever combining characters there are. */
size_t text_add_printable(struct buffer *out, const char *text, size_t length, size_t limit, bool ascii);

/* Terminal columns of text that holds nothing to escape, such as what text_add_printable made. */
size_t text_columns(const char *text, size_t length);

/* Appends a float for people: 6 significant digits, but never less than all digits of the integer part below 10^15.
 * "12.3457", "1234568", "1e-05", "NaN", "-Infinity". */
void text_add_rounded(struct buffer *out, double value);

#endif
