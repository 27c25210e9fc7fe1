/* SQL expressions of sweep files: names resolved to columns, so that SQLite can run them over the spec tables. */
#pragma once

#include "expression/names.h"
#include "util/buffer.h"

/* Names may stand for NULL when no spec has them: built-in rules and profiles may read keys that a sweep does not use.
 * With UNKNOWN_IS_NULL the value "auto", which leaves a key to the job, is NULL too. */
enum unknown_names { UNKNOWN_IS_ERROR, UNKNOWN_IS_NULL };

/* Resolves the names in `text`; what that comes to is the arena's of the names. Errors (ERROR_USAGE, one line, no
 * position): an unknown or ambiguous name with a hint, unbalanced parentheses, a comment, a parameter, more than one
 * statement, more than 256 KiB when written out. What is left for SQLite to refuse is found by guard_prepare. */
int expression_resolve(const struct names *n, const char *text, enum unknown_names unknown, struct expression *out,
                       struct error *e);

/* The sections whose keys it reads: a bit for each. */
unsigned expression_sections(const struct names *n, const struct expression *x);

/* Appends `name` in double quotes, as SQL writes identifiers. */
void expression_add_name(struct buffer *b, const char *name);

/* Appends "section"."key" for a key. */
void expression_add_column(struct buffer *b, const struct key *key);

/* Appends what `json`, SQL, holds under a key: json_extract(json, '$."key"'). */
void expression_add_member(struct buffer *b, const char *json, const char *key);

/* Appends " FROM (SELECT … AS "key", …) AS "section", …": one row with these keys, indices into names.keys (NULL: the
 * first `count`), from SQL of the JSON of each section. Nothing without keys; a key that no JSON path can name is NULL.
 */
void expression_add_row(const struct names *n, const size_t *keys, size_t count, const char *const *json,
                        struct buffer *sql);
