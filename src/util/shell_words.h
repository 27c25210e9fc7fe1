/* Words as a shell reads them. */
#ifndef MESHSWEEP_UTIL_SHELL_WORDS_H
#define MESHSWEEP_UTIL_SHELL_WORDS_H

#include "util/buffer.h"

/* Appends `word` so that a POSIX shell takes it as that one word. */
void shell_add_word(struct buffer *out, const char *word);

/* Appends a line that runs `command` with the settings `environment` (NAME=value; both NULL-terminated). */
void shell_add_command(struct buffer *out, char *const *environment, char *const *command);

#endif
