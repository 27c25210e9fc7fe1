/* From text to a TOML tree, whoever wrote the text. */
#pragma once

#include <stddef.h>

#include "toml/reader.h"
#include "toml/tree.h"

/* Limits on what hostile files cost: together they keep time in seconds, memory under 2 GiB and recursion shallow. */
#define TOML_MOST_BYTES ((size_t)64 << 20)
#define TOML_MOST_VALUES 4000000 /* counted as "=", "," and "[" outside of strings and comments */
#define TOML_MOST_NESTING 64     /* lists and inline tables within each other */
#define TOML_MOST_KEY_PARTS 32   /* of one dotted key */

/* Reads `length` bytes. On -1 `fault` is filled: what is empty, no UTF-8, no TOML or above the limits is refused.
 * `*out` is the caller's, to be released with toml_free. */
int toml_parse(const char *text, size_t length, struct toml_node **out, struct toml_fault *fault);

/* The file of that name that the program carries (util/embedded.h); the caller's. */
struct toml_node *toml_carried(const char *name);
