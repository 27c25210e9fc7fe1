/* Ask and tell for clients: a person, a program or another sampler says which configurations it wants, and reports
 * their outcomes. A proposal must pass the sweep's rules and predictions before it costs anything. An accepted one is a
 * trial (sql/migrations/0005_search.sql) of a search with the strategy "ask", whose options name the proposer. It stays
 * open until its outcome is told or a run has found it.
 *
 * Call these in the caller's write transaction, with the sweep enumerated, after proposals_settle in a transaction of
 * its own. Answers are JSON, and the caller frees them. */
#pragma once

#include <cjson/cJSON.h>

#include "measures/measures.h"
#include "space/space.h"
#include "store/attempts.h"
#include "store/runners.h"

#define PROPOSALS_STRATEGY "ask"

struct proposal_place {
    struct space *space;
    struct db *db;
    struct measures *measures; /* NULL: none */
    int64_t sweep_id;
    const char *by, *why;     /* if a proposal does not give them itself */
    struct runner_row runner; /* who tells; for proposals_tell only */
};

/* Records the outcomes of trials whose jobs have run meanwhile. */
int proposals_settle(const struct proposal_place *place, struct error *e);

/* A proposal is an object of keys and values, or {"keys": {…}, "by": …, "why": …}. Keys that it does not name may have
 * any value. Keys are given by name, or by section as in all answers. `proposals` is one or a list. The answer is
 * {"asked": [trial, …], "refused": [{"proposal", "keys", "rule", "reason", "values", "nearest"}, …], "open": N, "left":
 * N}. A job that has already run is a trial with its outcome. ERROR_USAGE if anything is not a proposal; then nothing
 * is recorded. */
int proposals_ask(const struct proposal_place *place, const cJSON *proposals, cJSON **answer, struct error *e);

/* Asks for the next jobs that no client has asked for: chosen by the strategy of [search] if there is one (not grid),
 * else in the sweep's order. ERROR_NOTHING if none is left, or the strategy waits for outcomes. */
int proposals_next(const struct proposal_place *place, size_t count, cJSON **answer, struct error *e);

/* The trials without an outcome yet: {"asked": […], …}. */
int proposals_open(const struct proposal_place *place, cJSON **answer, struct error *e);

/* A result is {"trial" or "job": N, or "key": "…"; "metrics": {…}, "duration": seconds; or "failure": class, "message":
 * …}; `results` is one or a list. The answer is {"told": [trial, …], "open": N, "left": N}. ERROR_USAGE for a job that
 * was not requested or was already told, an invalid number, or a missing objective; then nothing is recorded. */
int proposals_tell(const struct proposal_place *place, const cJSON *results, cJSON **answer, struct error *e);
