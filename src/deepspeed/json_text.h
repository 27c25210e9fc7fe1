/* JSON that is changed in places and otherwise stays as it was written: numbers keep their spelling, members their
 * order. What DeepSpeed's engine reads in JSON beyond it, comments and a comma with nothing after it, is read and not
 * kept; a name given twice in one object is an error with its place. Pure. */
#ifndef MESHSWEEP_DEEPSPEED_JSON_TEXT_H
#define MESHSWEEP_DEEPSPEED_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"
#include "util/error.h"

enum json_kind { JSON_OBJECT = 1, JSON_LIST, JSON_SCALAR };

struct json {
    enum json_kind kind;
    char *name;            /* of a member, as between its quotes; NULL elsewhere */
    char *text;            /* JSON_SCALAR: as written, strings with their quotes */
    int line, column;      /* of the member's name, else of the value; 0 where it was not read */
    struct json *children; /* JSON_OBJECT, JSON_LIST */
    size_t count;
};

/* On failure `e` (ERROR_USAGE) says "FILE:LINE:COLUMN: …". `*out` is released with json_text_free. */
int json_text_parse(const char *file, const char *text, struct json *out, struct error *e);
void json_text_free(struct json *j);

/* What is at a dotted path, "zero_optimization.stage", "optimizer.params.betas.0"; NULL when there is nothing. */
const struct json *json_text_find(const struct json *root, const char *path);

/* The first member of that name, the object's own before those of the objects in it; NULL when there is none. */
const struct json *json_text_find_anywhere(const struct json *root, const char *name);

/* Puts a scalar, as JSON text, at a dotted path; objects on the way are made where they are missing. False, with
 * nothing changed, when something on the way is not an object. */
bool json_text_set(struct json *root, const char *path, const char *text);

/* Removes the member; nothing happens when there is none. */
void json_text_remove(struct json *root, const char *path);

/* Lays the value over what is at the path: an object member by member, all else in place of it. False as above. */
bool json_text_merge(struct json *root, const char *path, const struct json *value);

/* Appends the text, with `indent` blanks per level, or without any blanks when that is 0. */
void json_text_add(const struct json *j, int indent, struct buffer *out);

/* Whether it is the string `text`. */
bool json_text_is(const struct json *j, const char *text);

/* What stands between the quotes of a string, escapes as written; of another scalar json_text_plain() is its text, and
 * json_text_string() NULL, as for what is no scalar. The caller's. */
char *json_text_string(const struct json *j);
char *json_text_plain(const struct json *j);

bool json_text_is_null(const struct json *j);

/* A whole number, also one spelled 2e8 or 8.0. */
bool json_text_integer(const struct json *j, long long *out);

#endif
