/* Axes resolved: every section becomes a table of its specs. */
#ifndef MESHSWEEP_SPACE_AXES_H
#define MESHSWEEP_SPACE_AXES_H

#include "config/sweep.h"
#include "space/names.h"
#include "store/db.h"

/* Makes the table "SECTION" and fills it with one row per spec, in file order, the last axis of a block fastest:
 *   "#id"    from 0: the spec's place in its section
 *   "#hash"  XXH3-128 of its canonical JSON without labels (16 bytes)
 *   "#core"  that JSON itself where the section has a key that [inert] names, else NULL
 *   "#json"  canonical JSON with labels: keys sorted, no blanks
 *   one column per key, NULL where the spec lacks it; lists and tables as JSON text.
 * `*count` gets the number of rows. At most 16,777,216 specs per section. */
int axes_expand(const struct sweep *s, const struct names *n, enum section_kind section, struct db *db,
                int64_t *count, struct error *e);

#endif
