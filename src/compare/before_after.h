/* Compares the jobs that two databases have in common: measurements before and now. */
#pragma once

#include <stdbool.h>

#include "compare/slowdown.h"
#include "database/db.h"

/* Matches the jobs of the two current sweeps by job key. All their successful attempts count, each with its summary,
 * whether or not they meet [sweep] subject_to. */
struct before_after_request {
    const char *metric; /* NULL: the objective of the later sweep */
    const char *by;     /* a column of `results`: one verdict per value; NULL: one for all */
    double limit;       /* the slowdown to detect, as a ratio above 1 */
};

/* A job measured on both sides. */
struct before_after_job {
    int64_t before_id, now_id;
    size_t group;
    struct slowdown_job runs;
};

struct before_after_group {
    char *value; /* of the key; NULL if there is no key or the jobs have no value */
    struct slowdown slowdown;
};

struct before_after {
    char *metric, *unit; /* unit "" for none */
    bool maximise;
    struct before_after_job *jobs; /* sorted by group */
    size_t job_count;
    struct before_after_group *groups; /* sorted by value: numbers first, then texts */
    size_t group_count;
    int64_t before_only, now_only;     /* jobs in one database only */
    int64_t failed_before, failed_now; /* ok on the other side */
    int64_t not_measured; /* in both databases, but on a side not ok, ended early, or without a finite value above 0 */
    int64_t breached_now; /* measured, but meets [sweep] subject_to only before */
    /* an example of each, by its number in the later database; 0: none */
    int64_t example_failed_now, example_breached_now;
};

/* ERROR_USAGE for an unknown metric or key, a metric without a direction, or units that differ. ERROR_NOTHING if no job
 * is in both databases, or none was measured on both sides. Free `*out` with before_after_free. */
int before_after_read(struct db *before, struct db *now, const struct before_after_request *request,
                      struct before_after *out, struct error *e);
void before_after_free(struct before_after *b);
