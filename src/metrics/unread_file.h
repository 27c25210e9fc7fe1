/* Numbers that a job wrote where no reader looked. */
#pragma once

#include "metrics/classify.h"

/* The text file (.log, .txt, .jsonl, .csv, .out) that the attempt wrote last in its directory, else the last one that
 * the end of its output names, without directories. The caller's; NULL: none. */
char *unread_file(const struct attempt_output *output);

/* The last line of the end of an output, cut to 160 bytes, that nearly matches a regular expression: it has a number,
 * and every word of three letters or more that the expression has, in whatever case and with small mistakes. The
 * caller's; NULL: none. */
char *unread_line(const char *pattern, const char *log);
