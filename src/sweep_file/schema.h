/* The keys that a sweep file may have: one table for each kind of table in it, one row for each key. A row says where
 * the key may stand, what its value must be and where that goes; what it means, its default and an example stand in
 * docs/reference.md. From both, scripts/sweep_schema.py makes schemas/sweep.json, by which editors complete and check.
 * The rows are made of config/keys.toml (KEYS_OF_JOB); what reads a table names them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/sweep.h"
#include "sweep_file/key_rows.h"
#include "sweep_file/reading.h"
#include "toml/tree.h"

/* Accepted forms of a value, as bits. */
enum {
    TYPE_STRING = 1,
    TYPE_INT = 2,
    TYPE_FLOAT = 4,
    TYPE_BOOL = 8,
    TYPE_TABLE = 16,
    TYPE_STRINGS = 32, /* a list of strings */
    TYPE_TABLES = 64,  /* a list of tables: [[name]] */
    TYPE_LIST = 128,   /* a list of anything */
    TYPE_NUMBER = TYPE_INT | TYPE_FLOAT,
    TYPE_TIME = TYPE_STRING | TYPE_NUMBER,
};

/* Files that may have a key. */
#define EVERY (FILE_SWEEP | FILE_INCLUDE | FILE_PROFILE)
#define SPACE (FILE_SWEEP | FILE_INCLUDE)
#define DEFAULTS (FILE_SWEEP | FILE_PROFILE)

/* The form that a value takes. Texts and lists are copies, which are the reading's arena's. */
enum key_form {
    FORM_NODE,      /* what it is: who reads the table goes on from there */
    FORM_STRING,    /* char * */
    FORM_TEXT,      /* the same, with a character that is not blank */
    FORM_LINE,      /* the same without a line break: it becomes an option on a line of a script */
    FORM_TEMPLATE,  /* the same with whole placeholders */
    FORM_REGEX,     /* char *: a POSIX extended regular expression */
    FORM_CONSTANT,  /* char *: the text, or another constant as JSON */
    FORM_LIMIT,     /* char *: a duration or an expression */
    FORM_STRINGS,   /* char **, NULL-terminated */
    FORM_LINES,     /* the same of FORM_LINE */
    FORM_WORDS,     /* struct word_list; where `what` says what they are, with a character that is not blank */
    FORM_KEYS,      /* struct word_list of keys, each once */
    FORM_MORE_KEYS, /* the same behind what other files have, each as often as it is there */
    FORM_NAMES,     /* behind that, each once: names of entries, of what `what` says */
    FORM_COMMAND,   /* struct command_words */
    FORM_BOOL,      /* bool */
    FORM_SWITCH,    /* int: 0 or 1 */
    FORM_INT,       /* int64_t */
    FORM_COUNT,     /* int64_t, from least to most */
    FORM_NUMBER,    /* double, from least to most */
    FORM_SIZE,      /* int64_t: bytes */
    FORM_DURATION,  /* int64_t: milliseconds, `least` of them or more */
    FORM_CHOICE,    /* int or enumeration: `least` for the first of the choices, and so on */
    FORM_EITHER,    /* bool: whether it is choice number `least` */
    FORM_TABLE,     /* what its keys' rows say, in the same place */
    FORM_WORD,      /* const char *: the one of the choices; `most`: how many they are; 0: up to NULL */
};

struct schema;
struct found;

struct schema_key {
    const char *name;
    unsigned types, files; /* TYPE_ and FILE_ bits */
    enum key_form form;
    size_t at; /* where it goes, in what schema_take is given */
    double least, most;
    size_t where;               /* what of it is to have the value's position; 0: nothing */
    const char *const *choices; /* NULL-terminated; NULL: any text */
    /* In place of a form; the same of the entries of a table, one by one, or of its values with their dotted names:
     * keys with dots come as nested tables where they are not quoted. */
    void (*read)(const struct reading *r, const struct toml_node *node);
    void (*each)(const struct reading *r, const struct toml_node *node);
    void (*walk)(const struct reading *r, const struct toml_node *node, const char *name);
    const struct entries *entries;
    const char *what;        /* "rules": a size_t at `at` says how many there are, of MOST_ENTRIES; NULL: any number */
    const struct schema *of; /* the keys of the table, or tables, that it holds; NULL: names of one's own */
    double otherwise;        /* what a number or truth is that no file gives */
    unsigned shown;          /* TYPE_ bits, to editors; 0: `types` */
    const char *named;       /* "metric": what has a table of its own name, [job.metrics.NAME]; NULL: nothing */
    bool required;
};

struct schema {
    const char *title; /* "[job]" */
    const struct schema_key *keys;
    size_t count;
    /* Takes what was found in such a table into its part of the sweep; NULL: schema_take does, into the same place as
     * what is around the table. It reports to the reading's problems and goes on; a second entry of one name replaces
     * that of a profile and is a problem otherwise. */
    void (*read)(const struct reading *r, struct found *found);
};

