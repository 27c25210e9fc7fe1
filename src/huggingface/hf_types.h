/* What the fields of a Hugging Face config.json mean, by model_type. */
#ifndef MESHSWEEP_HUGGINGFACE_HF_TYPES_H
#define MESHSWEEP_HUGGINGFACE_HF_TYPES_H

#include <stddef.h>

/* Instead of a default number for an absent field. */
enum { HF_NEEDED = -1, HF_UNSET = -2 };

/* A key and the names of its field, separated by blanks; the first that is present counts. A dot leads into an inner
 * table. */
struct hf_field {
    const char *key, *fields;
    int absent; /* transformers' default, HF_NEEDED or HF_UNSET (then there is no key) */
};

/* A number or text that a model_type always has, whatever its file says. */
struct hf_constant {
    const char *key;
    int value;
    const char *text; /* NULL: the number */
};

/* A field that must have this value if present, because no key can describe any other. */
struct hf_demand {
    const char *field;
    int value;
};

/* Which layers have a window (sliding_window) if layer_types does not list them. */
enum hf_windows {
    HF_WINDOWS_NONE = 0,
    HF_WINDOWS_ALL,
    HF_WINDOWS_WHERE_ASKED, /* use_sliding_window, from layer max_window_layers on */
    HF_WINDOWS_PATTERN,     /* all but every sliding_window_pattern-th, by default the sixth */
    HF_WINDOWS_OF_FOUR,     /* the same, by default the fourth */
    HF_WINDOWS_HALF,        /* every second layer, starting with the first */
    HF_WINDOWS_MIXED,       /* none; layer_types lists layers without attention */
};

struct hf_type {
    const char *name;
    const char *family;
    const struct hf_field *shape, *fields; /* each ends with an item without a key; NULL: none */
    struct hf_constant constants[6];
    struct hf_demand demands[3];
    enum hf_windows windows;
};

/* NULL for an unknown type. */
const struct hf_type *hf_type_find(const char *name);

/* All types, in alphabetical order. */
const struct hf_type *hf_types(size_t *count);

#endif
