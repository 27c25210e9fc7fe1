/* JSON that is edited in places and otherwise stays as written: numbers keep their spelling, members their order.
 * Comments and trailing commas, which DeepSpeed's engine accepts too, are read but not kept. A duplicate name in an
 * object is an error with its position. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"
#include "util/error.h"

enum json_kind { JSON_OBJECT = 1, JSON_LIST, JSON_SCALAR };

struct json {
    enum json_kind kind;
    char *name;                 /* of a member, as written between its quotes; else NULL */
    char *text;                 /* JSON_SCALAR: as written, strings with their quotes */
    int line, column;           /* of the member's name, else of the value; 0 if not parsed */
    size_t name_at, start, end; /* bytes of the text: of the name with its quote, and of the value */
    struct json *children;      /* JSON_OBJECT, JSON_LIST */
    size_t count;
};

/* On failure `e` (ERROR_USAGE) says "FILE:LINE:COLUMN: …". json_text_free frees `*out`. */
int json_text_parse(const char *file, const char *text, struct json *out, struct error *e);
void json_text_free(struct json *j);

/* The value at a dotted path, "zero_optimization.stage", "optimizer.params.betas.0"; NULL if there is none. */
const struct json *json_text_find(const struct json *root, const char *path);

/* The first member of that name, the object's own before those of nested objects; NULL if there is none. */
const struct json *json_text_find_anywhere(const struct json *root, const char *name);

/* Sets a scalar, given as JSON text, at a dotted path; missing objects on the way are created. False, with nothing
 * changed, if something on the way is not an object. */
bool json_text_set(struct json *root, const char *path, const char *text);

/* Removes the member, if there is one. */
void json_text_remove(struct json *root, const char *path);

/* Merges the value into the one at the path: objects member by member, anything else replaces it. False as above. */
bool json_text_merge(struct json *root, const char *path, const struct json *value);

/* Appends the text, indented by `indent` blanks per level, or without any blanks if 0. */
void json_text_add(const struct json *j, int indent, struct buffer *out);

/* Returns whether it is the string `text`. */
bool json_text_is(const struct json *j, const char *text);

/* The text between the quotes of a string, escapes as written. For another scalar, json_text_plain() returns its text
 * and json_text_string() NULL; both return NULL for anything else. The caller frees it. */
char *json_text_string(const struct json *j);
char *json_text_plain(const struct json *j);

bool json_text_is_null(const struct json *j);

/* False if it is not an integer; 2e8 and 8.0 are. */
bool json_text_integer(const struct json *j, long long *out);
