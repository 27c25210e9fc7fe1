/* Failed jobs by cause for `status`, as text and as JSON. */
#ifndef MESHSWEEP_REPORT_FAILURE_LIST_H
#define MESHSWEEP_REPORT_FAILURE_LIST_H

#include <cjson/cJSON.h>

#include "results/failure_causes.h"
#include "util/buffer.h"

/* The most causes listed; the number of the rest is given. */
#define FAILURE_LIST_MOST FAILURE_CAUSES_MATCHED

struct failure_list {
    const struct failure_causes *causes;
    int64_t failed, looked_at; /* failed jobs, and how many of the newest are grouped at most */
    size_t columns;            /* of the terminal; 0: none */
    bool ascii;
};

/* Appends a heading and, for each cause, two or more lines: how often and what, then for which values of the keys.
 * Appends nothing if there is no cause. */
void failure_list_add(const struct failure_list *list, struct buffer *out);

/* An array of {"class", "message", "consequence", "cause", "jobs", "example_job", "where", "compared"}. The caller
 * frees it. */
cJSON *failure_list_json(const struct failure_causes *causes);

#endif
