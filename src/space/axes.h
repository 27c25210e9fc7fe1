/* Axes resolved: every section becomes a table of its specs. */
#ifndef MESHSWEEP_SPACE_AXES_H
#define MESHSWEEP_SPACE_AXES_H

#include "config/problems.h"
#include "config/sweep.h"
#include "space/names.h"
#include "store/db.h"

/* How many specs the section has. More than 16,777,216 are a problem. */
int64_t axes_count(const struct sweep *s, enum section_kind section, struct problems *problems);

/* Makes the table "SECTION", without rows:
 *   "#id"    from 0: the spec's place in its section
 *   "#hash"  XXH3-128 of its canonical JSON without labels (16 bytes)
 *   "#core"  that JSON itself where the section has a key that [inert] names, else NULL
 *   "#json"  canonical JSON with labels: keys sorted, no blanks
 *   one column per key, NULL where the spec lacks it; lists and tables as JSON text. */
int axes_declare(const struct names *n, enum section_kind section, struct db *db, struct error *e);

/* Fills it with one row per spec, in file order, the last axis of a block fastest. ERROR_USAGE: a spec is longer than
 * SPEC_LONGEST. */
int axes_fill(const struct sweep *s, const struct names *n, enum section_kind section, struct db *db, struct error *e);

#endif
