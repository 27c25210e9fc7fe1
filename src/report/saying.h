/* Answers as views of a private database: who answers fills its tables, and the views make of them what is said, line
 * by line, and the rows of the document. */
#pragma once

#include <cjson/cJSON.h>

#include "database/db.h"
#include "util/buffer.h"

/* Lets statements call what saying_open says; told(before, value): "" where the value is NULL, else both, the value as
 * a rounded number or with escapes; rounded(number): such a number alone, NULL where it is NULL; styled(state,
 * text): highlighted as the state is; columns(text): how many it takes on a terminal; markdown(text), escaped; and
 * toml(text), a string of TOML. */
int saying_add_functions(struct db *db, struct error *e);

/* Makes the database of the script "sql/NAME.sql", which may call erfc, expm1 and log2 as C has them, and
 * say(format, …): as C's printf has %d, %e, %f, %g and %s, unlike SQLite's own, which rounds otherwise; %B is a size in
 * bytes ("1.5 MiB"), %t a duration of milliseconds, %r a rounded number, %n one with all its digits, %a an amount, %l
 * one line of text from outside and %20p text with escapes, in so many columns (report/text.h). NULL is "" or NaN.
 * fit(text, taken, room) is text at the end of a terminal's line, of which bytes are taken; room: twice its columns
 * (0: no terminal), and 1 for ASCII. */
int saying_open(const char *script, struct db **out, struct error *e);

/* Appends the first column of each row as a line; `title` before the first of them. */
int saying_add_lines(struct db *db, const char *sql, const char *title, struct buffer *out, struct error *e);

/* Adds to the document a list of objects of this name, one for each row; NULL: the columns of the one row itself. */
int saying_add_rows(struct db *db, const char *sql, const char *name, cJSON *document, struct error *e);

/* Appends the lines that the statement "sql/texts/NAME.sql" makes of a document, ?1, and of what stands beside it, ?2
 * (NULL: nothing). In such a statement text(NAME, document, beside) is that of another one, without its last line end.
 */
int saying_add_text(const char *name, const cJSON *document, const cJSON *beside, struct buffer *out, struct error *e);

/* The lines of such a statement with these values. */
int saying_add_answer(const char *name, struct sql_values values, struct buffer *out, struct error *e);

/* The same without the last line end, of a statement of which no error comes. */
void saying_add_sentence(const char *name, const cJSON *document, const cJSON *beside, struct buffer *out);
