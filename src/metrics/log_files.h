/* The logs that a launcher or a script writes to an attempt's directory. */
#pragma once

#include <stdbool.h>

#include "metrics/classify.h"

/* Returns whether a file at the top of an attempt's directory is one that meshsweep puts there: output that was
 * captured, metrics that were reported. */
bool log_file_is_ours(const char *name);

/* Hands the path of each regular file below `directory` (NULL or not there: none) that is named like a log to `take`,
 * those written to last at the end. Not `but` (NULL: none), nor what is more than LOG_FILES_DEPTH directories down; it
 * looks at LOG_FILES_SEEN entries at most and hands over LOG_FILES_MOST. */
#define LOG_FILES_DEPTH 5
#define LOG_FILES_SEEN 10000
#define LOG_FILES_MOST 256
void log_files_each(const char *directory, const char *but, void (*take)(const char *path, void *context),
                    void *context);

/* --- numbers that a job wrote where no reader looked --- */

/* The text file (.log, .txt, .jsonl, .csv, .out) that the attempt wrote last in its directory, else the last one that
 * the end of its output names, without directories. The caller's; NULL: none. */
char *unread_file(const struct attempt_output *output);

/* The last line of the end of an output, cut to 160 bytes, that nearly matches a regular expression: it has a number,
 * and every word of three letters or more that the expression has, in whatever case and with small mistakes. The
 * caller's; NULL: none. */
char *unread_line(const char *pattern, const char *log);
