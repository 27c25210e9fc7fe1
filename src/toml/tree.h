/* A TOML 1.0 document as a tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"
#include "util/memory.h"

enum node_kind { NODE_TABLE = 1, NODE_LIST, NODE_STRING, NODE_INT, NODE_FLOAT, NODE_BOOL };

struct toml_node {
    enum node_kind kind;
    char *key;                  /* in a table; NULL in a list and for the root */
    int key_line, key_column;   /* from 1; where the key was first written */
    int line, column;           /* of the value; for a [table] of its header */
    int end_line, end_column;   /* behind the value; for a [table] nothing that is meant */
    bool is_inline;             /* NODE_TABLE: written as { … } */
    bool is_time;               /* NODE_STRING: a date or time, without quotes */
    int64_t integer;            /* NODE_INT; NODE_BOOL as 0 or 1 */
    double real;                /* NODE_FLOAT; may be NaN or infinite */
    char *text;                 /* NODE_STRING; dates and times are strings, in RFC 3339's form */
    struct toml_node *children; /* NODE_TABLE, in file order; NODE_LIST */
    size_t child_count;
};

void toml_free(struct toml_node *root);

/* The child of that key, NULL when there is none or `table` is not a table. */
const struct toml_node *toml_child(const struct toml_node *table, const char *key);

/* A string, or those of a list of strings. */
static inline const struct toml_node *toml_texts(const struct toml_node *node, size_t *count)
{
    *count = node->kind == NODE_STRING ? 1 : node->child_count;
    return node->kind == NODE_STRING ? node : node->children;
}

/* The same as NULL-terminated copies that are the arena's. */
char **toml_strings(struct arena *p, const struct toml_node *node);

/* "a table", "a list", "a string", "an integer", "a float", "a boolean". */
const char *toml_kind_name(enum node_kind kind);

/* As canonical JSON: keys sorted by their bytes, no blanks, floats as buffer_add_double has them, -0.0 as 0.0, NaN and
 * infinities as strings. */
void toml_add_json(const struct toml_node *node, struct buffer *out);

/* As TOML on one line, which reads back as the same node; tables become inline ones. */
void toml_add_literal(const struct toml_node *node, struct buffer *out);

/* Appends `key` as it stands before "=": bare, or in quotes. */
void toml_add_key(const char *key, struct buffer *out);
