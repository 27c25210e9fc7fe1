/* The comparison of two databases as text, Markdown and JSON. */
#ifndef MESHSWEEP_ANSWERS_COMPARE_DATABASES_H
#define MESHSWEEP_ANSWERS_COMPARE_DATABASES_H

#include "compare/before_after.h"

/* Everything borrowed for the length of the call. */
struct compare_databases_request {
    const char *before, *now; /* paths */
    const char *metric;       /* NULL: the objective */
    const char *by;           /* NULL: one verdict for all */
    const char *fail_slower;  /* "5%"; NULL: the figures without a verdict */
    bool json, markdown;
};

/* Prints; an exit status: STATUS_FAILED where a group is slower, else STATUS_JOBS_FAILED where one cannot be told, else
 * STATUS_OK. -1 with `e` filled. */
int compare_databases(const struct compare_databases_request *r, struct error *e);

#endif
