/* A YAML, TOML or JSON file as a tree over its text: each value with its type, its place in the text and its path. It
 * is changed in its text, so that what is not changed keeps comments, order and spelling. Pure but for
 * document_read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/sweep.h"
#include "config/value.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/memory.h"

/* The formats of files that are read: FORMAT_id, its name and that of its reader (files/format.h), the endings of
 * names. One whose values are spelled otherwise than JSON's has its spelling in files/formats.c. */
#define FILE_FORMATS(ROW)                                                                                              \
    ROW(YAML, yaml, ".yaml", ".yml")                                                                                   \
    ROW(TOML, toml, ".toml", NULL)                                                                                     \
    ROW(JSON, json, ".json", NULL)

#define FORMAT_ID(id, ...) FORMAT_##id,
enum file_format { FORMAT_NONE = 0, FILE_FORMATS(FORMAT_ID) FORMAT_TEXT };
#undef FORMAT_ID

/* "yaml", "toml", "json", "text": indexed by format - 1; NULL at the end. */
extern const char *const file_format_names[];

/* By the ending of the name; FORMAT_NONE for others. */
enum file_format file_format_of(const char *path);

enum doc_kind {
    DOC_TABLE = 1,
    DOC_LIST,
    DOC_TEXT,
    DOC_INT,
    DOC_REAL,
    DOC_BOOL,
    DOC_NULL,
    DOC_TIME,  /* a date or time that is no text: of TOML, and of YAML where it is not quoted */
    DOC_ALIAS, /* of YAML: `text` is the name of the anchor; what it stands for is not followed */
};

/* "a table", "a list", "a text", "an integer", …: indexed by kind. */
extern const char *const doc_kind_names[];

struct doc_node {
    enum doc_kind kind;
    char *key;    /* in a table, decoded; NULL in a list and of the root */
    char *text;   /* of a scalar: of DOC_TEXT the text that it is, of others as written (of TOML in one spelling) */
    char *anchor; /* of YAML; NULL: none */
    bool is_flow; /* DOC_TABLE, DOC_LIST: in brackets */
    size_t key_start, key_end; /* bytes of the text; in a list those of the value */
    size_t start, end;         /* of the value, tag and anchor included */
    int line, column;          /* from 1, of the key, else of the value */
    struct doc_node *children; /* DOC_TABLE, DOC_LIST, in the order of the file */
    size_t count;
};

struct doc {
    enum file_format format;
    char *file; /* for messages */
    char *text;
    size_t documents; /* of YAML: how many the file has; the root is that of the first */
    struct doc_node root;
    struct arena arena; /* has all of it */
};

/* The version of libfyaml. */
const char *yaml_library_version(void);

#define DOCUMENT_MOST_BYTES ((size_t)16 << 20)

/* Reads a text as that format (not FORMAT_TEXT). ERROR_USAGE, "FILE:LINE:COLUMN: …", for what does not parse, has a key
 * twice, a NUL or is nested too deeply. The caller's, document_free. */
int document_parse(const char *file, const char *text, size_t length, enum file_format format, struct doc *out,
                   struct error *e);
/* The same of the file at `path`. */
int document_read(const char *path, enum file_format format, struct doc *out, struct error *e);
void document_free(struct doc *d);

/* Calls `found` with each value that is no table or list with entries, and its path: keys and, of lists, indices joined
 * by dots, "data.layers.0.size"; a key that has a dot, quotes or blanks, or is empty, stands in double quotes. */
void document_leaves(const struct doc *d, void (*found)(void *context, const char *path, const struct doc_node *leaf),
                     void *context);

/* The value at such a path; NULL: there is none. */
const struct doc_node *document_find(const struct doc *d, const char *path);

/* Returns whether the text has the form of a path. */
bool document_path_is_good(const char *path);

/* The values in one spelling, tables sorted: equal for files that differ in layout, comments and order alone. */
void document_add_canonical(const struct doc *d, struct buffer *out);

struct doc_change {
    enum doc_change_kind kind;
    const char *path;
    struct value value; /* VALUE_JSON: a list or table */
};

/* Why the document has no place for the change, whatever the value: "the file has no `a.b`; did you mean …". DOC_ADD
 * may be of a path that is there. The caller's; NULL: it has one. */
char *document_refuses(const struct doc *d, const struct doc_change *change);

/* The value as what stood there wants it (0: nothing did): 0 and 1 as false and true in place of a boolean, a text that
 * is JSON as a list or table in place of one. A copy: value_free. */
struct value document_fit(enum doc_kind was, const struct value *value);

/* Appends the text with the changes made, one after the other. What comes out has been read again: it has the values
 * that were asked for and all others as they were. ERROR_USAGE where the format has no such value, or no place. */
int document_change(const struct doc *d, const struct doc_change *changes, size_t count, struct buffer *out,
                    struct error *e);

/* Hash input for a family of texts that differ in the changed values alone: the canonical form with `changes` made, the
 * values left out. */
void document_add_rest(const struct doc *d, const struct doc_change *changes, size_t count, struct buffer *out);
