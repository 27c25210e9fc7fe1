/* [model_space] of a sweep file, checked: which model candidates there are, which of them are kept and how many are
 * taken. Expressions are text here, and what needs counting (an empty space, one too large) is found by the space
 * floor: models/search.h. docs/reference.md describes every key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/sweep.h"
#include "util/string_list.h"

/* Allowed numbers, each at least 1 and given once. */
struct number_list {
    unsigned *values;
    size_t count; /* 0: not given */
};

enum space_key_kind {
    SPACE_KEY_VALUES = 1, /* a value or a list of them */
    SPACE_KEY_RANGE,      /* { from, to, step } */
    SPACE_KEY_MULTISET,   /* { multiset, … }: layers of elements whose order does not matter */
};

struct space_key {
    char *name;
    enum space_key_kind kind;
    struct position at;
    size_t value_count;               /* VALUES, RANGE: at least 1 */
    struct value *values;             /* VALUES */
    char **literals;                  /* VALUES: the same as TOML */
    int64_t *integers;                /* VALUES: the same when all are integers, else NULL */
    int64_t first, step;              /* RANGE */
    struct string_list kinds;         /* MULTISET: what elements there are */
    struct number_list layers;        /* MULTISET: in a model */
    struct number_list sizes, totals; /* MULTISET: elements in a layer, in all layers; one or both are given */
    char *layers_key;                 /* MULTISET: key that tells the number of layers; NULL: no such key */
    bool flat;                        /* MULTISET: no layers were asked for: the value is a list */
};

/* [[model_space.filter]]. */
enum filter_preset { PRESET_NONE = 0, PRESET_FIXED_LAYERS, PRESET_SIMILAR_PARAMETERS, PRESET_UNIFORM_MIXER };

struct space_filter {
    char *name;
    MEMBERS_OF_FILTER;
    char *where;      /* PRESET_NONE: SQL; kept where it is true */
    int64_t layers;   /* PRESET_FIXED_LAYERS */
    double tolerance; /* PRESET_SIMILAR_PARAMETERS: 0 to less than 1 */
    struct position at;
};

/* [[model_space.sample]]: `take` models of all, or of each value of a key. */
struct space_sample {
    MEMBERS_OF_SAMPLE;
    char *each;                  /* NULL: of all */
    struct string_list literals; /* values of `each` as TOML; none: every value that it has */
    struct position at;
};

/* One key of [model_space.base]. */
struct base_key {
    char *name;
    struct value value;
    char *literal;
    struct string_list *layers; /* of a key that is a multiset in the space: the elements of each layer */
    size_t layer_count;
    bool flat; /* written as one list of elements: in all layers, or in the only one */
    struct position at;
};

struct model_space_table {
    struct position at;
    bool dhen; /* `mixers` was given: the first four keys are those of a DHEN model */
    bool seed_given;
    MEMBERS_OF_MODEL_SPACE;
    struct space_key *keys; /* the last one is the fastest */
    size_t key_count;
    struct space_filter *filters;
    size_t filter_count;
    struct space_sample *samples; /* none: all candidates, in order */
    size_t sample_count;
    struct base_key *base; /* none: no base */
    size_t base_count;
    struct position base_at;
};

/* Keys that a DHEN model has, in the order of `keys`; "tokens" is the multiset, "num_zhen_layers" its layers_key. */
enum dhen_key { DHEN_KEY_FEATURES, DHEN_KEY_EMB_DIM, DHEN_KEY_OUTPUTS, DHEN_KEY_TOKENS, DHEN_KEY_COUNT };
extern const char *const dhen_key_names[DHEN_KEY_COUNT];
#define DHEN_LAYERS_KEY "num_zhen_layers"
#define LAYER_COUNT_NAME "layer_count" /* the same for the layers of any space that has one multiset */

/* The base's key of that name, NULL when it has none. */
const struct base_key *model_space_base_key(const struct model_space_table *m, const char *name);