/* What a table has, by the keys of its schema; NULL where one is absent or wrong. */
#define KEYS_MOST 32
struct found {
    const struct schema *of;
    const struct toml_node *table;
    const struct toml_node *nodes[KEYS_MOST];
};

/* The first members of a schema: its title and the rows of its keys. */
#define SCHEMA(name, ...)                                                                                              \
    .title = (name), .keys = (const struct schema_key[]){__VA_ARGS__},                                                 \
    .count = sizeof((const struct schema_key[]){__VA_ARGS__}) / sizeof(struct schema_key)

extern const struct schema schema_deepspeed, schema_model_info, schema_import, schema_slurm, schema_executor,
    schema_ssh, schema_local, schema_top, schema_sweep, schema_job, schema_metric, schema_derived_metric, schema_rule,
    schema_failure, schema_device, schema_model_type, schema_model_space, schema_predict, schema_search, schema_retry,
    schema_fixture;

/* Compares a table with its schema: unknown keys (with what may have been meant), keys that this kind of file may
 * not have, wrong types and missing keys (but for one that an unknown key seems to mean) are problems. What they would
 * have named is excused. What is found has one of the types of its key. */
struct found schema_match(const struct schema *s, const struct reading *r, const struct toml_node *table);

/* What was found of a key of the schema. */
const struct toml_node *found_key(const struct found *f, const char *name);

/* Puts what was found into the places of its keys in `into`, and has read what they have a function for. What is out of
 * bounds is a problem, left as it was and found no more. Returns whether all of it was taken. */
bool schema_take(const struct reading *r, struct found *f, void *into);

/* Both, or what the schema has for it. */
void schema_read(const struct schema *s, const struct reading *r, const struct toml_node *table, void *into);

/* Puts into their places what its keys and those of its tables are when no file gives them. */
void schema_set_defaults(const struct schema *s, void *into);

/* Appends the rows of all tables, a line each for scripts/sweep_schema.py, with tabs between title, name, types,
 * "required", the title of the table that it holds ("named [metrics]"), bounds and words. */
void schema_add_rows(struct buffer *out);

/* Returns whether `node` has one of `types`. */
bool schema_type_fits(const struct toml_node *node, unsigned types);

/* The same; where not, complains that the value of `name` must be of `types`. */
bool schema_expect(const struct reading *r, const struct toml_node *node, const char *name, unsigned types);

/* Complains that the value of `name` must be of `types`. */
void schema_wrong_type(const struct reading *r, const struct toml_node *node, const char *name, unsigned types);

/* --- what tables are read with that no schema describes ---
 *
 * All of these report to the reading's problems and go on. */

/* The words that run a shell line. */
char **shell_command(const struct reading *r, const char *line);

/* A command and a time limit ([job] command, timeout) in place of what `*out` holds. */
void read_command(const struct reading *r, const struct toml_node *node, struct command_words *out);
void read_limit(const struct reading *r, const struct toml_node *node, char **out);

/* When all files are read: whether jobs need their own directory, and their files by path. */
void finish_job(struct job_config *job);

/* [derive], [synonym], [inert]; a key of [was]. */
extern const struct entries derived_entries, synonym_entries, inert_entries;
void read_was(const struct reading *r, const struct toml_node *node, const char *name);

/* [[model_type]]. What a row leaves out is as it is of the type that it is like, or of that name. */
void read_model_types(const struct reading *r, const struct toml_node *list);

/* [model_space]. Where several files have one, that of the sweep file stands in place of a profile's. */
void read_model_space(const struct reading *r, const struct toml_node *table);

/* Samples up to the step that profile_steps have profiled are warm-up. */
void finish_profile_steps(struct sweep *s);

/* The defaults of [model_info], and when all files are read: whether it can speak for all models. */
void model_info_set_defaults(struct sweep *s);
void check_model_info(const struct reading *r);

/* Words of one of the forms from FORM_WORDS to FORM_NAMES, as a key's `what` says. */
void read_words(const struct reading *r, const struct toml_node *node, enum key_form form, const char *what,
                struct word_list *out);

/* Complains of what cannot be a key. */
bool check_is_key(const struct reading *r, struct position at, const char *name);

/* A section: one table or a list of them; its blocks are appended. */
void read_section(const struct reading *r, enum section_kind kind, const struct toml_node *node);

/* When all files are read: keys that differ only in case, constant names used twice, derived keys that are keys too
 * (those of profiles give way), labels and list values that look misspelt. */
void check_sections(const struct reading *r);

#define HF_CONFIG_KEY "hf_config"

/* Of step and factor, whole or real, one; all else is 0. */
struct number_range {
    bool is_real;
    int64_t first, step, factor;
    double from, real_step, real_factor;
    uint64_t count;
};

/* Returns whether a value is meant as a range: a table with `from` or `to`. */
bool range_is_meant(const struct toml_node *node);

/* A range of integers, or of reals where it `may_be_real` and has one; false after a complaint. */
bool range_read(const struct reading *r, const struct toml_node *node, bool may_be_real, struct number_range *out);
struct value range_at(const struct number_range *range, uint64_t position);
