/* Compares jobs that differ in one key only. */
#pragma once

#include <stdbool.h>

#include "compare/ratios.h"
#include "database/db.h"
#include "util/string_list.h"

struct compared_jobs;

/* Replicates ([sweep] replicate) count as one job with their mean. Two jobs are a pair if all their keys are equal
 * except the one compared by, labels (name, description) and derived keys. The global batch (global_batch or
 * train_batch_size) must be equal even if it is derived. Only jobs of the current sweep count. */
struct comparison_request {
    const char *key;    /* "zero_stage", "parallel_spec.zero_stage", or "model": whole specs of that section */
    const char *a, *b;  /* the values to compare; NULL: all pairs, or with more than COMPARISON_VALUES, neighbours */
    const char *metric; /* NULL: the objective */
    const char *free;   /* comma-separated keys that follow the key: of jobs that differ in these alone, the one that is
                           best in the other half of the pairs represents its value (compare/ratios.h). NULL: none,
                           except that if too few pairs differ in the key alone, keys connected with it by the sweep's
                           rules, derived keys or tied keys are freed as far as that adds pairs. "": none in any case */
    uint64_t seed;      /* decides on the halves */
    struct compared_jobs
        *jobs; /* read with that metric in the caller's transaction, for several comparisons; NULL: read here */
};

#define COMPARISON_VALUES 8

/* Says of a key that no job has which one is near, or which there are. Returns -1. */
int comparison_key_unknown(struct db *db, const char *option, const char *key, struct error *e);

struct compared_metric {
    char *name, *unit; /* unit "" for none */
    bool is_objective, is_derived, has_direction, maximise;
};

/* The metric to compare, the objective if `metric` is NULL; the names are the caller's. ERROR_USAGE if it is none,
 * ERROR_NOTHING if no sweep has been recorded in `whose` database ("this database"). */
int compared_metric_read(struct db *db, const char *whose, const char *metric, struct compared_metric *out,
                         struct error *e);

/* Value `a` compared with value `b`. */
struct comparison_pair {
    char *a, *b;
    double *ratios;                         /* b's metric over a's, ascending */
    struct ratio_summary summary;           /* of the ratios */
    int64_t only_a, only_b;                 /* pairs with one side ok and the other failed */
    int64_t neither;                        /* both failed */
    int64_t open;                           /* a side has not ended */
    int64_t without_ratio;                  /* both ok, but a value is missing, not finite or not positive */
    int64_t without_choice;                 /* of several jobs of a side no setting was measured in the other half */
    bool chosen_a, chosen_b;                /* whether a side was chosen among several in any pair */
    int64_t example_only_a, example_only_b; /* the first job that failed in such a pair; 0: none */
};

struct comparison {
    char *section, *key;
    struct compared_metric metric;
    struct comparison_pair *pairs;
    size_t count;
    struct string_list free; /* the free keys */
    bool free_was_found;     /* not requested: too few pairs differed in the key alone */
    size_t pairs_alone;      /* the most pairs of any two values without free keys; set with free_was_found */
    size_t values;           /* distinct values of the key */
    bool says_batch;         /* the jobs have a global batch among their keys, declared or derived */
};

/* ERROR_USAGE for an unknown key, value or metric, with a list of those that exist, for a derived key, and if there is
 * no objective; ERROR_NOTHING if no sweep has been recorded. Intervals and verdicts are added by comparisons_judge.
 * Free `*out` with comparison_free. */
int comparison_read(struct db *db, const struct comparison_request *request, struct comparison *out, struct error *e);
void comparison_free(struct comparison *c);

/* Adds intervals and verdicts, which hold together for all comparisons of `count` keys. Returns how many have an
 * interval. */
size_t comparisons_judge(struct comparison *items, size_t count);

/* Has `said` tell of a pair (sql/comparisons.sql); `by` NULL: of the one key that it is about. `ratios_too`: they are
 * as many as jobs, and only a document lists them. */
int comparison_say_pair(struct db *said, const char *by, const struct comparison_pair *p, bool ratios_too,
                        struct error *e);

#define EFFECTS_KEYS_MOST 16

/* Compares by each of the keys, at most EFFECTS_KEYS_MOST, and has `said` tell of it (sql/comparisons.sql, all keys),
 * where `asked` has the rest. */
int key_effects_read(struct db *db, const char *objective, const char *const *keys, size_t count, struct db *said,
                     struct error *e);
