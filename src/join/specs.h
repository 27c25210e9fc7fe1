/* The specs of a section by their number: computed when they are asked for, and never listed. Blocks stand in the
 * order of the file, the last axis of a block moves fastest. */
#pragma once

#include "config/problems.h"
#include "config/sweep.h"
#include "database/db.h"
#include "expression/names.h"
#include "join/formula.h"
#include "util/hash.h"

struct spec_axis {
    const struct axis *axis;
    size_t *keys;   /* of its columns: indices into names.keys */
    int64_t stride; /* how far apart in numbers neighbouring values are */
};

struct spec_block {
    int64_t first, count; /* its numbers */
    struct spec_axis *axes;
    size_t axis_count;
};

struct specs;

/* `s` and `names` are borrowed. More specs than 2^63 - 1 are a problem, and so is one that is longer than
 * SPEC_LONGEST. */
struct specs *specs_create(const struct sweep *s, const struct names *names, enum section_kind section,
                           struct problems *problems);
void specs_free(struct specs *s);

int64_t specs_count(const struct specs *s);
const struct spec_block *specs_blocks(const struct specs *s, size_t *count);

/* The value of a key of the section in a spec; NULL where it is absent. Borrowed from the sweep. */
const struct value *specs_value(struct specs *s, int64_t spec, size_t key);
struct datum specs_datum_of(const struct value *v); /* as SQL has it; v may be NULL */

/* Canonical JSON: keys sorted, no blanks; without labels where `identity`, and then without the keys for which `skips`,
 * one per names.keys, is true (NULL: none). A name that alone tells the spec from another one of the section
 * (specs_have_twins) is no label there. */
void specs_add_json(struct specs *s, int64_t spec, bool identity, const bool *skips, struct buffer *out);

/* XXH3-128 of that JSON: the spec's identity. */
struct hash128 specs_hash(struct specs *s, int64_t spec);

/* Returns whether specs of the section differ in nothing but their `name`: every job is given it (MESHSWEEP_SPEC), so
 * that they are not the same. */
bool specs_have_twins(const struct specs *s);

/* Returns whether two specs differ in that key. */
bool specs_differ(const struct specs *s, size_t key);

/* Blocks with the specs of the section, of those of one identity the first: false where that is not known. They are the
 * arena's; what they hold is borrowed from the sweep. */
bool specs_distinct_blocks(const struct specs *s, struct arena *arena, struct spec_block **out, size_t *count);

/* Returns whether no two specs have one identity, as far as that can be told without looking at many of them: false is
 * not known. */
bool specs_are_distinct(struct specs *s);

/* Makes the table "SECTION" of `db`, whose rows are computed:
 *   "#id"    the spec's number
 *   "#json"  canonical JSON with labels
 *   one column per key, NULL where the spec lacks it; lists and tables as JSON text. */
int specs_add_table(struct specs *s, struct db *db, struct error *e);
