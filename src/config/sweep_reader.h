/* From a TOML file to a checked struct sweep. */
#ifndef MESHSWEEP_CONFIG_SWEEP_READER_H
#define MESHSWEEP_CONFIG_SWEEP_READER_H

#include <stddef.h>

#include "config/sweep.h"

/* Reads and checks. On failure `e` (ERROR_USAGE) holds every problem found, one line each:
 * "file:line:column: message". `*out` is the caller's, to be released with sweep_free. */
int sweep_load(const char *path, struct sweep **out, struct error *e);

/* The same from memory; `path` is only for messages and for finding includes and profiles beside it. */
int sweep_parse(const char *path, const char *text, size_t length, struct sweep **out, struct error *e);

#endif
