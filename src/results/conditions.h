/* The reasons why ok jobs do not win: the conditions of [sweep] subject_to, and the want of a number. */
#pragma once

#include "results/json.h"
#include "util/buffer.h"

/* Adds of ok jobs in the current sweep that have no number of a metric, although it is known why, how many they are and
 * why that is for most of them: "unranked_jobs", "unranked_why"; and how many jobs are excluded, or attempts of them:
 * "excluded_jobs". Beside it the sentences "unranked" and "excluded"; null: there are none. */
int unranked_read(struct db *db, const char *metric, cJSON *document, cJSON *beside, struct error *e);

/* Appends these sentences as lines. */
void unranked_add_text(const cJSON *beside, struct buffer *out);

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

/* Where a job is ok and none meets all: the condition that the nearest one misses by most. Else NULL. */
const cJSON *conditions_nearest(const cJSON *document, const cJSON *beside);
