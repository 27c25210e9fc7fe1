/* Options of a command line, declared as a table: one table per command, from which its arguments are read and its
 * help text is made. Pure: nothing here prints or exits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"
#include "util/error.h"

/* The kind of an option's value, and the type of the member that takes it. */
enum option_kind {
    OPTION_FLAG = 1, /* bool; no value */
    OPTION_STRING,   /* const char *, borrowed from argv or the table; NULL: not given */
    OPTION_INT,      /* int64_t */
    OPTION_DOUBLE,   /* double */
    OPTION_CHOICE,   /* int: index into `choices` */
    OPTION_DURATION, /* int64_t in milliseconds; seconds when written without a unit */
};

/* Completions that come from a database or a sweep file (cli/offers.h). */
enum offer {
    OFFER_NOTHING,
    OFFER_COLUMNS, /* of `results` */
    OFFER_KEYS,    /* of specs, derived ones too */
    OFFER_METRICS,
    OFFER_JOBS,         /* their numbers */
    OFFER_COMBINATIONS, /* KEY=VALUE, or the number of a job */
    OFFER_PREDICTIONS,  /* what the rows of `predict` have */
    OFFER_CANDIDATES,   /* what conditions on candidates of a [model_space] may name */
    OFFER_COUNT,
};

struct option {
    const char *name; /* the long name without dashes; NULL ends the table */
    char letter;      /* the short name; 0: none */
    enum option_kind kind;
    size_t offset;        /* of the member in the command's struct of options */
    const char *value;    /* what help calls the value: "FILE" */
    const char *help;     /* a few words */
    const char *fallback; /* default value as it would be written, shown in help; NULL: zero bytes */
    const char *const
        *choices;        /* OPTION_CHOICE: NULL-terminated; OPTION_STRING: what a shell offers for a value, or for
                                   each of several with commas between them */
    double least, most;  /* OPTION_INT, OPTION_DOUBLE: inclusive; both 0: no bounds */
    enum offer offer;    /* OPTION_STRING: what a shell offers for a name, for each of a list, or in a condition */
    bool rare;           /* --help shows only its name; meshsweep help COMMAND has the rest */
    bool value_optional; /* OPTION_STRING: a value comes only as --name=value; without one it is "" */
    bool many;           /* OPTION_STRING: the words that follow its value and begin with a digit belong to it too */
};

/* A row of a table: the rest of `enum option_kind`, the long name, the member's offset, `value` (NULL for a flag) and
 * `help`, then further members as designators. */
#define OPTION(type, long_name, at, value_name, ...)                                                                   \
    {                                                                                                                  \
        .name = long_name, .kind = OPTION_##type, .offset = (at), .value = value_name, .help = __VA_ARGS__             \
    }

/* -h, --help, --version, --color and --no-pager, which every table has. */
extern const struct option common_option_table[];

/* How to parse a command line. */
struct option_rules {
    const struct option *table;
    size_t words_most;          /* words that are not options; more are an error */
    bool takes_program;         /* words after "--" are a program's, kept apart; else "--" only ends the options */
    bool first_word_is_program; /* with takes_program: so are those from the first one that is not an option on */
};

/* Everything else on the command line. Words are borrowed from argv. */
struct option_words {
    char **items; /* in order, NULL-terminated; the caller's to free(), the words are not */
    size_t count;
    char *const *program; /* NULL-terminated as argv is; NULL when there is none */
    char *joined;         /* the value of an option that takes many words; the caller's to free() */
    bool help;            /* -h or --help: nothing else was looked at */
    bool version;         /* --version: likewise */
    int color;            /* --color: enum colour_choice */
    bool no_pager;        /* --no-pager */
};

/* Reads `argv` (NULL-terminated, without the program's and the command's name) into `*target`, which was zeroed and
 * gets the fallbacks first. Long options with "=" or a separate value, short ones bundled or with their value
 * attached, options and words in any order. common_option_table is known in every table. The last one of an
 * option that is given twice counts.
 *
 * A separate value may not begin with "--": then it is the value that is missing. ERROR_USAGE in one sentence: an
 * unknown option with the nearest one, a value that is missing, not wanted, of the wrong kind or out of bounds, a
 * word too many. */
int options_parse(const struct option_rules *rules, char *const *argv, void *target, struct option_words *out,
                  struct error *e);

/* Returns whether `word`, as it stands on a command line, is an option of `table` or of every table whose value is the
 * next word. */
bool option_takes_next_word(const struct option *table, const char *word);

/* Returns whether `word`, which begins with "-", begins with an option of `table` or one that every table has. */
bool option_is_known(const struct option *table, const char *word);

/* Index of `text`, a value of `option`, in the NULL-terminated `words`; else -1 (ERROR_USAGE), naming the nearest word
 * or all. */
int option_find_word(const char *option, const char *text, const char *const *words, struct error *e);
