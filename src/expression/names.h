/* The names that a sweep's expressions and placeholders may use: keys of specs, derived keys, built-in ones. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/problems.h"
#include "config/sweep.h"

/* A key of one section: a column of that section's table. */
struct key {
    char *name;
    enum section_kind section;
    bool is_label;         /* does not count towards identity */
    bool is_bool;          /* its values are true and false: columns hold 0 and 1 */
    bool is_nullable;      /* some spec of the section lacks it */
    bool has_list;         /* some value is a list */
    bool has_auto;         /* some value is the text "auto": left to the job, unknown to rules */
    const char *otherwise; /* SQL literal that stands where a spec lacks it; NULL: none */
};

/* An expression, resolved down to columns; borrowed from the arena that it was resolved in. */
struct expression {
    const char *sql; /* in parentheses; columns as "section"."key"; derived keys written out */
    size_t *keys;    /* indices into names.keys of the columns that it reads, distinct */
    size_t key_count;
};

/* A derived key, built in or from [derive]. */
struct derived_key {
    const char *name;
    struct expression expression;
    bool is_builtin;
    bool reads_label; /* then its value counts towards identity */
};

/* Other names that a name may be called by, blanks between, where neither a key nor a [synonym] has it. Both are
 * borrowed. */
struct common_name {
    const char *name, *const *others; /* these end with NULL */
};

struct names {
    struct arena *arena; /* borrowed; what follows is its, but for what is borrowed itself */
    struct key *keys;    /* grouped by section, in the order of first mention in the file */
    size_t key_count;
    struct derived_key *derived;
    size_t derived_count;
    const struct synonym *synonyms; /* the sweep's, borrowed */
    size_t synonym_count;
    struct common_name *common;
    size_t common_count;
    const struct derived *declared; /* [derive] of the sweep, borrowed; those that are there are in `derived` too */
    size_t declared_count;
    const struct problems *problems; /* which unknown names are excused, while a space is built; NULL: none */
};

enum resolution { RESOLVED_KEY = 1, RESOLVED_DERIVED, RESOLVED_UNKNOWN, RESOLVED_AMBIGUOUS };

/* Collects every key of every block; a key that is a boolean in one spec and something else in another, and two keys
 * that are synonyms of each other, are problems at their place. `s` and `arena` must outlive the names. */
void names_collect(const struct sweep *s, struct arena *arena, struct names *out, struct problems *problems);

/* Adds a derived key that nobody declared. */
void names_add_derived(struct names *n, const char *name, const struct expression *x, bool is_builtin);

/* From then on `name` is also looked up by the first of `others` that is a key; both must outlive the names. */
void names_add_common(struct names *n, const char *name, const char *const *others);

/* Looks up "key", "section.key" or a derived key, then what it is a synonym of, then its common names; `*index` is into
 * keys or derived. */
enum resolution names_resolve(const struct names *n, const char *text, size_t *index);

/* Returns whether an unknown name is not a problem: what would have reported it is one already. */
bool names_excused(const struct names *n, const char *name);

/* The key of that section, NULL when it has none of that name. */
const struct key *names_find(const struct names *n, enum section_kind section, const char *name);

/* "did you mean" for an unknown or ambiguous name: " (did you mean `x`?)", " (write model.x or …)", that a derived key
 * is not there yet, or "". `others`: further names that may be meant. The caller's. */
char *names_hint(const struct names *n, const char *text, const char *const *others, size_t other_count);
