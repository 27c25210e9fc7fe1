/* One value of a sweep file, after axes are resolved. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/buffer.h"

enum value_kind {
    VALUE_NULL = 0, /* absent */
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_JSON, /* a list or table that is a value: canonical JSON (keys sorted, no blanks) */
};

struct value {
    enum value_kind kind;
    int64_t integer; /* VALUE_INT; VALUE_BOOL as 0 or 1 */
    double real;     /* VALUE_FLOAT */
    char *text;      /* VALUE_STRING, VALUE_JSON: NUL-terminated, owned by the value */
};

void value_free(struct value *v);
struct value value_copy(const struct value *v);

/* Type and content equal: 1, 1.0 and true are three values. */
bool value_equal(const struct value *a, const struct value *b);

/* As JSON: what specs are hashed and stored as. NaN and infinities as the strings "NaN", "Infinity", "-Infinity". */
void value_add_json(const struct value *v, struct buffer *out);

/* As a command line wants it: integers in decimal, floats in their shortest form without a trailing ".0" added to
 * an exponent, true/false, strings raw, lists and tables as JSON, nothing for VALUE_NULL. */
void value_add_text(const struct value *v, struct buffer *out);

/* The next element of a list in canonical JSON: *json, behind "[" at first, goes on behind it. false: there is none.
 * The element is the caller's; tables and lists are JSON, and so are numbers and booleans, as they are written. */
bool value_next_element(const char **json, struct value *out);

/* The same of a table, behind "{" at first: its name, too, is the caller's, and scalars are what they say. false: there
 * is none, or it is not canonical; `*json` stands before it. */
bool value_next_member(const char **json, char **name, struct value *out);
