/* Standard output and standard error: results go to the former, messages to the latter. */
#ifndef MESHSWEEP_CLI_OUTPUT_H
#define MESHSWEEP_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/rows.h"
#include "util/error.h"

/* Writes to standard output. Its reader's end ends the program quietly, with the status that SIGPIPE would give; so
 * nothing may be called while jobs are running that depends on more than this process. */
int output_write(const void *bytes, size_t length, struct error *e);
int output_text(const char *text, struct error *e);

/* Standard output as renderers want it. */
extern const struct report_sink output_sink;

/* A JSON value, indented, with a line end. Text that is no UTF-8 has U+FFFD in its place. */
struct cJSON;
int output_json(const struct cJSON *value, struct error *e);

/* Everything written is on its way, or an error says why not (a full disk). Once, at the end. */
int output_flush_all(struct error *e);

/* Empties the terminal behind standard output and begins at its top. */
void output_clear_screen(void);

/* One line on standard error: "meshsweep: …". */
void output_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Each line of the error as a line of its own on standard error, after "meshsweep: ", or "meshsweep COMMAND: " where
 * `command` is not NULL. `hint` (may be NULL) is added to the last one. */
void output_error(const char *command, const struct error *e, const char *hint);

/* The exit status that an error asks for. */
int output_status(const struct error *e);

/* Whether escape sequences may be written to the stream: a terminal, TERM is not "dumb", NO_COLOR is unset or empty
 * (see no-color.org). */
bool output_has_colour(FILE *stream);

bool output_is_terminal(FILE *stream);

/* Whether text beyond ASCII can be shown: the locale's encoding is UTF-8. */
bool output_has_utf8(void);

/* Columns of the terminal behind the stream, or of COLUMNS when that is set; 0 for what is no terminal. */
size_t output_width(FILE *stream);

#endif
