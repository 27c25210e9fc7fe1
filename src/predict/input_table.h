/* The inputs of predictions in one table, made from inputs.toml: their names, where the value of each goes, and which
 * words it takes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "predict/input_numbers.h"
#include "util/error.h"

enum input_target { TO_ARCHITECTURE, TO_PLAN, TO_SUBJECT, TO_NOTHING };
enum member_kind { MEMBER_WHOLE, MEMBER_FLAG, MEMBER_WORD, MEMBER_REAL, MEMBER_TEXT, MEMBER_OWN };

/* A word and its value; numbers are taken as they are. */
struct input_word {
    const char *text;
    int value;
};

/* A member to fill in (inputs.h). MEMBER_OWN: not a single member; inputs_decode() handles it. */
struct input_place {
    enum input_target target;
    enum member_kind member;
    size_t offset;
    const struct input_word *words; /* ends with an entry without text; NULL: takes no words */
    /* MEMBER_WHOLE: how messages call it, and what it is between. Maxima are generous (a thousand times what has been
     * trained), but keep every product in the formulas far from overflow and from where doubles lose whole numbers; 0:
     * there are none. */
    const char *name;
    double least, most;
};

struct input {
    const char *name;
    const char *const *names; /* of the keys to look for, in order of preference: `name` and its synonyms */
    const char *means;        /* for people */
    struct input_place place;
};

/* INPUT_COUNT of them, at the constants of their names; the last three are those of a measured model. */
extern const struct input inputs[];

/* 0, or -1 with `e` (ERROR_USAGE) naming every member of the target, a struct at `base`, that is out of range, in their
 * order there. */
int inputs_check(enum input_target target, const void *base, struct error *e);

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
