/* The thin C interface to toml++, which nothing but toml_reader.cc knows. */
#pragma once

#include <stddef.h>

#include "toml/tree.h"

/* Why a text was refused. */
struct toml_fault {
    int line, column; /* from 1, counted in characters; 0: the text as a whole */
    char *message;    /* the caller's */
};

/* Parses text that toml_parse found within its limits. No exception leaves it. On -1 `fault` is filled. `*out` is the
 * caller's, to be released with toml_free. */
int toml_read(const char *text, size_t length, struct toml_node **out, struct toml_fault *fault);

/* The version of toml++: "3.3.0". */
const char *toml_library_version(void);
