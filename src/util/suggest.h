/* "did you mean …?" */
#pragma once

#include <stddef.h>

/* The candidate nearest to `word` by edit distance with transpositions, NULL when none is near enough
 * (a third of the word's length, at least 1, at most 3; something of the word must be left). Borrowed from
 * `candidates`. */
const char *suggest_nearest(const char *word, const char *const *candidates, size_t count);

/* "; did you mean \"x\"?", "" when none is near enough. The caller's. */
char *suggest_hint(const char *word, const char *const *candidates, size_t count);
