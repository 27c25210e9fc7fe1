/* Compares the jobs that two databases have in common: measurements before and now. */
#ifndef MESHSWEEP_COMPARE_BEFORE_AFTER_H
#define MESHSWEEP_COMPARE_BEFORE_AFTER_H

#include <stdbool.h>

#include "compare/slowdown.h"
#include "database/db.h"

/* Jobs of the two current sweeps are matched by job key. All their successful attempts count, each with its summary,
 * whether they meet [sweep] subject_to or not. */
struct before_after_request {
    const char *metric; /* NULL: the objective of the sweep of now */
    const char *by;     /* a column of `results`: one verdict for each of its values; NULL: one for all */
    double limit;       /* the ratio that is to be found, above 1 */
};

/* A job that was measured on both sides. */
struct before_after_job {
    int64_t before_id, now_id;
    size_t group;
    struct slowdown_job runs;
};

struct before_after_group {
    char *value; /* of the key; NULL where there is no key or the jobs have no value */
    struct slowdown slowdown;
};

struct before_after {
    char *metric, *unit; /* unit "" for none */
    bool maximise;
    struct before_after_job *jobs; /* by group */
    size_t job_count;
    struct before_after_group *groups; /* by value: numbers in their order, then texts */
    size_t group_count;
    int64_t before_only, now_only;     /* jobs that are in one database only */
    int64_t failed_before, failed_now; /* ok on the other side */
    int64_t not_measured; /* on both sides, but not ok on either, ended early or with no finite value above 0 */
    int64_t breached_now; /* measured, but [sweep] subject_to is met before alone */
    /* one of them, as the database of now counts; 0: none */
    int64_t example_failed_now, example_breached_now;
};

/* ERROR_USAGE for a metric or a key that does not exist, for a metric of which nothing says whether more or less is
 * better, and for units that differ; ERROR_NOTHING when there is no job in common, or none that was measured on both
 * sides. `*out` is the caller's: before_after_free. */
int before_after_read(struct db *before, struct db *now, const struct before_after_request *request,
                      struct before_after *out, struct error *e);
void before_after_free(struct before_after *b);

#endif
