/* What the fields of a Hugging Face config.json mean, by model_type. */
#ifndef MESHSWEEP_HUGGINGFACE_HF_TYPES_H
#define MESHSWEEP_HUGGINGFACE_HF_TYPES_H

#include <stddef.h>

/* What holds where a field is absent, in place of a number. */
enum { HF_NEEDED = -1, HF_UNSET = -2 };

/* A key and the field that it is read from: one of several names, separated by blanks;
 * a name with a dot is of a table inside. */
struct hf_field {
    const char *key, *fields;
    int absent; /* the number that transformers takes, HF_NEEDED or HF_UNSET (no key then) */
};

/* A number or a word that a model_type has whatever its file says. */
struct hf_constant {
    const char *key;
    int value;
    const char *text; /* NULL: the number */
};

/* A field whose value must be this (where it is there), as no key can say what else it would mean. */
struct hf_demand {
    const char *field;
    int value;
};

/* Which layers see a window (sliding_window), where layer_types does not list them. */
enum hf_windows {
    HF_WINDOWS_NONE = 0,
    HF_WINDOWS_ALL,
    HF_WINDOWS_WHERE_ASKED, /* use_sliding_window, from layer max_window_layers on */
    HF_WINDOWS_PATTERN,     /* all but every sliding_window_pattern-th, by default every sixth */
    HF_WINDOWS_OF_FOUR,     /* the same, by default every fourth */
    HF_WINDOWS_HALF,        /* every second, beginning with the first */
    HF_WINDOWS_MIXED,       /* none; layer_types says which layers have no attention */
};

struct hf_type {
    const char *name;
    const char *family;
    const struct hf_field *shape, *fields; /* each up to one without a key; NULL: none */
    struct hf_constant constants[6];
    struct hf_demand demands[3];
    enum hf_windows windows;
};

/* NULL for a type that is not known. */
const struct hf_type *hf_type_find(const char *name);

/* All types, in the order of the alphabet. */
const struct hf_type *hf_types(size_t *count);

#endif
