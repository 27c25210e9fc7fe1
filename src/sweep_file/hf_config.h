/* Reads an architecture from a Hugging Face config.json as keys of a [[model]] block, by the names of
 * predict/inputs.h.
 *
 * The meaning of fields depends on model_type: the rows of configs/knowledge/model_types.toml, which explains them, and
 * of [[model_type]]. Models with an encoder tower (vision_config, audio_config) are refused, as are variants that no
 * key can describe. */
#pragma once

#include <stddef.h>

#include "config/value.h"
#include "util/error.h"
#include "util/memory.h"

/* Texts are borrowed from the TOML that they were read from. */
struct hf_type;
struct hf_type_table {
    struct hf_type *items;
    size_t count;
};

struct hf_key {
    const char *name; /* borrowed from the types */
    struct value value;
};

struct hf_keys {
    struct hf_key *items;
    size_t count;
};

/* Reads the text of a file, which messages call `name`, by the types of `own` (NULL: none) and by those that the
 * program carries. -1 (ERROR_USAGE), `out` untouched, with one sentence that names file and field, if it is not a JSON
 * object, model_type is unknown, a field is missing or of a wrong kind, or no key can describe the model. The keys are
 * the arena's. */
int hf_config_read(struct arena *p, const char *name, const char *text, const struct hf_type_table *own,
                   struct hf_keys *out, struct error *e);
