/* The jobs of a sweep as the candidates of a search, and how they are grouped.
 *
 *   group          equal in the keys that [sweep] group_by lists; if it lists none, all candidates are one group.
 *                  Without group_by: equal in every key of cluster_spec, model and training_spec but the micro-batch,
 *                  gradient accumulation and ZeRO stage, unless every candidate would then be alone. Unless group_by
 *                  is empty, also equal in the global batch, in whichever section (a file that declares none lets it
 *                  float); without equal_batch it may differ
 *   configuration  equal in every key but the micro-batch and gradient accumulation
 *   memory_class   with predictions: equal in every input of the prediction but the micro-batch, gradient accumulation
 *                  and global batch; without: the configuration
 *
 * Keys are found by the names of predict/inputs.h and [predict.keys]. Predictions use the framework's coefficients
 * before any calibration: a search calibrates from the outcomes that it is told, so that a resumed one repeats itself.
 */
#pragma once

#include "database/db.h"
#include "search/strategy.h"
#include "space/space.h"

/* A job of a candidate. */
struct candidate_job {
    int64_t job_id;
    size_t candidate;
    bool queued; /* used by the driver, of a further replicate */
};

struct candidate_set {
    struct search_space space;
    int64_t *job_ids;             /* by candidate; with replicates, the first */
    struct candidate_job *by_job; /* all candidates, by job id */
    /* Jobs that differ from a candidate only in replicate keys ([sweep] replicate), by job id. */
    struct candidate_job *replicates;
    size_t replicate_count;
    const char *unknown; /* why there are no predictions of time; NULL: there are. Static */
    /* `space` points into these. */
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
    bool only_selected; /* only jobs in the table "selected" (store/attempts.h) */
};

/* Candidates are ordered by priority, then rank. A sweep without jobs gives an empty space. */
int candidates_load(const struct candidate_request *request, struct candidate_set *out, struct error *e);
void candidates_free(struct candidate_set *set);

/* For people: how many groups compete separately, how large they are, which keys tell them apart, and which [sweep]
 * group_by would merge them. NULL: there is only one group. The caller frees it. */
char *candidate_set_groups(const struct candidate_set *set);

/* Predicts from its terms, those that it has, by the coefficients of a place. */
void candidate_predict(struct candidate *c, const struct search_place *place);

/* SIZE_MAX: the job is not a candidate. */
size_t candidate_set_find(const struct candidate_set *set, int64_t job_id);

/* NULL: the job is not a further replicate of a candidate. Borrowed. */
struct candidate_job *candidate_set_replicate(const struct candidate_set *set, int64_t job_id);
