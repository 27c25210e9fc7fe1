/* Files that a job left in its directory and below: what there is, and which of them are not kept. No link is followed,
 * and nothing but regular files is listed or removed. */
#pragma once

#include <stdint.h>

#include "util/string_list.h"

/* Rules for which files stay. Patterns are those of fnmatch(3), on paths from the directory on; * matches slashes
 * too. */
struct keep_rules {
    char *const *kept;      /* NULL-terminated; NULL: all are */
    int64_t most_bytes;     /* of what is kept by them, the smallest first; 0: no limit */
    struct string_list own; /* patterns of what stays in any case */
};

/* {"count": 3, "bytes": 4096, "removed": 1, "list": [{"name": "trace.rep", "bytes": 4000}, {"name": "old", "bytes": 96,
 * "removed": true}]}: the largest hundred of a great many. Output and metrics, which meshsweep writes there, are not
 * listed and stay. NULL: it left nothing. The caller's. */
char *left_files_json(const char *job_dir, const struct keep_rules *rules);

/* Removes what is not kept. */
void left_files_remove(const char *job_dir, const struct keep_rules *rules);
