/* A chain of filters decides which candidates are kept; each of them counts what it removes. Presets for the questions
 * asked most; anything else is a filter of the caller's. Pure, as far as the caller's filters are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/cursor.h"
#include "util/error.h"

struct model_filter {
    const char *name; /* for reports; borrowed */
    /* 1 to keep, 0 to remove, -1 with `e` filled. */
    int (*accepts)(const struct model_filter *f, const struct model_candidate *c, struct error *e);
    void *context;     /* the caller's */
    uint64_t removed;  /* candidates that this filter removed, those before it having kept them */
    size_t key;        /* presets: the stack looked at */
    int64_t low, high; /* presets: bounds, both kept; of a kind, its number */
};

/* Presets fail (ERROR_USAGE) when `space` lacks what they look at. `stack_key` is a position in the space's
 * keys. */

/* Keeps stacks of this many layers. */
int model_filter_fixed_layers(const struct model_space_table *space, size_t stack_key, unsigned layers,
                              struct model_filter *out, struct error *e);

/* Keeps |a - b| / max(a, b) ≤ tolerance, a being the candidate's parameters and b `base`, which is positive.
 * 0 ≤ tolerance < 1. */
int model_filter_similar_parameters(const struct model_space_table *space, int64_t base, double tolerance,
                                    struct model_filter *out, struct error *e);

/* Keeps stacks in which all elements of all layers are of one kind: `kind`, or any when NULL. */
int model_filter_uniform_mixer(const struct model_space_table *space, size_t stack_key, const char *kind,
                               struct model_filter *out, struct error *e);

/* Asks the filters in order until one removes the candidate. 1 kept, 0 removed, -1 with `e` filled. */
int model_filters_accept(struct model_filter *filters, size_t count, const struct model_candidate *c, struct error *e);

/* The cursor's next candidate that all filters keep. 1 with `*out` set, 0 after the last, -1 with `e` filled.
 */
int model_filters_next(struct model_filter *filters, size_t count, struct model_cursor *cursor,
                       const struct model_candidate **out, struct error *e);
