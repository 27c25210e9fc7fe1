/* The keys of the objects that a query returns. Most objects have the same keys, which are looked up only once. */
#pragma once

#include "database/db.h"
#include "util/buffer.h"

/* Reads a query with the columns section and JSON object: calls `found` once for each key of each section, in the order
 * in which the objects come and have them. Objects that differ in values alone cost reading them, not parsing them. */
typedef void (*key_found)(void *context, const char *section, const char *key);
int key_sets_read(struct db *db, const char *sql, key_found found, void *context, struct error *e);

/* Appends the names of an object's members as they are written, each in quotation marks: equal bytes, equal keys in
 * equal order. Anything, if it is not an object. */
void key_sets_add_names(const char *json, struct buffer *out);
