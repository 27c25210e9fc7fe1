/* Tables in JSON: a list of objects, an object a line, or an object with one list of them. */
#ifndef MESHSWEEP_CLI_TABLE_JSON_H
#define MESHSWEEP_CLI_TABLE_JSON_H

#include <stdbool.h>

#include "util/buffer.h"
#include "util/error.h"

/* Whether the text begins like one. */
bool table_json_is(const char *text);

/* Adds a quoted cell of CSV. */
void table_add_cell(struct buffer *out, const char *text, size_t length);

/* As CSV: a column for each name, "a.b" of a nested object, in the order in which they come; line n is
 * row n. -1 (ERROR_USAGE): it is not
 * JSON, or of another form; `e` says what to do. */
int table_json_add_csv(const char *file, const char *text, struct buffer *out, struct error *e);

#endif
