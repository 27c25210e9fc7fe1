/* The commands: one constant each, from which dispatch, help and the manual are made (src/commands/commands.toml). A
 * command prints through cli/output.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "util/buffer.h"
#include "util/error.h"

enum exit_status {
    STATUS_OK = 0,
    STATUS_FAILED = 1, /* an operation failed; compare --fail-slower: it is slower */
    STATUS_USAGE = 2,  /* wrong usage or an invalid sweep file */
    /* Finished, some jobs or the full training failed; stale: some results are; compare --fail-slower: too few repeats
     * to tell. */
    STATUS_JOBS_FAILED = 3,
    STATUS_NOTHING = 4,  /* nothing matched */
    STATUS_HELD = 5,     /* the host could not run all jobs */
    STATUS_ALIKE = 6,    /* the first jobs failed the same way, and the rest were not started */
    STATUS_SIGNAL = 128, /* plus the signal's number */
};

/* Arguments of a command. */
struct arguments {
    char *const *words; /* words that are not options, NULL-terminated */
    size_t word_count;
    char *const *program; /* the words after "--", NULL-terminated; NULL without "--". See takes_program */
};

struct command {
    const char *name;
    const char *summary; /* one line, without a full stop */
    const char *usage;   /* what follows the name: "[OPTIONS] [-- PROGRAM ARGUMENT...]" */
    const char *example; /* one or more lines, without a final newline */
    const struct option *options;
    size_t options_bytes; /* of the struct that `options` fills */
    size_t words_most;
    const char *const *words;                  /* completions of words, NULL-terminated; NULL: files */
    enum offer offer;                          /* completions from a database; then `words` is NULL */
    bool takes_program, first_word_is_program; /* as in struct option_rules */
    bool pages;                                /* its text for people goes through a pager */
    /* `options`: the command's own struct, filled. Returns an exit status, or -1 with `e` filled; then the error is
     * printed, and the status follows from its kind. */
    int (*run)(const void *options, const struct arguments *a, struct error *e);
};

/* In the order of the help text, NULL-terminated; the first is the default. The build makes them of
 * src/commands/commands.toml (scripts/commands.awk). */
extern const struct command *const commands[];
extern const char *const command_names[];

/* The meanings of the exit statuses; the last one has a NULL status. */
struct exit_status_text {
    const char *status; /* "0", "128+n" */
    const char *meaning;
};
extern const struct exit_status_text exit_status_texts[];

/* "columns", "keys", "metrics", "jobs", …; NULL for OFFER_NOTHING. */
extern const char *const offer_names[OFFER_COUNT];

/* Appends, or prints, what the statement "sql/texts/NAME.sql" makes of the table of commands and, where `c` is not
 * NULL, of that one, with its rare options too (`all`) or not. */
int commands_add_text(const char *name, const struct command *c, bool all, struct buffer *out, struct error *e);
int commands_print(const char *name, const struct command *c, bool all, struct error *e);

/* NULL for an unknown command, with `e` filled, which suggests the nearest one. */
const struct command *command_by_name(const char *word, struct error *e);

/* Finds the command in `argv` (without the program's name): the first word that is neither an option nor the value of
 * one. `*at` is its index, or the number of words if there is none (or an unknown option precedes an unknown word).
 * NULL for an unknown command, with `e` filled. */
const struct command *command_find(char *const *argv, size_t *at, struct error *e);
