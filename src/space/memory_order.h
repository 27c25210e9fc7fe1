/* The partial order of device memory that [predict.order] declares: which combinations need no less than another.
 *
 * An entry makes a coordinate out of an expression: a number that may only be higher in what needs no less. The keys
 * that entries read may differ; all other keys that count in a job's identity must be equal, and so must the keys of an
 * entry that orders nothing for a combination (its value is NULL, no number or not listed, or its `when` is not true).
 *
 * So each combination has a class, the hash of all that must be equal, and a point: it needs no less than another one
 * of the same class when no coordinate of it is lower. What the order says is declared, not proved: the profiles' own
 * entries hold for the memory of predict/memory.h. */
#pragma once

#include "space/space.h"
#include "util/hash.h"

#define ORDER_COORDINATES_MOST 64

/* Fills space->order; it stays NULL where nothing is declared or [predict] prune is "off". What does not resolve in the
 * sweep file is added to `problems`; entries of profiles over keys that the sweep lacks are left out. */
void order_compile(struct space *space, struct problems *problems);
void order_free(struct space *space);

size_t order_coordinates(const struct space *space);

/* Reads the point of a combination, whose keys have these values: its class and coordinates (0 where an entry orders
 * nothing; as many as order_coordinates). */
int order_read(const struct space *space, struct datum *keys, struct hash128 *class, double *coordinates,
               struct error *e);
