/* From a TOML file to a checked struct sweep. */
#pragma once

#include <stddef.h>

#include "config/problems.h"
#include "config/sweep.h"

/* Reads and checks. On failure `e` (ERROR_USAGE) holds every problem found, one line each:
 * "file:line:column: message". `*out` is the caller's, to be released with sweep_free. */
int sweep_load(const char *path, struct sweep **out, struct error *e);

/* The same, but problems are added to `problems`, and the sweep is given in any case, filled as far as it could be
 * read: for space_build_noting, which finds what else is wrong. -1 where there is nothing to read. */
int sweep_read(const char *path, struct sweep **out, struct problems *problems, struct error *e);

/* As sweep_load from memory; `path` is only for messages and for finding includes and profiles beside it. */
int sweep_parse(const char *path, const char *text, size_t length, struct sweep **out, struct error *e);

/* Makes "NAME", "max:NAME" or "min:NAME" the only objective, as if the file said so. -1 (ERROR_USAGE) with a hint: a
 * bare name that no metric has, a direction that contradicts the metric's own. */
int sweep_set_objective(struct sweep *s, const char *text, struct error *e);

/* NULL is fine. */
void sweep_free(struct sweep *s);
/* A local one, which is released where its scope ends: `OWNED_SWEEP *sweep = NULL;` */
#define OWNED_SWEEP __attribute__((cleanup(sweep_release))) struct sweep
void sweep_release(struct sweep **at);
