/* The meaning of the fields of a Hugging Face config.json, by model_type: the rows of
 * configs/knowledge/model_types.toml, which explains them, and of [[model_type]]. Texts are borrowed from the TOML that
 * they were read from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/sweep.h"
#include "toml/tree.h"

#define HF_FIELD_LONGEST 64
#define HF_BETWEEN " |"   /* names of fields */
#define HF_FIELDS_MOST 40 /* of a type */
#define HF_CONSTANTS_MOST 16

/* Instead of a default number for an absent field. */
enum { HF_NEEDED = -1, HF_UNSET = -2 };

/* A key and the names of its field, the first `length` bytes of a text, separated by bars and blanks; the first that is
 * present counts. A dot leads into an inner table. */
struct hf_field {
    const char *key, *fields;
    size_t length;
    int64_t absent; /* transformers' default, HF_NEEDED or HF_UNSET (then there is no key) */
};

/* A number or text that a model_type always has, whatever its file says; or a field that must have this number if
 * present, because no key can describe any other. */
struct hf_constant {
    const char *key;
    int64_t value;
    const char *text; /* NULL: the number */
};

struct hf_constants {
    struct hf_constant items[HF_CONSTANTS_MOST];
    size_t count;
};

/* The layers that have a window (sliding_window) if layer_types does not list them. */
enum hf_windows {
    HF_WINDOWS_NONE = 0,
    HF_WINDOWS_ALL,
    HF_WINDOWS_WHERE_ASKED, /* use_sliding_window, from layer max_window_layers on */
    HF_WINDOWS_PATTERN,     /* all but every sliding_window_pattern-th, by default the sixth */
    HF_WINDOWS_OF_FOUR,     /* the same, by default the fourth */
    HF_WINDOWS_HALF,        /* every second layer, starting with the first */
    HF_WINDOWS_MIXED,       /* none; layer_types lists layers without attention */
    HF_WINDOWS_COUNT
};

struct hf_reading;
typedef void hf_finisher(struct hf_reading *r);

struct hf_type {
    const char *name;
    const char *family;  /* NULL: it is no type, but what types are like */
    const char *refused; /* why the keys of [predict] cannot describe it; NULL: they can */
    struct hf_field fields[HF_FIELDS_MOST];
    size_t field_count;
    struct hf_constants always, only;
    enum hf_windows windows;
    hf_finisher *finish; /* sets what no field gives; NULL: nothing */
    struct position at;
};

struct hf_type_table {
    struct hf_type *items;
    size_t count;
};

/* Finds a type in `own` (NULL: none) before `carried`. NULL for an unknown one. */
const struct hf_type *hf_type_find(const struct hf_type_table *own, const struct hf_type_table *carried,
                                   const char *name);

/* Returns what sets the rest for a type of that name; NULL: nothing does. */
hf_finisher *hf_finisher_of(const char *name);
