/* Ask and tell for those outside: a person, a program or another sampler says which configuration it wants, and what
 * came of it. What is proposed passes the rules and predictions of the sweep before it costs anything; what is accepted
 * is a trial (sql/migrations/0005_search.sql) of a search of the strategy "ask", whose options say who proposed it, and
 * stays open until its outcome is told, or a run has found it out.
 *
 * Inside the caller's write transaction, with the sweep enumerated. First of all comes proposals_settle, in a
 * transaction of its own. Answers are JSON and the caller's. */
#ifndef MESHSWEEP_ASK_PROPOSALS_H
#define MESHSWEEP_ASK_PROPOSALS_H

#include <cjson/cJSON.h>

#include "measures/measures.h"
#include "space/space.h"
#include "store/attempts.h"
#include "store/runners.h"

#define PROPOSALS_STRATEGY "ask"

/* SQL: the jobs `j` of the sweep ?1 that could run and that nobody has asked for. */
#define UNASKED_JOBS                                                                                                   \
    " FROM job AS j WHERE j.sweep_id = ?1 AND j.state = 'pending' AND j.witness_id IS NULL AND j.held IS NULL AND NOT" \
    " EXISTS (SELECT 1 FROM trial AS t JOIN search AS s ON s.id = t.search_id WHERE t.job_id = j.id"                   \
    "  AND s.sweep_id = ?1 AND s.strategy = '" PROPOSALS_STRATEGY "')"

struct proposal_place {
    struct space *space;
    struct db *db;
    struct measures *measures; /* NULL: none */
    int64_t sweep_id;
    const char *by, *why;     /* where a proposal does not say so itself */
    struct runner_row runner; /* who tells; of proposals_tell alone */
};

/* Trials whose jobs have run meanwhile get their outcomes. */
int proposals_settle(const struct proposal_place *place, struct error *e);

/* A proposal is an object of keys and values, or {"keys": {…}, "by": …, "why": …}; keys that it does not name may be
 * any. Keys stand by name, or by section as in all answers. `proposals` is one or a list. The answer: {"asked":
 * [trial, …], "refused": [{"proposal", "keys", "rule", "reason", "values", "nearest"}, …], "open": N, "left": N}.
 * A job that has run already is a trial with its outcome. ERROR_USAGE for what is not a proposal: then nothing of it
 * stands. */
int proposals_ask(const struct proposal_place *place, const cJSON *proposals, cJSON **answer, struct error *e);

/* The next jobs that nobody has asked for: as the strategy of [search] decides where there is one (not grid), else in
 * the order of the sweep. ERROR_NOTHING when none is left, or it waits for outcomes. */
int proposals_next(const struct proposal_place *place, size_t count, cJSON **answer, struct error *e);

/* What was asked for and has no outcome yet: {"asked": […], …}. */
int proposals_open(const struct proposal_place *place, cJSON **answer, struct error *e);

/* A result is {"trial" or "job": N, or "key": "…"; "metrics": {…}, "duration": seconds; or "failure": class, "message":
 * …}; `results` is one or a list. The answer: {"told": [trial, …], "open": N, "left": N}. ERROR_USAGE, and nothing
 * stands, for a job that was not requested or is told already, a number that is none, an objective that is missing. */
int proposals_tell(const struct proposal_place *place, const cJSON *results, cJSON **answer, struct error *e);

/* --- shared by these --- */

/* Whether a strategy decides what is next. */
bool proposals_are_decided(const struct sweep *s);

/* As it decides, into the list of trials. */
int proposals_decide(const struct proposal_place *place, size_t wanted, cJSON *asked, struct error *e);

/* The search of what `by` proposes, a new one where there is none, and the next sequence number of it. */
int proposals_open_search(const struct proposal_place *place, const char *by, int64_t *id, int64_t *sequence,
                          struct error *e);

/* The last trial of the job that somebody outside asked for; 0: none. */
int proposals_find_trial(const struct proposal_place *place, int64_t job_id, int64_t *trial_id, struct error *e);

/* Makes a job a trial, where it is none yet, with its outcome where it has ended; the trial is added to the list. */
struct acceptance {
    int64_t job_id;
    bool has_ended;
    const char *by, *why;
};
int proposals_accept(const struct proposal_place *place, const struct acceptance *a, cJSON *asked, struct error *e);

/* Writes the outcome that the job has to its trial. */
int proposals_take_outcome(const struct proposal_place *place, int64_t trial_id, int64_t job_id, struct error *e);

/* Appends {"trial", "job", "key", "keys", "by", "why", "predicted_memory_bytes", "predicted_step_time_s", "outcome",
 * "failure", "objective_value", "does_not_meet"}, the last four once it is told. */
int proposals_add_trial(const struct proposal_place *place, int64_t trial_id, cJSON *list, struct error *e);

/* With empty lists "asked" and "refused". */
cJSON *proposals_new_answer(void);

/* Adds "open" and "left" to the answer: trials without an outcome, and jobs that nobody has asked for. */
int proposals_add_counts(const struct proposal_place *place, cJSON *answer, struct error *e);

#endif
