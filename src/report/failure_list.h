/* Failed jobs by cause for `status`, as text and as JSON. */
#ifndef MESHSWEEP_REPORT_FAILURE_LIST_H
#define MESHSWEEP_REPORT_FAILURE_LIST_H

#include <cjson/cJSON.h>

#include "results/failure_causes.h"
#include "util/buffer.h"

/* Causes listed; their number is told. */
#define FAILURE_LIST_MOST FAILURE_CAUSES_MATCHED

struct failure_list {
    const struct failure_causes *causes;
    int64_t failed, looked_at; /* jobs that failed, and the newest ones that were grouped at most */
    size_t columns;            /* of the terminal; 0: none */
    bool ascii;
};

/* A heading and two or more lines for each cause: how often and what, then with which values of the keys. Nothing where
 * there is none. */
void failure_list_add(const struct failure_list *list, struct buffer *out);

/* An array of {"class", "message", "consequence", "cause", "jobs", "example_job", "where", "compared"}. The
 * caller's. */
cJSON *failure_list_json(const struct failure_causes *causes);

#endif
