/* Standard output and standard error: results go to the former, messages to the latter. */
#ifndef MESHSWEEP_CLI_OUTPUT_H
#define MESHSWEEP_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/rows.h"
#include "util/buffer.h"
#include "util/error.h"

/* Every text reaches a terminal through this file: characters that would act on it are shown as escapes
 * (text_add_terminal). Text for people has them shown everywhere, data only where a terminal gets it. */

/* --color; to be said before anything is written. */
enum colour_choice { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
void output_set_colour(enum colour_choice choice);

/* From here on messages and errors are events on standard error (report/progress_events.h): a program reads them. */
void output_set_events(void);

/* Whether what is written to a terminal goes through a pager, which starts at the first of it: MESHSWEEP_PAGER, else
 * PAGER, else less where that is installed. None where either is empty or "cat", or TERM is not set or "dumb". To be
 * said before anything is written. */
void output_set_paging(bool yes);

/* The pager has all that was written, and has been left. Once, at the end. */
void output_end_paging(void);

/* Writes text for people to standard output. */
int output_people(const struct buffer *text, struct error *e);
int output_people_take(struct buffer *text, struct error *e); /* and releases the text */

/* Writes data to standard output. Its reader's end ends the program quietly, with the status that SIGPIPE would give;
 * so nothing may be called while jobs are running that depends on more than this process. */
int output_write(const void *bytes, size_t length, struct error *e);
int output_write_take(struct buffer *data, struct error *e); /* and releases the data */
int output_text(const char *text, struct error *e);

/* Standard output as renderers want it. */
extern const struct report_sink output_sink;

/* A JSON value, indented, with a line end. Text that is no UTF-8 has U+FFFD in its place. */
struct cJSON;
int output_json(const struct cJSON *value, struct error *e);
int output_json_take(struct cJSON *value, struct error *e); /* and deletes the value */

/* Everything written is on its way, or an error says why not (a full disk). Once, at the end. */
int output_flush_all(struct error *e);

/* Empties the terminal behind standard output and begins at its top. */
void output_clear_screen(void);

/* One line on standard error: "meshsweep: …". */
void output_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes each line of the error as a separate line to standard error, after "meshsweep: ", or "meshsweep COMMAND: "
 * where `command` is not NULL. `hint` (may be NULL) is added to the last one. */
void output_error(const char *command, const struct error *e, const char *hint);

/* The exit status that an error asks for. */
int output_status(const struct error *e);

/* Writes text for people to standard error, without a line end of its own; and what moves the cursor before and after
 * it: "\r", "\x1b[K". */
void output_to_stderr(const char *before, const struct buffer *text, const char *after);

/* Empties the line of standard error that is written over and over, where there is one; then there is none. */
void output_clear_line(bool *on_line);

/* Whether colours may be written to the stream: as --color says; without it a terminal, TERM is not "dumb", NO_COLOR is
 * unset or empty (see no-color.org). */
bool output_has_colour(FILE *stream);

bool output_is_terminal(FILE *stream);

/* Asks on standard error and reads a line: whether it begins with "y". False where there is nobody to ask: standard
 * input or standard error is not a terminal. */
bool output_ask(const char *question);

/* Asks on standard error and reads a line into `answer`, without its end. False where there is nobody to ask, or who is
 * asked ends the input. */
bool output_question(const char *question, struct buffer *answer);

/* Whether what is on the terminal can be written over: TERM is set and not "dumb", as in an editor's shell. */
bool output_has_cursor(FILE *stream);

/* Whether text beyond ASCII can be shown: the locale's encoding is UTF-8. */
bool output_has_utf8(void);

/* Columns of the terminal behind the stream, or of COLUMNS when that is set; 0 for what is not a terminal. */
size_t output_width(FILE *stream);

#endif
