/* Splits text into words as a shell does. */
#pragma once

#include "util/buffer.h"
#include "util/error.h"
#include "util/string_list.h"

/* Appends `word` so that a POSIX shell takes it as that one word. */
void shell_add_word(struct buffer *out, const char *word);

/* `text` with `path`, as a shell takes it, wherever it has the word FILE. The caller's. */
char *shell_fill_file(const char *text, const char *path);

/* Appends a line that runs `command` with the settings `environment` (NAME=value; both NULL-terminated). */
void shell_add_command(struct buffer *out, char *const *environment, char *const *command);

/* Adds the words of a line to `out` as a POSIX shell splits it: blanks between them, quotes of both kinds, backslashes.
 * Nothing is expanded, and no character is an operator. ERROR_USAGE for a quote that is not closed. */
int shell_split(const char *line, struct string_list *out, struct error *e);
