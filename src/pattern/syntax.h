/* POSIX extended regular expressions, with what the C library adds to them (\b \B \w \W \s \S \< \> \` \'), in the
 * syntax of the engine. */
#ifndef MESHSWEEP_PATTERN_SYNTAX_H
#define MESHSWEEP_PATTERN_SYNTAX_H

#include "util/buffer.h"

/* Adds `text` to `out`. Returns 0, or -1 with the reason in `why`: back-references ("\1"), which cannot be matched in
 * linear time, and what POSIX leaves undefined. What is wrong otherwise, the engine says. */
int syntax_translate(const char *text, struct buffer *out, char why[256]);

#endif
