/* Failed jobs grouped by cause: messages with equal cause texts (results/cause_text.h) have the same cause. */
#pragma once

#include "results/json.h"

/* Causes told apart; the jobs of further ones are counted in `others`. */
#define FAILURE_CAUSES_MOST 400

/* Only for the first so many is it found out which keys go with them: with their values the cause is more frequent than
 * chance would have it. */
#define FAILURE_CAUSES_MATCHED 10

struct failure_causes {
    cJSON *list;    /* "failures" of `status --json`, with all causes: of most jobs first */
    cJSON *words;   /* of each its "where" as texts: "all 12 with tp=8; none of 36 without" */
    int64_t others; /* jobs */
};

/* Reads the causes of the newest `jobs_most` failed jobs of a sweep (0: all). `*out` is the caller's:
 * failure_causes_free. */
int failure_causes_read(struct db *db, int64_t sweep_id, int64_t jobs_most, struct failure_causes *out,
                        struct error *e);
void failure_causes_free(struct failure_causes *c);
