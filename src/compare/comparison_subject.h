/* The subject of a comparison: its metric, its key and the free keys, as requested. */
#ifndef MESHSWEEP_COMPARE_COMPARISON_SUBJECT_H
#define MESHSWEEP_COMPARE_COMPARISON_SUBJECT_H

#include "compare/compared_jobs.h"
#include "compare/comparison.h"

struct comparison_subject {
    bool has_direction, maximise; /* which of the jobs that differ in free keys alone represents them */
};

/* Fills in the names of `out`, which the caller frees in any case; fails like comparison_read(). `metric` may be NULL
 * for the objective. */
int comparison_subject_metric(struct db *db, const char *metric, struct comparison *out,
                              struct comparison_subject *subject, struct error *e);
int comparison_subject_keys(struct db *db, const struct compared_jobs *jobs, const struct comparison_request *request,
                            const struct comparison_subject *subject, struct comparison *out, struct error *e);

#endif
