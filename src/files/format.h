/* The formats of files/document.c: readers, and values as they spell them. */
#pragma once

#include "files/document.h"

/* Adds an empty child; borrowed until the next. */
struct doc_node *doc_add_child(struct doc *d, struct doc_node *parent, char *key);

/* -1: the parent has two children of that key; says where. */
int doc_check_twice(const struct doc *d, const struct doc_node *parent, struct error *e);

/* Fill d->root (and d->documents) from d->text: yaml_fill, toml_fill, … */
typedef int doc_fill(struct doc *d, struct error *e);
#define FORMAT_FILL(id, name, ...) extern doc_fill name##_fill;
FILE_FORMATS(FORMAT_FILL)
#undef FORMAT_FILL

/* Returns what a plain scalar of YAML is. */
enum doc_kind yaml_kind(const char *text);

/* Appends the value or key as the format spells it. ERROR_USAGE: it has none of the kind. */
int format_add_value(enum file_format format, const struct value *v, struct buffer *out, struct error *e);
void format_add_key(enum file_format format, const char *key, struct buffer *out);

/* Segments of a path, decoded, NULL-terminated, the caller's (strings_free); NULL: it has not the form. */
char **path_split(const char *path);

/* The child that a segment names. */
struct doc_node *doc_child(const struct doc_node *parent, const char *segment);
