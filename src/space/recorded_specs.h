/* Specs and jobs of a database, instead of the sections of a sweep file. */
#pragma once

#include "space/row_space.h"

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
