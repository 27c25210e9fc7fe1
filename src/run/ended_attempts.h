/* Attempts that have ended and are not recorded yet: recorded with the next commit, announced after
 * it. */
#pragma once

#include "database/attempt_sums.h"
#include "run/claim_source.h"
#include "run/claims.h"
#include "run/recording.h"
#include "run/running_attempt.h"
#include "space/space.h"

struct place_naming;

struct ended_attempt {
    struct running_attempt attempt;
    struct recording recording;
};

struct ended_attempts {
    struct ended_attempt *items;
    size_t count;
    int64_t oldest_ms; /* when the first of them came */
    bool failure_due;  /* one of them failed */
    bool witness_due;  /* one of them ran out of device memory */
};

/* Takes all three. */
void ended_attempts_add(struct ended_attempts *l, const struct running_attempt *attempt, struct outcome *outcome,
                        const struct recording *recording);

struct record_place {
    struct db *db;
    struct space *space;
    struct attempt_store *store;
    const struct claim_source *source; /* notified of each end */
    struct claims *claims;             /* what is pruned leaves it */
    struct attempt_sums *sums;         /* NULL: none are kept */
    struct measures *measures;         /* NULL: none */
    const struct place_naming *naming;
};

/* Writes the ends, and the starts that are not written yet; inside the caller's write transaction. `*pruned` is raised
 * by how many jobs were. */
int ended_attempts_record(struct ended_attempts *l, const struct record_place *place, int64_t *pruned, struct error *e);

void ended_attempts_clear(struct ended_attempts *l);
void ended_attempts_free(struct ended_attempts *l);
