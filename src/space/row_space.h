/* A space made of specs that are given one by one, from a table's rows or a database's jobs, in place of a sweep file's
 * sections. What the combinations are is the caller's business: match_open_single looks at those that matter. */
#pragma once

#include "space/build.h"

struct row_space;

/* Everything but the sections is `s`'s, which is borrowed and must outlive it. Its space_identity is of how `s` reads
 * tables and ranks what it read, whichever tables these are: what one file read of several is one sweep, also after
 * words in it changed by which no table is read. */
struct row_space *row_space_create(const struct sweep *s);
void row_space_free(struct row_space *r); /* after the space */

/* A local one, likewise: before the space. */
#define OWNED_ROWS __attribute__((cleanup(row_space_release))) struct row_space
void row_space_release(struct row_space **at);

struct row_key {
    const char *name;
    struct value value; /* VALUE_NULL: the spec lacks the key */
    struct position at; /* where the key comes from; may be all zero */
};

/* A spec of that section; equal ones are one. Keys and values are copied. Returns a number for row_space_find; -1
 * without keys: the section is absent. */
int64_t row_space_add(struct row_space *r, enum section_kind section, const struct row_key *keys, size_t count);

/* Builds it from what was added. ERROR_USAGE as space_build. `*out` is the caller's (space_free). */
int row_space_build(struct row_space *r, const struct space_options *options, struct space **out, struct error *e);

/* The row, in the built space's section, of what row_space_add gave. */
int64_t row_space_find(const struct row_space *r, enum section_kind section, int64_t spec);

/* --- Specs and jobs of a database, instead of the sections of a sweep file --- */

/* Adds specs to a row space, each once. */
struct recorded_specs;
int recorded_specs_open(struct db *db, struct row_space *rows, struct recorded_specs **out, struct error *e);
void recorded_specs_close(struct recorded_specs *r);

/* The number in the row space of the spec with this id; -1 for id 0, no spec. */
int recorded_specs_find(struct recorded_specs *r, enum section_kind section, int64_t id, int64_t *out, struct error *e);

/* The space of a sweep whose jobs come from tables (sweep_is_imported): the jobs of the database's current sweep and no
 * other combination. Without a database (`db` is NULL), or without jobs in it, no combination, of the keys that
 * [import] names. With options->scaling jobs that become one are one. `*rows` and `*out` are the caller's,
 * row_space_free after space_free; `s` must outlive both. */
int recorded_space_build(const struct sweep *s, struct db *db, const struct space_options *options,
                         struct row_space **rows, struct space **out, struct error *e);
