/* Inputs of a prediction, refused where they cannot be meant: a table of fields, each with its least and
 * most. The most is generous (a thousand times what has been trained) but keeps every product of the formulas
 * far from where doubles lose whole numbers or overflow. Pure. */
#ifndef MESHSWEEP_PREDICT_BOUNDS_H
#define MESHSWEEP_PREDICT_BOUNDS_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct bound {
    const char *name;
    size_t offset; /* of an int64_t or a double in the struct checked */
    double least, most;
};

/* 0, or -1 with `e` (ERROR_USAGE) naming every field that is outside, of the struct at `base`. */
int bounds_check_integers(const void *base, const struct bound *bounds, size_t count, struct error *e);

/* The same for doubles; what is not finite is outside. */
int bounds_check_doubles(const void *base, const struct bound *bounds, size_t count, struct error *e);

#endif
