/* The sections as relations that can be joined. A section is a union of shapes, a shape a product of variables: which
 * of the blocks in which the same axes take the same values, and one variable per axis. A tied group is one variable,
 * what never changes within a shape none. */
#pragma once

#include "join/formula.h"
#include "join/specs.h"

struct variable {
    size_t *keys;
    size_t width, count;
    struct datum *cells; /* count rows of width */
    struct datum *all;   /* by column: what all rows have; unknown where they differ */
    uint32_t **sorted;   /* by column: the rows by value, then as they stand. NULL: not all are integers, or few */
    struct hash128 hash; /* of keys and cells */
};

struct section_shape {
    struct variable *variables; /* in the order in which numbers of specs count; [0] is the block */
    int64_t *strides;           /* by variable: what one more row adds to the number; [0]: nothing */
    size_t variable_count;
    int64_t *firsts;     /* by block, ascending: the number of its first spec */
    int64_t count;       /* specs of each block */
    struct datum *fixed; /* per names.keys: of the section's that no variable has; others are unknown */
};

struct relation {
    struct section_shape *shapes;
    size_t shape_count;
};

/* Makes the relation of the blocks, which are not looked at afterwards. What it has is the arena's. */
void relation_make(struct arena *arena, const struct spec_block *blocks, size_t count, const struct names *names,
                   enum section_kind section, struct relation *out);

/* Makes one of which each spec is a block of its own: keys, width, count and cells of `rows`, which are the arena's,
 * and their numbers, ascending. */
void relation_list(struct arena *arena, const struct names *names, const struct variable *rows, const int64_t *numbers,
                   struct relation *out);
