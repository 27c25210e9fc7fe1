/* Finds all pairs of a comparison. */
#ifndef MESHSWEEP_COMPARE_MATCHED_PAIRS_H
#define MESHSWEEP_COMPARE_MATCHED_PAIRS_H

#include "compare/compared_jobs.h"
#include "compare/comparison.h"

/* Fills the pairs of `c` for its key and free keys; earlier pairs are freed. `maximise`: which of several jobs that
 * differ in free keys alone represents them. ERROR_USAGE for a value that no job has. */
int matched_pairs_measure(const struct compared_jobs *jobs, const struct comparison_request *request, bool maximise,
                          struct comparison *c, struct error *e);
void matched_pairs_clear(struct comparison *c);

#endif
