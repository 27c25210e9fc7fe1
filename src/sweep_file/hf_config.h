/* Reads an architecture from a Hugging Face config.json as keys of a [[model]] block, by the names of
 * predict/inputs.h.
 *
 * The meaning of fields depends on model_type (hf_types.h). Models with an encoder tower (vision_config,
 * audio_config) are refused, as are variants that no key can describe. */
#pragma once

#include <stddef.h>

#include "config/value.h"
#include "sweep_file/hf_types.h"
#include "util/error.h"

struct hf_key {
    const char *name; /* borrowed from the types */
    struct value value;
};

struct hf_keys {
    struct hf_key *items;
    size_t count;
};

#define HF_KEYS_INIT ((struct hf_keys){NULL, 0})

/* Reads the text of a file, which messages call `name`, by the types of `own` (NULL: none) and of `carried`. -1
 * (ERROR_USAGE), `out` untouched, with one sentence that names file and field, if it is not a JSON object,
 * model_type is unknown, a field is missing or of a wrong kind, or no key can describe the model. hf_keys_free
 * frees `*out`. */
int hf_config_read(const char *name, const char *text, const struct hf_type_table *own,
                   const struct hf_type_table *carried, struct hf_keys *out, struct error *e);

void hf_keys_free(struct hf_keys *k);
