/* A TOML 1.0 document as a tree. toml_reader.cc fills it by means of toml++; nothing else knows that library. */
#ifndef MESHSWEEP_CONFIG_TOML_TREE_H
#define MESHSWEEP_CONFIG_TOML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

/* What hostile files may cost: together these keep time in seconds, memory under 2 GiB and recursion shallow. */
#define TOML_MOST_BYTES ((size_t)64 << 20)
#define TOML_MOST_VALUES 4000000 /* counted as "=", "," and "[" outside of strings and comments */
#define TOML_MOST_NESTING 64     /* lists and inline tables within each other */
#define TOML_MOST_KEY_PARTS 32   /* of one dotted key */

enum node_kind { NODE_TABLE = 1, NODE_LIST, NODE_STRING, NODE_INT, NODE_FLOAT, NODE_BOOL };

struct toml_node {
    enum node_kind kind;
    char *key;                 /* in a table; NULL in a list and for the root */
    int key_line, key_column;  /* from 1; where the key was first written */
    int line, column;          /* of the value; for a [table] of its header */
    bool is_inline;            /* NODE_TABLE: written as { … } */
    int64_t integer;           /* NODE_INT; NODE_BOOL as 0 or 1 */
    double real;               /* NODE_FLOAT; may be NaN or infinite */
    char *text;                /* NODE_STRING; dates and times are strings, in RFC 3339's form */
    struct toml_node *children; /* NODE_TABLE, in file order; NODE_LIST */
    size_t child_count;
};

/* Why a text was refused. */
struct toml_fault {
    int line, column; /* from 1, counted in characters; 0: the text as a whole */
    char *message;    /* the caller's */
};

/* Reads `length` bytes. On -1 `fault` is filled: what is empty, no UTF-8, no TOML or above the limits is refused.
 * `*out` is the caller's, to be released with toml_free. */
int toml_parse(const char *text, size_t length, struct toml_node **out, struct toml_fault *fault);

void toml_free(struct toml_node *root);

/* The child of that key, NULL when there is none or `table` is no table. */
const struct toml_node *toml_child(const struct toml_node *table, const char *key);

/* "a table", "a list", "a string", "an integer", "a float", "a boolean". */
const char *toml_kind_name(enum node_kind kind);

/* As canonical JSON: keys sorted by their bytes, no blanks, floats as buffer_add_double has them, -0.0 as 0.0, NaN and
 * infinities as strings. */
void toml_add_json(const struct toml_node *node, struct buffer *out);

/* As TOML on one line, which reads back as the same node; tables become inline ones. */
void toml_add_literal(const struct toml_node *node, struct buffer *out);

/* Appends `key` as it stands before "=": bare, or in quotes. */
void toml_add_key(const char *key, struct buffer *out);

/* --- between toml_tree.c and toml_reader.cc --- */

/* Parses text that passed toml_guard. No exception leaves it. On -1 `fault` is filled. */
int toml_read(const char *text, size_t length, struct toml_node **out, struct toml_fault *fault);

/* Checks the limits above without parsing, because toml++ recurses once per key part and once per nesting. */
int toml_guard(const char *text, size_t length, struct toml_fault *fault);

#endif
