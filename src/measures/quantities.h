/* The text of a condition on what was measured: numbers with units, and the comparison that it is. Pure. */
#ifndef MESHSWEEP_MEASURES_QUANTITIES_H
#define MESHSWEEP_MEASURES_QUANTITIES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"
#include "util/error.h"

/* The unit of a name; NULL: it is not a metric. */
typedef const char *(*unit_of)(void *context, const char *name);

/* Appends `text` with every number that a unit follows ("70 GiB", "2ms") as a number in the unit of a metric that the
 * text names and that measures the same. ERROR_USAGE: an unknown unit, or none of the metrics has one to go by. */
int quantities_convert(const char *text, unit_of unit, void *context, struct buffer *out, struct error *e);

/* Where the text is one comparison (<, <=, >, >=) and nothing beside: the lengths of its left side and of its
 * operator; false otherwise. */
bool comparison_split(const char *text, size_t *left, size_t *operator_length);

#endif
