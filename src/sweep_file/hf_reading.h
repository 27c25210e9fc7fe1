/* The state of reading a config.json, shared by hf_config.c and hf_finish.c. */
#pragma once

#include <stdint.h>

#include <cjson/cJSON.h>

#include "sweep_file/hf_config.h"
#include "sweep_file/hf_types.h"
#include "util/error.h"

/* A file being read. */
struct hf_reading {
    const char *name;
    const cJSON *root;
    const struct hf_type_table *own, *carried;
    const struct hf_type *type;
    struct hf_keys keys;
    struct error *e;
};

/* NULL if it is absent or null; transformers writes null for what is not set. */
const cJSON *hf_field_of(const cJSON *table, const char *field);

/* A field's whole number of at least 0 (true is 1); `absent` if the field is. -1 if it is another value. */
int hf_whole(const struct hf_reading *r, const char *field, int64_t absent, int64_t *out);

/* Sets a key, or replaces it. */
void hf_set_text(struct hf_reading *r, const char *name, const char *text);
void hf_set_whole(struct hf_reading *r, const char *name, int64_t value);

/* Value of a whole-number key; 0 if it is not set. */
int64_t hf_key_value(const struct hf_reading *r, const char *name);
