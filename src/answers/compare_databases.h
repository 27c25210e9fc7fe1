/* The comparison of two databases as text, Markdown and JSON. */
#ifndef MESHSWEEP_ANSWERS_COMPARE_DATABASES_H
#define MESHSWEEP_ANSWERS_COMPARE_DATABASES_H

#include "compare/before_after.h"

/* All borrowed for the call. */
struct compare_databases_request {
    const char *before, *now; /* paths */
    const char *metric;       /* NULL: the objective */
    const char *by;           /* NULL: one verdict for all */
    const char *fail_slower;  /* "5%"; NULL: the figures without a verdict */
    bool json, markdown;
};

/* Prints the comparison. Returns an exit status: STATUS_FAILED if a group is slower, else STATUS_JOBS_FAILED if one
 * cannot be decided, else STATUS_OK. -1 with `e` set on an error. */
int compare_databases(const struct compare_databases_request *r, struct error *e);

#endif
