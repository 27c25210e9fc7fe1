/* The work of `search-model` and `--search-model` on the [model_space] of a sweep file. Models and counts go to
 * standard output, what became of the candidates to standard error. */
#pragma once

#include <stdbool.h>

#include "config/sweep.h"
#include "models/search.h"

/* -1 (ERROR_USAGE) when the file has no [model_space]. */
int search_model_need(const struct sweep *sweep, struct error *e);

/* Prints the models of a file that has nothing to sweep but its [model_space]: no section and no command. `*printed`
 * says whether it is such a file. */
int search_model_print_alone(const char *config, bool *printed, struct error *e);

/* Prints the models as a sweep file or a part of one. `options` needs no progress of its own. */
int search_model_print(const struct sweep *sweep, const struct model_search_options *options, struct error *e);

/* Prints how many candidates there are, by number of layers, and how many the filters keep and remove. Without filters
 * nothing is enumerated. */
int search_model_count(const struct sweep *sweep, const struct model_search_options *options, bool json,
                       struct error *e);

/* Puts the models in place of the sweep's model section. */
int search_model_fill(struct sweep *sweep, struct error *e);

/* For checks: opens the search and tells how many candidates there are. Where the sweep has no other models, its
 * section gets the first of these, so that names can be resolved. */
int search_model_check(struct sweep *sweep, uint64_t *candidates, struct error *e);

/* -1 (ERROR_USAGE) when the models of the file are those of its [model_space] alone, which nobody requested: such a
 * sweep would run without any. */
int search_model_not_forgotten(const struct sweep *sweep, struct error *e);
