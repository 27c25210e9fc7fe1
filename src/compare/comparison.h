/* Compares jobs that differ in only one key. */
#ifndef MESHSWEEP_COMPARE_COMPARISON_H
#define MESHSWEEP_COMPARE_COMPARISON_H

#include <stdbool.h>

#include "compare/ratios.h"
#include "database/db.h"
#include "util/string_list.h"

struct compared_jobs;

/* Replicates ([sweep] replicate) are one: their mean. Two jobs are a pair when all their keys are equal but the one
 * compared by, labels (name, description) and derived keys; the global batch (global_batch or train_batch_size) must be
 * equal even where it is derived. Only jobs of the current sweep count. */
struct comparison_request {
    const char *key;    /* "zero_stage", "parallel_spec.zero_stage", or "model": whole specs of that section */
    const char *a, *b;  /* these two values; NULL: every two, or with more than COMPARISON_VALUES neighbours in order */
    const char *metric; /* NULL: the objective */
    const char *free;   /* keys with commas between them that follow the key: the best of what differs in them alone
                         * stands for its value. NULL: none; where pairs that differ in the key alone are few, keys that
                         * the sweep's rules, derived keys and tied keys connect with it are freed as far as that adds
                         * pairs. "": none, whatever there is */
    uint64_t seed;
    struct compared_jobs
        *jobs; /* read with that metric in the caller's transaction, for several comparisons; NULL: what
                                 * this one needs is read for it */
};

#define COMPARISON_VALUES 8

/* Value `a` against value `b`. */
struct comparison_pair {
    char *a, *b;
    double *ratios;                         /* b's metric over a's, ascending */
    struct ratio_summary summary;           /* of them */
    int64_t only_a, only_b;                 /* pairs of which one side is ok and the other failed */
    int64_t neither;                        /* both failed */
    int64_t open;                           /* a side has not ended yet */
    int64_t without_ratio;                  /* both ok, but a value is absent, not finite, zero or negative */
    int64_t example_only_a, example_only_b; /* the first job that failed in one of them; 0: none */
};

struct comparison {
    char *section, *key, *metric, *unit; /* unit "" for none */
    bool is_objective, maximise;         /* maximise holds for the objective only */
    struct comparison_pair *pairs;
    size_t count;
    struct string_list free; /* keys that are free */
    bool free_was_found;     /* not asked for: pairs that differ in the key alone were too few */
    size_t pairs_alone;      /* of those, the most that any two values have; with free_was_found */
    size_t values;           /* distinct ones of the key */
    bool says_batch;         /* the sweep's jobs have a global batch among their keys, declared or derived */
};

/* ERROR_USAGE for a key, a value or a metric that does not exist, with what there is, for a derived key and where there
 * is no objective; ERROR_NOTHING when no sweep has been recorded. `*out` is the caller's: comparison_free. */
int comparison_read(struct db *db, const struct comparison_request *request, struct comparison *out, struct error *e);
void comparison_free(struct comparison *c);

#endif
