/* The base model of a model space, with which candidates are compared. It need not be a candidate. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/model_space.h"
#include "models/index.h"

struct model_base {
    const struct model_space_table *table; /* borrowed; base_count 0: there is no base */
    int64_t parameters, flops;             /* as of candidates; 0 when they are not counted */
};

/* Fails (ERROR_USAGE, with the place) on mixers that are not known and on sizes that overflow. */
int model_base_make(const struct model_space_table *table, struct model_base *out, struct error *e);

/* Layers of the base as the multiset `key` has them: one list of elements stands for as many equal layers as the base
 * says. 0 when the base does not have them. */
unsigned model_base_layers(const struct model_base *base, const struct space_key *key);

/* The candidate that is the same model as the base, in any order within its layers: true with its rank. The index is
 * over the keys of the base's table. */
bool model_base_find(const struct model_base *base, const struct model_index *index, uint64_t *rank);
