/* The models of a search as a text for a file, or as the model section of a sweep. */
#pragma once

#include "config/sweep.h"
#include "models/search.h"
#include "util/buffer.h"

/* Appends a [[model]] block. */
void model_section_add_toml(const struct model_search *search, const struct model_pick *pick, struct buffer *out);

/* Appends the names of keys whose values are lists, as TOML: ["tokens"]; nothing when there are none. Where the blocks
 * stand in a sweep file, [sweep] list_values must name them. */
void model_section_add_list_values(const struct model_search *search, struct buffer *out);

/* Puts the models of the search in place of the model section of its sweep, and changes the sweep's hash
 * accordingly. The same models, printed and included, make the same jobs. Fails as model_search_each does, and
 * (ERROR_USAGE) on more models than MODEL_SECTION_MOST. */
#define MODEL_SECTION_MOST 100000
int model_section_fill(struct model_search *search, struct sweep *sweep, uint64_t *count, struct error *e);
