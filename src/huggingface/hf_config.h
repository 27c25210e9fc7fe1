/* Architectures as Hugging Face's config.json files describe them: keys of a [[model]] block by the names that
 * predict/inputs.h has.
 *
 * What a file's fields mean depends on its model_type: hf_types.c has a table for each, made from the modules of
 * transformers (src/transformers/models/TYPE/modeling_TYPE.py and configuration_TYPE.py), whose defaults stand in for
 * fields that a file leaves out. A model with an encoder tower (vision_config, audio_config) is refused, as are
 * variants whose parameters no key can say. */
#ifndef MESHSWEEP_HUGGINGFACE_HF_CONFIG_H
#define MESHSWEEP_HUGGINGFACE_HF_CONFIG_H

#include <stddef.h>

#include "config/value.h"
#include "util/error.h"

struct hf_key {
    const char *name; /* static */
    struct value value;
};

struct hf_keys {
    struct hf_key *items;
    size_t count;
};

#define HF_KEYS_INIT                                                                                                   \
    {                                                                                                                  \
        NULL, 0                                                                                                        \
    }

/* From the text of a file that messages call `name`. -1 (ERROR_USAGE), `out` untouched, with one sentence that names
 * file and field, for what is no JSON object, an unknown model_type, a field that is missing or of a wrong kind, and
 * what cannot be said. */
int hf_config_read(const char *name, const char *text, struct hf_keys *out, struct error *e);

void hf_keys_free(struct hf_keys *k);

#endif
