/* Makes text of arbitrary bytes safe for a format or for people. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

/* Appends `text`, replacing each byte outside a well-formed UTF-8 sequence by U+FFFD. */
void text_add_valid(struct buffer *out, const char *text, size_t length);

/* Appends `text` as one line that is safe on a terminal, and returns the columns it takes. Control characters, line and
 * paragraph separators, invisible tags and marks that change the direction of text are shown as escapes: \n \t \r, else
 * \x1b below U+0080, \u202e, \U000e0041 above. Invalid bytes become U+FFFD. With `ascii`, all other characters than
 * ASCII are shown as escapes.
 *
 * A `limit` other than 0 is the most columns taken: longer text is cut between characters and marked with "…" (ASCII:
 * "..."). At most 16 bytes per column are written then, however many combining characters there are. */
size_t text_add_printable(struct buffer *out, const char *text, size_t length, size_t limit, bool ascii);

/* The same for text from outside, cut to TEXT_LINE_COLUMNS. */
#define TEXT_LINE_COLUMNS 1000
void text_add_line(struct buffer *out, const char *text);

/* How words are highlighted on a terminal. */
enum text_style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW, STYLE_COUNT };

/* Appends `text` with a style, which text_add_terminal shows or removes. */
void text_add_styled(struct buffer *out, enum text_style style, const char *text);

/* The style of "ok", "failed", "running", … and of the failure classes. */
enum text_style text_state_style(const char *state);

/* The terminal's abilities. */
struct text_terminal {
    bool ascii; /* ASCII only */
    bool colour;
};

/* Appends text of several lines, from any source, for a terminal: like text_add_printable, except that line ends and
 * tabs stay, "\r\n" is a line end, and styles from text_add_styled are kept with `colour` and removed without. With
 * `ascii`, the program's own drawing characters and signs are replaced by similar ASCII. */
void text_add_terminal(struct buffer *out, const char *text, size_t length, struct text_terminal terminal);

/* Terminal columns of text that needs no escapes, such as the output of text_add_printable. */
size_t text_columns(const char *text, size_t length);

/* Appends a float for people: 6 significant digits, but always all integer digits below 10^15. "12.3457", "1234568",
 * "1e-05", "NaN", "-Infinity". */
void text_add_rounded(struct buffer *out, double value);

/* Appends a figure with so many significant digits, and all integer digits below 10^15: of 3, "0.12", "1234". */
void text_add_figure(struct buffer *out, int digits, double value);

/* Appends an amount from 0 up as people write it: "under 0.001", "0.0758", "12.3", "1,235". */
void text_add_amount(struct buffer *out, double value);
