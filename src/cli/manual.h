/* The manual page and the shells' completions, made from the command table. Pure. */
#ifndef MESHSWEEP_CLI_MANUAL_H
#define MESHSWEEP_CLI_MANUAL_H

#include "util/buffer.h"

/* Appends the page in troff with the man macros, as man-pages(7) has it. */
void manual_add(struct buffer *out);

/* Append completion scripts for commands, options, their choices and files. */
void completion_add_bash(struct buffer *out);
void completion_add_zsh(struct buffer *out);
void completion_add_fish(struct buffer *out);

#endif
