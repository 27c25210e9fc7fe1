/* The inputs of predictions in one table: their names, where the value of each goes, and which words it takes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct input_word; /* input_words.h */

#define INPUT_COUNT 164

enum input_target { TO_ARCHITECTURE, TO_PLAN, TO_SUBJECT, TO_NOTHING };
enum member_kind { MEMBER_WHOLE, MEMBER_FLAG, MEMBER_WORD, MEMBER_REAL, MEMBER_TEXT, MEMBER_OWN };

/* A member to fill in (inputs.h). MEMBER_OWN: not a single member; inputs_decode() handles it. */
struct input_place {
    enum input_target target;
    enum member_kind member;
    size_t offset;
    const struct input_word *words; /* NULL: takes no words */
};

struct input {
    const char *name;     /* also the first key to look for */
    const char *synonyms; /* further keys, separated by blanks, in order of preference */
    struct input_place place;
};

/* INPUT_COUNT of them. */
extern const struct input inputs[];

/* Indices of the inputs that code refers to: the first ones, in table order, and the last. */
enum {
    AT_FAMILY,
    AT_LAYERS,
    AT_HIDDEN,
    AT_HEADS,
    AT_KV_HEADS,
    AT_VOCAB,
    AT_IMAGE,
    AT_PATCH,
    AT_GATED,
    AT_RMS_NORM,
    AT_SEQ,
    AT_MICRO_BATCH,
    AT_GRADIENT_ACCUMULATION,
    AT_GLOBAL_BATCH,
    AT_DP,
    AT_RECOMPUTE,
    AT_FLASH,
    AT_OFFLOAD_OPTIMIZER,
    AT_OFFLOAD_PARAMETERS,
    AT_PRECISION,
    AT_WEIGHTS,
    AT_BF16,
    AT_FP16,
    AT_FP32,
    AT_TF32,
    AT_FP8,
    AT_DISTRIBUTED_OPTIMIZER,
    AT_MODULES,
    AT_TARGETS,
    AT_SAVED,
    AT_PEFT,
    AT_QUANTIZATION,
    AT_RECOMPUTE_ALLGATHER,
    AT_CHUNKED_LOSS,
    AT_PREFETCH,
    AT_MASK,
    AT_AUTOCAST,
    AT_PACKING,
    AT_SYNC,
    AT_DEVICE = INPUT_COUNT - 7,
    AT_FRAMEWORK,
    AT_PARAMS = INPUT_COUNT - 3,
    AT_ACTIVATION_MEMORY
};

/* Index of the input with that name (not a synonym); INPUT_COUNT if there is none. */
size_t input_find(const char *name);

/* Lists the words that an input takes ("none", "selective", "full"), at most `most`. Returns their number, 0 if it
 * takes none. */
size_t input_words(size_t input, const char **out, size_t most);

/* Value of a word in the list, without regard to case; -1: not in the list. */
int input_word_value(const struct input_word *words, const char *text);

/* The enum architecture_family of a text, which may be a class name of transformers ("Qwen2ForCausalLM"). 0: the text
 * leaves it open ("AutoModelForCausalLM"); -1: unknown. */
int input_family(const char *text);

/* Returns whether the input takes several words in one text. */
bool input_takes_names(size_t input);

/* Returns whether the input describes the model rather than its training. */
bool input_is_of_model(size_t input);

/* Returns whether a value of `peft` stands for adapters rather than training all weights. */
bool input_means_adapters(const char *text);

#define INPUT_NAME_MOST 32

/* Reads the next name of such a text, cut to INPUT_NAME_MOST - 1 bytes, and moves `*text` past it. False: no more. A
 * regular expression of modules, as peft takes it, that ends in a group gives the names in the group:
 * "….(mlp|self_attn).(q|k)_proj". */
bool input_next_name(const char **text, char name[INPUT_NAME_MOST]);
