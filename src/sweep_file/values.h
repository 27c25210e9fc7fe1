/* Single values that several tables of a sweep file share. Each complains at the value. */
#ifndef MESHSWEEP_SWEEP_FILE_VALUES_H
#define MESHSWEEP_SWEEP_FILE_VALUES_H

#include "config/value.h"
#include "sweep_file/reading.h"

/* --- what nodes of a TOML tree stand for; nothing of this complains --- */

/* A node as a value; lists and tables as canonical JSON. */
struct value plain_value(const struct toml_node *node);

/* The first NaN or infinity in a node, NULL when there is none. */
const struct toml_node *find_not_finite(const struct toml_node *node);

/* Splits the key of a tied group, "(pp, dp)", into names without the blanks around them: false when it is not a group
 * or a malformed one. The array of `count` names and the names are the caller's. */
bool group_parse(const char *key, char ***names, size_t *count);

/* --- values of keys --- */

/* Whether no NaN and no infinity is in it. */
bool check_finite(const struct reading *r, const struct toml_node *node);

/* 0 of NULL. */
double number_of(const struct toml_node *number);

/* A number from `least` to `most`; false where it is another. */
bool read_bounded(const struct reading *r, const struct toml_node *number, double least, double most, double *out);

/* A duration ("5s", or seconds) as the value of a key; `*ms` stays as it is when there is none. */
void read_duration(const struct reading *r, const struct toml_node *node, int64_t *ms);

/* SQL as a string, or a constant as SQL spells it; NULL for anything else. The caller's to free. */
char *read_expression(const struct reading *r, const struct toml_node *node);

/* A string as it stands, another constant as JSON. The caller's to free. */
char *constant_text(const struct toml_node *node);

/* Whether `string` is "ok" or a failure class. */
bool check_outcome(const struct reading *r, const struct toml_node *string);

/* Entries of a sweep that begin with a name, of which each is there once. */
struct entries {
    size_t items, count, size; /* where a sweep has them, and how many; what one takes */
    size_t at;                 /* where one has its position */
    int (*compare)(const char *, const char *);
    void (*release)(void *entry);
};
extern const struct entries derived_entries, rule_entries, synonym_entries, inert_entries, order_entries;

/* Where the entry of that name goes, empty; NULL after a complaint: it is there (check_replaces). */
void *entry_slot(const struct reading *r, const struct toml_node *node, const char *name, const struct entries *kind);

/* Frees all of a kind. */
void entries_release(const struct entries *kind, struct sweep *s);

/* The item of that name, with which items begin, of the array at `*items`; made, and empty but for it, where it is
 * missing. */
void *named_item(void *items, size_t *count, size_t size, const char *name);

#endif
