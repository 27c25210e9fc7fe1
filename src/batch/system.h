/* A batch system as a TOML file describes it (docs/clusters.md): the commands by which it is spoken to, what jobs are
 * asked for with, and how what it says is read. Built-in ones are configs/executors/NAME.toml.
 *
 * Texts that are made are templates: "{key}", "{key:default}", "{key?mem=@mb}" (the value at the "@", or
 * nothing), "{key|quoted}" (in double quotes, a backslash before each quote and backslash), "{key|json}" (the same, as
 * JSON has it), "{key|sh}" (a word of the shell), "{{" and "}}". A line, or the word of a command, with a key that has
 * no value vanishes; a list repeats it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/state.h"
#include "config/key_members.h"
#include "database/db.h"
#include "pattern/line_pattern.h"
#include "toml/tree.h"
#include "util/buffer.h"
#include "util/error.h"

/* --- templates --- */

/* `text` NULL: it has no value. */
struct batch_value {
    const char *name; /* borrowed */
    char *text;
    bool is_list; /* lines, one value each */
};
struct batch_values {
    struct batch_value *items;
    size_t count;
};
/* Takes `text`; the first of one name counts. */
void batch_values_add(struct batch_values *v, const char *name, char *text, bool is_list);
void batch_values_add_count(struct batch_values *v, const char *name, int64_t value); /* below 1: none */
void batch_values_free(struct batch_values *v);
/* Local ones, which are released where their scope ends: `OWNED_VALUES v = {0};` */
#define OWNED_VALUES __attribute__((cleanup(batch_values_free))) struct batch_values

/* Appends the lines of the template that have all of their values. */
void batch_fill(const char *pattern, const struct batch_values *values, struct buffer *out);
/* One text, such as a job's name; the caller's. */
char *batch_fill_text(const char *pattern, const struct batch_values *values);
/* The words of a command: NULL-terminated, the caller's (strings_free). */
char **batch_fill_words(char *const *patterns, const struct batch_values *values);

/* --- the system --- */

/* A pattern of the file; `text` NULL: there is none. */
struct batch_pattern {
    char *text;
    struct line_pattern compiled;
};
/* Returns whether it is there and matches a line of `text`; `groups` are of the text. */
bool batch_pattern_finds(const struct batch_pattern *p, const char *text, size_t count, struct text_range *groups);

#define BATCH_COLUMNS_MOST 15 /* groups of a pattern */

enum batch_field {
    ENTRY_ID,
    ENTRY_TASK,
    ENTRY_STATE,
    ENTRY_REASON,
    ENTRY_NODES,
    ENTRY_COMMENT,
    ENTRY_EXIT,
    ENTRY_SIGNAL,
    ENTRY_COUNT
};

/* Something that is asked by a command. MEMBERS_OF_QUESTION are the members that take the values of its keys
 * (config/keys.toml). */
struct batch_question {
    MEMBERS_OF_QUESTION;
    struct batch_pattern pattern, pair, record, none, empty;
    char *fields[ENTRY_COUNT];       /* SQL; NULL: the column of that name */
    struct string_list names;        /* of keys that these read */
    struct stmt *rows;               /* ?1: what was read, as JSON */
    struct batch_question *fallback; /* asked in its place; NULL: nothing is */
    bool is_gone;                    /* it was seen not to be there */
};

enum batch_arrays { ARRAYS_ALWAYS, ARRAYS_OF_SEVERAL, ARRAYS_NEVER };

/* The meaning of a refused submission, or of a question that failed. */
enum batch_refusal {
    REFUSAL_FINAL = 0, /* it will not do: wrong partition, more than any node has, … */
    REFUSAL_LIMIT,     /* too many jobs just now: again later, with fewer */
    REFUSAL_POLICY,    /* a limit that it names and that is none on their number: what is asked for may never be met */
    REFUSAL_UNKNOWN,   /* no answer: it may have been taken or not */
};
struct batch_refusal_pattern {
    struct batch_pattern pattern;
    enum batch_refusal means;
};

struct batch_system {
    char *name; /* "gridengine": the file's, without ".toml" */
    MEMBERS_OF_SYSTEM;
    MEMBERS_OF_SYSTEM_ENVIRONMENT;
    MEMBERS_OF_SYSTEM_SUBMIT;
    MEMBERS_OF_SYSTEM_CANCEL;
    MEMBERS_OF_SYSTEM_FETCH;
    struct batch_pattern id, id_anyway, refusal_drop, refusal_strip;
    struct batch_refusal_pattern *refusals;
    size_t refusal_count;
    char *reserved_exits; /* "99 100" */

    struct batch_question queue, accounting, doubt, end;
    char **stuck;

    struct toml_node *tree;
    const struct toml_node *states, *changes; /* of the tree; NULL: none */
    struct db *db;                            /* for the statements of questions */
    struct arena arena;                       /* its texts and lists */
};

#define BATCH_UNVERIFIED                                                                                               \
    "%s: this description was written from manuals and has not been run against the real one; "                        \
    "meshsweep check --executor tries it"

/* Reads `name`: one that is built in, or the path of a file, which is looked for beside the file `of` unless that is
 * NULL. ERROR_USAGE for one that is not there, and for what is wrong in it, with its place. */
int batch_system_load(const char *name, const char *of, struct batch_system **out, struct error *e);

/* Refuses `shared` = false for a system by which no results come back. */
int batch_system_check_shared(const struct batch_system *s, bool shared, struct error *e);
void batch_system_free(struct batch_system *s);

/* Returns whether it is Slurm, whose allocations are known, and which has a table of its own in sweep files. */
bool batch_system_is_slurm(const struct batch_system *s);

/* The state that a word of it means: BATCH_STRANGE for one that nobody knows. */
enum batch_state batch_system_state(const struct batch_system *s, const char *word);

/* Returns what to change where a pending job's reason does not pass by itself; NULL: it may. */
const char *batch_system_change(const struct batch_system *s, const char *reason);

enum batch_refusal batch_system_refusal(const struct batch_system *s, const char *said);

/* The sentences that name the cause, of all that was said: "sbatch: a; b". The caller's. */
char *batch_system_refusal_text(const struct batch_system *s, const char *said);

/* The id in what the submission printed; NULL: none. The caller's. */
char *batch_system_id(const struct batch_system *s, const char *output, const char *errors, bool went_well);

/* --- answers --- */

/* One job, or the tasks first … last of an array. Borrowed for the length of the call. */
struct batch_entry {
    const char *job;     /* of an array: the array's */
    int64_t first, last; /* as the system counts; -1: no array */
    enum batch_state state;
    const char *word;                     /* for it, as the system has it */
    bool is_stuck;                        /* it never leaves that state by itself */
    int exit_code, signal_number;         /* -1: not known */
    const char *reason, *nodes, *comment; /* "" where there is none */
};
typedef void batch_entry_function(void *context, const struct batch_entry *entry);

/* Calls `each` for every job of an answer to `q`. Returns the number of rows that were none: they are left out; -1 when
 * the whole is no answer. `*entries` counts the others. Safe for any text (see tests/fuzz). */
int batch_answer_read(const struct batch_system *s, const struct batch_question *q, const char *text,
                      batch_entry_function *each, void *context, size_t *entries);
