/* The logs that a launcher or a script writes to an attempt's directory. */
#pragma once

#include <stdbool.h>

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
