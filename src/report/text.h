/* Makes text of any bytes fit for a format or for people. */
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

/* The same for a text of anybody's among others, cut after TEXT_LINE_COLUMNS. */
#define TEXT_LINE_COLUMNS 1000
void text_add_line(struct buffer *out, const char *text);

/* How words stand out on a terminal. */
enum text_style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW, STYLE_COUNT };

/* Appends `text` in a style. text_add_terminal shows it or leaves it out. */
void text_add_styled(struct buffer *out, enum text_style style, const char *text);

/* The style in which "ok", "failed", "running", … and the failure classes are shown. */
enum text_style text_state_style(const char *state);

/* What the terminal can do. */
struct text_terminal {
    bool ascii; /* it shows nothing else */
    bool colour;
};

/* Appends text of several lines as a terminal is to get it, wherever it comes from: as text_add_printable, but line
 * ends and tabs stay, "\r\n" is a line end, and what text_add_styled wrote stays with `colour` and goes without. With
 * `ascii`, drawing characters and signs of the program's own have their like in ASCII. */
void text_add_terminal(struct buffer *out, const char *text, size_t length, struct text_terminal terminal);

/* Terminal columns of text that holds nothing to escape, such as what text_add_printable made. */
size_t text_columns(const char *text, size_t length);

/* Digits of a number from 0 on, so that counts stand under each other. */
int text_digits(int64_t number);

/* Appends a float for people: 6 significant digits, but never less than all digits of the integer part below 10^15.
 * "12.3457", "1234568", "1e-05", "NaN", "-Infinity". */
void text_add_rounded(struct buffer *out, double value);

#endif
