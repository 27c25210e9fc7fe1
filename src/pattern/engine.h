/* The thin C interface to RE2, which nothing but engine.cc knows. It finds matches in time linear in the text, whatever
 * the pattern, and in bounded memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a text, the last one exclusive. */
struct text_range {
    ptrdiff_t begin, end; /* begin -1: none */
};

struct engine;

/* `text` in RE2's syntax (https://github.com/google/re2/wiki/Syntax). Returns 0, or -1 with the reason in `why`. */
int engine_create(const char *text, struct engine **out, char why[256]);
void engine_free(struct engine *n);

/* How many groups catch something. */
size_t engine_group_count(const struct engine *n);

/* Returns whether the pattern matches within [begin, end) of `text`; what lies around that is looked at by "^", "$" and
 * "\b" alone. The match is the leftmost, and of these the longest. `groups[0]` is the whole match, others are its
 * groups. May be called from several threads. */
bool engine_match(const struct engine *n, const char *text, struct text_range within, size_t count,
                  struct text_range *groups);

/* The file of the RE2 that the program is linked to, "libre2.so.9": neither its headers nor its functions tell a
 * release, and pkg-config says 0.0.0. "in the program" where it is part of that. */
const char *engine_library_name(void);
