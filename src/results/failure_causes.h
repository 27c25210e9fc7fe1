/* Failed jobs grouped by cause: messages with equal cause texts (cause_text) have the same cause. */
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

/* --- texts --- */

/* The message of a failure without the parts that differ between jobs with the same cause. */

#define CAUSE_BYTES 1000

/* "#" stands for numbers, lists of them, dates, times, durations, amounts of memory, addresses, identifiers (UUIDs and
 * hashes of eight hexadecimal digits and more) and the names that programs make up below /tmp. The mark that PyTorch
 * and torchrun put before the lines of a rank ("[rank3]: ", "[default3]:") goes: whether there was more than one rank
 * makes no other cause. At most CAUSE_BYTES of it are kept. The caller's. */
char *cause_text(const char *message);
