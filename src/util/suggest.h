/* "did you mean …?" */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The longest word that anything is near to, or that is near to anything. */
#define SUGGEST_BYTES 64

/* A word, and of the names that it was held against the nearest by edit distance with transpositions, the first of
 * them: near enough is a third of the word's length, at least 1, at most 3; something of the word must be left. */
struct suggestion {
    const char *word, *near; /* borrowed; near is NULL when none is near enough */
    bool is_same;            /* one is the word itself, letter for letter: it is `near` */
    size_t below;            /* the distance that the next must not have */
    char hint[SUGGEST_BYTES + 32];
};

struct suggestion suggest_for(const char *word);
void suggest_try(struct suggestion *s, const char *name);

/* The nearest between the two, "" when none is near enough; "; did you mean \"x\"?". The suggestion's. */
const char *suggest_between(struct suggestion *s, const char *before, const char *after);
const char *suggest_hint(struct suggestion *s);

/* The suggestion for a word among `count` names, where `name` says `i` for their number. */
#define SUGGEST(text, i, count, name)                                                                                  \
    ({                                                                                                                 \
        struct suggestion suggestion_ = suggest_for(text);                                                             \
        for (size_t i = 0; i < (count); i++)                                                                           \
            suggest_try(&suggestion_, name);                                                                           \
        suggestion_;                                                                                                   \
    })
