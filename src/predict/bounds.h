/* Rejects inputs that are out of range: a table of fields, each with its minimum and maximum. Maxima are generous (a
 * thousand times what has been trained), but keep every product in the formulas far from overflow and from where
 * doubles lose whole numbers. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct bound {
    const char *name;
    size_t offset; /* of an int64_t or a double in the struct checked */
    double least, most;
};
#define BOUND(structure, member, least, most)                                                                          \
    {                                                                                                                  \
#member, offsetof(struct structure, member), least, most                                                       \
    }

/* 0, or -1 with `e` (ERROR_USAGE) naming every field of the struct at `base` that is out of range. */
int bounds_check_integers(const void *base, const struct bound *bounds, size_t count, struct error *e);

/* The same for doubles; values that are not finite are out of range. */
int bounds_check_doubles(const void *base, const struct bound *bounds, size_t count, struct error *e);
