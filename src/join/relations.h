/* The sections as relations that can be joined. A section is a union of shapes, a shape a product of variables: which
 * block, and one variable per axis (or several axes of different blocks, where they are over the same keys). A tied
 * group is one variable, what never changes within a shape none. */
#pragma once

#include "join/formula.h"
#include "join/specs.h"

/* The rows that a variable may take in one block. */
struct rows {
    size_t count, width;
    struct datum *cells; /* count rows of width */
    struct datum *all;   /* by column: what all rows have; unknown where they differ */
    uint32_t **sorted;   /* by column: the rows by value, then as they stand. NULL: not all are integers, or few */
};

struct variable {
    size_t *keys;
    size_t width;
    struct rows *rows;
    size_t rows_count;
    size_t *rows_of;       /* by the shape's block: which rows. NULL: rows[0] whatever the block */
    struct datum *overall; /* as `all`, over all rows */
    struct hash128 hash;   /* of all of the above: the same for equal ones, in whatever shape */
};

struct section_shape {
    size_t *blocks; /* into specs_blocks, ascending */
    size_t block_count;
    struct variable *variables; /* in the order in which numbers of specs count; [0] is the block */
    size_t variable_count;
    int64_t *strides; /* by block, variable_count each: what one more row adds to the number; [0] of each: the first */
    int64_t *counts;  /* by block: its specs */
    struct datum *fixed; /* per names.keys: of the section's that no variable has; others are unknown */
};

struct relation {
    struct section_shape *shapes;
    size_t shape_count;
};

/* Makes the relation of the blocks, which are not looked at afterwards. */
void relation_make(const struct spec_block *blocks, size_t count, const struct names *names, enum section_kind section,
                   struct relation *out);
void relation_free(struct relation *r);
