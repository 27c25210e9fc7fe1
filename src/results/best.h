/* The winner of the current sweep under its objective, and the jobs close to it. */
#pragma once

#include <cjson/cJSON.h>

#include "database/db.h"
#include "results/configurations.h"
#include "results/json.h"

#define BEST_LISTED 6 /* the winner and at most five others, within 2 % of its value (sql/answers/ranked.sql) */

/* `document` is that of `meshsweep best --json` without what tells how to run the job, and beside it is what only the
 * text has (sql/answers/best.sql, which says what is missing); of groups the first one's. "job" is null: no job is ok
 * with a finite objective. */
struct best {
    cJSON *document, *beside;
};

/* `group` is the text of a group ("model.name=1B, num_hosts=1") or, where there is none such, a part of it
 * ("num_hosts=1"): the best as if there were no other groups; NULL: all. ERROR_USAGE where there are none, with those
 * that there are, and when the sweep declares no objective, with what to add; ERROR_NOTHING when no sweep has been
 * recorded. */
int best_read(struct db *db, const char *group, struct best *out, struct error *e);
void best_free(struct best *b);

/* The number of the winner; -1: none. */
int64_t best_job(const struct best *b);

/* --- the jobs that might be the best --- */

/* Lists the number of the winner of `b`, then those of the jobs whose interval overlaps its, by value, at most
 * BEST_LISTED in all; NULL when `b` has no winner. The interval is the 95 % one of the median of a job's ok attempts,
 * with one attempt alone that of its samples, where the metric is their mean or median (sql/answers/leads.sql). Where
 * either has none, a job contends within 2 %. The caller's. */
int contenders_read(struct db *db, const struct best *b, cJSON **out, struct error *e);

/* How far the winner of each group is ahead of the next, in the order of groups: {"job", "second": null where no other
 * has a value, "ahead": as a share of the second's value, "low" and "high": its interval, null where one of the two has
 * no error, "ran_once": its error is that of the samples of one of them, "alike": the first of those that cannot be
 * told apart, "alike_jobs": how many they are}. The caller's. */
int leads_read(struct db *db, const char *objective, bool maximise, const struct competition *c, cJSON **out,
               struct error *e);

/* --- several objectives --- */

/* Lists them by the first objective, the best first; equal ones by the next, then by job: {"job": of replicates the one
 * in the middle, "tie": the first job with the same values or null, "values": {"throughput": …}}. NULL: the sweep has
 * one objective. Reads within the caller's transaction; there must be a current sweep. The list is the caller's. */
int pareto_read(struct db *db, cJSON **out, struct error *e);

/* --- why ok jobs do not win: the conditions of [sweep] subject_to, and the want of a number --- */

/* Adds of ok jobs in the current sweep that have no number of a metric, although it is known why, how many they are and
 * why that is for most of them: "unranked_jobs", "unranked_why"; and how many jobs are excluded, or attempts of them:
 * "excluded_jobs". Beside it the sentences "unranked" and "excluded"; null: there are none. */
int unranked_read(struct db *db, const char *metric, cJSON *document, cJSON *beside, struct error *e);

/* A question about the current sweep (sql/answers/subject_to.sql). `objective` NULL: none; `winner` NAN: no job wins;
 * then no condition binds. */
struct conditions_request {
    const char *objective;
    bool maximise;
    double winner;
    const char *jobs; /* those that compete with it, a list in JSON; NULL: all */
};

/* Adds "subject_to", each condition as declared, and what unranked_read does; beside it "notes", why they cannot be
 * told of their jobs, "nearest" and "excess", by what share the nearest job misses. */
int conditions_read(struct db *db, const struct conditions_request *request, cJSON *document, cJSON *beside,
                    struct error *e);
