/* What nodes of a TOML tree stand for in a sweep: values, and keys that are tied groups. Nothing here complains. */
#ifndef MESHSWEEP_SWEEP_FILE_TOML_VALUE_H
#define MESHSWEEP_SWEEP_FILE_TOML_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/value.h"
#include "toml/tree.h"

/* A node as a value; lists and tables as canonical JSON. */
struct value plain_value(const struct toml_node *node);

/* The first NaN or infinity in a node, NULL when there is none. */
const struct toml_node *find_not_finite(const struct toml_node *node);

/* Splits the key of a tied group, "(pp, dp)", into names without the blanks around them: false when it is not a group
 * or a malformed one. The array of `count` names and the names are the caller's. */
bool group_parse(const char *key, char ***names, size_t *count);

#endif
