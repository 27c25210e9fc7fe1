/* What inputs of predictions are called, where the value of each goes and which words it takes: one table. */
#ifndef MESHSWEEP_PREDICT_INPUT_TABLE_H
#define MESHSWEEP_PREDICT_INPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct input_word; /* input_words.h */

#define INPUT_COUNT 139

enum input_target { TO_ARCHITECTURE, TO_PLAN, TO_SUBJECT, TO_NOTHING };
enum member_kind { MEMBER_WHOLE, MEMBER_FLAG, MEMBER_WORD, MEMBER_REAL, MEMBER_TEXT, MEMBER_OWN };

/* A member of what is filled in (inputs.h); MEMBER_OWN: of none alone, inputs_decode() knows. */
struct input_place {
    enum input_target target;
    enum member_kind member;
    size_t offset;
    const struct input_word *words; /* NULL: takes none */
};

struct input {
    const char *name;     /* also the first of the keys that are looked for */
    const char *synonyms; /* further keys, separated by blanks, in the order of preference */
    struct input_place place;
};

/* INPUT_COUNT of them. */
extern const struct input inputs[];

/* Those that are looked at by themselves: the first of the table, in its order, and the last. */
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
    AT_PEFT,
    AT_QUANTIZATION,
    AT_RECOMPUTE_ALLGATHER,
    AT_DEVICE = INPUT_COUNT - 7,
    AT_FRAMEWORK,
    AT_PARAMS = INPUT_COUNT - 3,
    AT_ACTIVATION_MEMORY
};

/* The index of that name (no synonym), INPUT_COUNT when there is none. */
size_t input_find(const char *name);

/* The words that an input takes ("none", "selective", "full"), at most `most` of them; their number, 0 for an input
 * that takes none. */
size_t input_words(size_t input, const char **out, size_t most);

/* What a word of such a list stands for, without regard to case; -1: none of them. */
int input_word_value(const struct input_word *words, const char *text);

/* The enum architecture_family that a text means, which may be a class of transformers ("Qwen2ForCausalLM"); 0 where it
 * leaves that open ("AutoModelForCausalLM"), -1: not known. */
int input_family(const char *text);

/* Whether it takes several of its words, in one text. */
bool input_takes_names(size_t input);

/* Whether it says something of the model rather than of how it is trained. */
bool input_is_of_model(size_t input);

/* Whether a value of `peft` means adapters, not all weights. */
bool input_means_adapters(const char *text);

#define INPUT_NAME_MOST 32

/* The next name of such a text, cut to INPUT_NAME_MOST - 1 bytes, and `*text` behind it. False: no more. A regular
 * expression of modules, as peft takes it, that ends in one group is what that names: "….(mlp|self_attn).(q|k)_proj".
 */
bool input_next_name(const char **text, char name[INPUT_NAME_MOST]);

#endif
