/* The jobs of a sweep as the candidates of a search.
 *
 *   group          equal in the keys that [sweep] group_by lists, one group of all where it is empty; without it, in
 *                  every key of cluster_spec, model and training_spec but the micro-batch, gradient accumulation and
 *                  ZeRO stage, unless every candidate would be alone then; and, unless it is empty, in the global batch
 *                  wherever it stands (a file that declares none lets it float), without equal_batch it may differ
 *   configuration  equal in every key but the micro-batch and gradient accumulation
 *   memory_class   with predictions: equal in all that they are made from but the micro-batch, gradient accumulation
 *                  and global batch; else the configuration
 *
 * Keys are found by the names of predict/inputs.h and [predict.keys]. What is predicted is what the framework's
 * coefficients say before any calibration: a search calibrates by what it is told, so that a resumed one repeats
 * itself. */
#ifndef MESHSWEEP_SEARCH_CANDIDATES_H
#define MESHSWEEP_SEARCH_CANDIDATES_H

#include "database/db.h"
#include "search/strategy.h"
#include "space/space.h"

/* A job that differs from a candidate's in replicate keys only ([sweep] replicate): it is not a separate candidate. */
struct candidate_replicate {
    int64_t job_id;
    size_t candidate;
    bool queued; /* the driver's */
};

struct candidate_set {
    struct search_space space;
    int64_t *job_ids;                       /* by candidate; of replicates the first */
    struct candidate_replicate *replicates; /* the others, by job id */
    size_t replicate_count;
    struct candidate_job {
        int64_t job_id;
        size_t candidate;
    } * by_job;          /* of all candidates, by job id */
    uint64_t *groups;    /* by group: a hash of what is equal in it, the same in every run */
    const char *unknown; /* why the search knows no predictions of time; NULL: it does. Static */
    /* What `space` points into. */
    struct candidate *candidates;
    const char **keys, **sections;
    bool *saves_memory;
    double *values, *terms;
    struct search_place *places;
};

struct candidate_request {
    struct space *space;
    struct db *db; /* results.db, with the sweep enumerated */
    int64_t sweep_id;
    bool equal_batch;
    bool only_selected;   /* those in the table "selected" (store/attempts.h) */
    const char *only_sql; /* a further condition over table `job`, trusted; NULL: none */
};

/* In the order of priority, then rank. A sweep without jobs gives an empty space. */
int candidates_load(const struct candidate_request *request, struct candidate_set *out, struct error *e);
void candidates_free(struct candidate_set *set);

/* How many groups compete apart, how large they are, in which keys they differ, and with which [sweep] group_by they
 * would not: for people, and the caller's. NULL: there is but one. groups.c */
char *candidate_set_groups(const struct candidate_set *set);

/* SIZE_MAX: the job is not a candidate. */
size_t candidate_set_find(const struct candidate_set *set, int64_t job_id);

/* NULL: it is none of a candidate's further replicates. Borrowed. */
struct candidate_replicate *candidate_set_replicate(const struct candidate_set *set, int64_t job_id);

#endif
