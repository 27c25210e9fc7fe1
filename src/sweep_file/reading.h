/* The context of every check of a sweep file: where it reads and where it complains. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/problems.h"
#include "config/sweep.h"
#include "config/value.h"
#include "sweep_file/hf_config.h"
#include "toml/tree.h"

/* The role of a file in the sweep, as bits: which keys it may hold depends on it. */
enum file_role { FILE_SWEEP = 1, FILE_INCLUDE = 2, FILE_PROFILE = 4 };

struct reading {
    struct sweep *sweep; /* being filled */
    struct arena *arena; /* what is read is its */
    struct problems *problems;
    struct hf_type_table *types; /* [[model_type]], borrowed from the trees */
    const char *file;            /* as in positions; borrowed from the sweep */
    const char *source;          /* for rules that name none: "sweep file", "profile zhen" */
    enum file_role role;
    bool is_carried; /* a profile that the program carries with it */
    void *into;      /* what the table fills that is read (schema_take) */
};

/* How many derived keys, rules, metrics, settings, … one sweep may have: they are searched one by one. */
#define MOST_ENTRIES 10000

struct schema; /* sweep_file/schema.h */

/* Reads each table `key` of a text that the program carries (util/embedded.h), which are of that schema, into `s` and
 * `types`. Returns the tree, the caller's. A mistake in the text is one of the program: it ends there. */
struct toml_node *reading_carried(const char *file, const char *key, const struct schema *of, struct sweep *s,
                                  struct hf_type_table *types);

/* Appends a copy, which is returned, to a NULL-terminated list of the arena. */
char *texts_add(struct arena *p, char ***list, const char *text);

/* Adds a text, borrowed, to a list of the arena. */
void words_add(const struct reading *r, struct word_list *list, const char *text, struct position at);

/* By text, then by position. */
void words_sort(struct word_list *list);

/* Sorts them; the same text twice is a problem at its second place. */
void words_check_differ(const struct reading *r, const char *what, struct word_list *words);

struct position reading_at_key(const struct reading *r, const struct toml_node *node);
struct position reading_at_value(const struct reading *r, const struct toml_node *node);

#define problem_at_key(r, node, ...) problems_add((r)->problems, reading_at_key(r, node), __VA_ARGS__)
#define problem_at_value(r, node, ...) problems_add((r)->problems, reading_at_value(r, node), __VA_ARGS__)

/* Excuses (problems_excuse) what a node that could not be read would have named: names in its key, and, of a table or a
 * list of tables, the keys below it. */
void reading_excuse(const struct reading *r, const struct toml_node *node);

/* Returns whether a second entry of one name, at `node`, replaces the first, given where that one was written: so it is
 * when a profile wrote the first and something else writes the second. Complains at the value where not. */
bool check_replaces(const struct reading *r, const struct toml_node *node, const char *name,
                    const struct position *first);

/* --- checks of single values; each complains at the value and returns false --- */

/* Has at least one character that is not a blank. `what` as in "[job] command". */
bool check_not_blank(const struct reading *r, const struct toml_node *string, const char *what);

/* `name` has the form of keys (template.h) and is not a placeholder's own name ("job_dir", …); `node` is where it
 * stands. Complains at the node's key. */
bool check_key_name(const struct reading *r, const struct toml_node *node, const char *name);

/* Names of rules and metrics: the form of keys, with "/" allowed. `at` is where it stands. */
bool check_entry_name(const struct reading *r, struct position at, const char *name, const char *what);

/* A POSIX extended regular expression, with at least `groups` groups. */
bool check_regex(const struct reading *r, const struct toml_node *string, size_t groups);

/* No placeholder that lacks half of its name. */
bool check_template(const struct reading *r, const struct toml_node *string);

/* Index of the choice that `string` is, or -1. */
int check_choice(const struct reading *r, const struct toml_node *string, const char *const *choices, size_t count);

/* The children of `node` and the `have` entries read before are at most MOST_ENTRIES. */
bool check_entry_count(const struct reading *r, const struct toml_node *node, size_t have, const char *what);

/* An integer from `least` to `most`. */
bool check_range(const struct reading *r, const struct toml_node *integer, int64_t least, int64_t most);

/* --- what nodes of a TOML tree stand for; nothing of this complains --- */

/* A node as a value; lists and tables as canonical JSON. */
struct value plain_value(const struct reading *r, const struct toml_node *node);

/* The first NaN or infinity in a node, NULL when there is none. */
const struct toml_node *find_not_finite(const struct toml_node *node);

/* Splits the key of a tied group, "(pp, dp)", into names without the blanks around them: false when it is not a group
 * or a malformed one. The array of `count` names and the names are the arena's. */
bool group_parse(struct arena *p, const char *key, char ***names, size_t *count);

/* --- values of keys --- */

/* Returns whether no NaN and no infinity is in it. */
bool check_finite(const struct reading *r, const struct toml_node *node);

/* 0 of NULL. */
double number_of(const struct toml_node *number);

/* SQL as a string, or a constant as SQL spells it; NULL for anything else. */
void *read_expression(const struct reading *r, const struct toml_node *node, const char *name);

/* A string that is not blank; NULL after a complaint. */
void *read_sentence(const struct reading *r, const struct toml_node *node, const char *name);

/* A string as it stands, another constant as JSON. */
char *constant_text(const struct reading *r, const struct toml_node *node);

/* As TOML on one line. */
char *literal_text(const struct reading *r, const struct toml_node *node);

/* Entries, in what a table fills, that begin with a name, of which each is there once. */
struct entries {
    size_t items, count, size;                  /* where they are, and how many; what one takes */
    size_t at;                                  /* where one has its position */
    int (*compare)(const char *, const char *); /* of names; NULL: strcmp */
    bool is_once; /* a second one of a name replaces only that of a profile (check_replaces) */
    /* Whether the name is good, where not each is; the value, which follows the name, or NULL. Both
     * have complained then, and with `is_excused` the name has a problem (problems_excuse). */
    bool (*good_name)(const struct reading *r, const struct toml_node *node, const char *name);
    void *(*value)(const struct reading *r, const struct toml_node *node, const char *name);
    bool is_excused;
    bool is_dotted; /* names may have dots: such keys come as nested tables where they are not quoted */
};
#define ENTRIES(of, list, has, type)                                                                                   \
    .items = offsetof(struct of, list), .count = offsetof(struct of, has), .size = sizeof(type),                       \
    .at = offsetof(type, at)

/* The place for the entry of that name; NULL after a complaint: it is there. */
void *entry_slot(const struct reading *r, const struct toml_node *node, const char *name, const struct entries *kind);
