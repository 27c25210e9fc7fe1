/* Splits text into words as a shell does, and quotes values for a POSIX shell, so that each is taken literally wherever
 * it is in the line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"
#include "util/error.h"
#include "util/string_list.h"

/* A place in a line, as far as it matters to what is put there. */
enum shell_place {
    SHELL_WORD = 1,      /* a separate word, or part of one */
    SHELL_SINGLE_QUOTES, /* 'here' */
    SHELL_DOUBLE_QUOTES, /* "here" */
    SHELL_DOCUMENT,      /* lines behind <<END */
    SHELL_RAW_DOCUMENT,  /* lines behind <<'END' */
    SHELL_COMMENT,
};

struct shell_spot {
    enum shell_place place;
    bool in_backquotes;      /* `here`, where a backslash means more */
    bool in_arithmetic;      /* $((here)), where quotes mean nothing */
    bool after_name;         /* $name or ~name, which must not go on with the value */
    bool after_backslash;    /* which must not be the value's */
    bool before_redirection; /* > or <, of which the value must not be the descriptor */
    bool begins_word;        /* where NAME=value would be a setting */
};

enum { SHELL_DEPTH_MOST = 32, SHELL_END_BYTES = 64 };

/* A line as far as it has been read. */
struct shell_line {
    char open[SHELL_DEPTH_MOST]; /* what is open, the innermost last: '"', '(', '`', or '+' for "$((" */
    size_t depth;
    bool single_quoted, escaped, comment, between_words;
    char end[SHELL_END_BYTES]; /* of the document that begins on the next line, or that is being read; "": none */
    bool document, raw_document, indented_document;
    char document_line[SHELL_END_BYTES];
    size_t document_line_length;
};

#define SHELL_LINE_INIT ((struct shell_line){.between_words = true})

/* Goes on behind `text`, the next part of the line as it is written. */
void shell_line_read(struct shell_line *l, const char *text);

/* Returns where a value behind what was read would stand, between the parts `before` and `after` of the line ("" for
 * another value); and goes on behind that value. */
struct shell_spot shell_line_put(struct shell_line *l, const char *before, const char *after);

/* Appends the value, quoted where it needs to be: what is plain is appended as it is. */
void shell_add_value(struct buffer *out, const char *value, struct shell_spot spot);

/* --- words of a line --- */

/* Appends `word` so that a POSIX shell takes it as that one word. */
void shell_add_word(struct buffer *out, const char *word);

/* The same alone, for commands that messages recommend. The caller's. */
char *shell_word(const char *word);

/* `text` with `path`, as a shell takes it, wherever it has the word FILE. The caller's. */
char *shell_fill_file(const char *text, const char *path);

/* Appends a line that runs `command` with the settings `environment` (NAME=value; both NULL-terminated). */
void shell_add_command(struct buffer *out, char *const *environment, char *const *command);

/* Adds the words of a line to `out` as a POSIX shell splits it: blanks between them, quotes of both kinds, backslashes.
 * Nothing is expanded, and no character is an operator. ERROR_USAGE for a quote that is not closed. */
int shell_split(const char *line, struct string_list *out, struct error *e);
