/* The reasons why ok jobs do not win: the conditions of [sweep] subject_to, and the want of a number. */
#pragma once

#include "results/json.h"
#include "util/buffer.h"

/* Ok jobs of which it is known why they have no number of a metric, and why that is for most of them; NULL: none. Jobs
 * that are excluded, or attempts of them, are counted apart: "job 5 (too warm), job 7 (attempt 2: bad node)". */
struct unranked {
    int64_t jobs, excluded;
    char *why, *which;
};
void unranked_free(struct unranked *u);

/* Reads those of the current sweep. */
int unranked_read(struct db *db, const char *metric, struct unranked *out, struct error *e);

/* Adds a line if there are any: "not compared: 3 ok jobs without a number: …", and another: "2 excluded: …". */
void unranked_add_text(const struct unranked *u, struct buffer *out);

/* Adds "unranked_jobs", "unranked_why" and "excluded_jobs". */
void unranked_add_json(const struct unranked *u, cJSON *root);

struct conditions {
    cJSON *list;              /* "subject_to" of the document: each as declared */
    cJSON *beside;            /* "notes": why it cannot be told of its job; "excess": by what share `nearest` misses */
    const cJSON *nearest;     /* where a job is ok and none meets all: what the nearest one misses by most. Else NULL */
    struct unranked unranked; /* by the objective */
};

/* A question about the current sweep (sql/answers/subject_to.sql). `winner` NAN: no job wins; then no condition
 * binds. */
struct conditions_request {
    const char *objective;
    bool maximise;
    double winner;
};
int conditions_read(struct db *db, const struct conditions_request *request, struct conditions *out, struct error *e);
void conditions_free(struct conditions *c);
