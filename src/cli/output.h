/* Standard output for results, standard error for messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/rows.h"
#include "util/buffer.h"
#include "util/error.h"

/* All text for a terminal goes through this file, which shows control characters as escapes (text_add_terminal): in
 * text for people always, in data only on a terminal. */

/* --color; to be called before anything is written. */
enum colour_choice { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
void output_set_colour(enum colour_choice choice);

/* From now on, messages and errors are JSON events on standard error (report/progress.h). */
void output_set_events(void);

/* Sets whether output to a terminal goes through a pager, which starts with the first output: MESHSWEEP_PAGER, else
 * PAGER, else less if installed. There is none if the variable is empty or "cat", or TERM is unset or "dumb". To be
 * called before anything is written. */
void output_set_paging(bool yes);

/* Waits until the pager is left. Once, at the end. */
void output_end_paging(void);

/* Writes text for people to standard output. */
int output_people(const struct buffer *text, struct error *e);

/* Writes data to standard output. If its reader has gone, the program exits quietly with the status of SIGPIPE, so it
 * must not be called while jobs depend on this process. */
int output_write(const void *bytes, size_t length, struct error *e);
int output_text(const char *text, struct error *e);

/* Standard output as a sink for renderers. */
extern const struct report_sink output_sink;

/* Writes a JSON value, indented, with a line end. Invalid UTF-8 is replaced by U+FFFD. */
struct cJSON;
int output_json(struct cJSON *value, struct error *e);

/* Flushes standard output; fails for example on a full disk. */
int output_flush_all(struct error *e);

/* Clears the terminal of standard output. */
void output_clear_screen(void);

/* One line on standard error: "meshsweep: …". */
void output_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes each line of the error to standard error after "meshsweep: ", or "meshsweep COMMAND: " if `command` is not
 * NULL. `hint` (may be NULL) is appended to the last line. */
void output_error(const char *command, const struct error *e, const char *hint);

/* The exit status for an error. */
int output_status(const struct error *e);

/* Writes text for people to standard error, without adding a line end, between control sequences such as "\r" and
 * "\x1b[K". */
void output_to_stderr(const char *before, const struct buffer *text, const char *after);

/* Clears the live line of standard error if there is one, and resets `*on_line`. */
void output_clear_line(bool *on_line);

/* Returns whether colours may be written to the stream: as --color says; without it a terminal, TERM is not "dumb",
 * NO_COLOR is unset or empty (see no-color.org). */
bool output_has_colour(FILE *stream);

bool output_is_terminal(FILE *stream);

/* Asks on standard error and returns whether the answer begins with "y". False if standard input or standard error is
 * not a terminal. */
bool output_ask(const char *question);

/* Asks on standard error and reads a line into `answer`, without its end. False at the end of input, or if standard
 * input or standard error is not a terminal. */
bool output_question(const char *question, struct buffer *answer);

/* Returns whether the stream is a terminal with cursor control: TERM is set and not "dumb". */
bool output_has_cursor(FILE *stream);

/* Returns whether the locale's encoding is UTF-8. */
bool output_has_utf8(void);

/* COLUMNS if set, also where it is no terminal; else those of the stream's terminal; 0 if it is none. */
size_t output_width(FILE *stream);
