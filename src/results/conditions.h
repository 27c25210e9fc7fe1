/* What keeps ok jobs from winning: the conditions of [sweep] subject_to, and the want of a number. */
#ifndef MESHSWEEP_RESULTS_CONDITIONS_H
#define MESHSWEEP_RESULTS_CONDITIONS_H

#include "database/db.h"
#include "util/buffer.h"

/* A job that a condition keeps from winning. Numbers that are not known are NAN. */
struct kept_out {
    int64_t job_id;
    double objective;
    double value, bound; /* of the sides of the condition, where it is a comparison */
    double excess;       /* by what share it is missed */
    char *note;          /* why it cannot be told; NULL: it can */
};

struct win_condition {
    char *text;            /* as written */
    int64_t broken;        /* ok jobs that do not meet it */
    int64_t better;        /* of these, those that would win else: with these it binds */
    struct kept_out first; /* the best of those */
};

struct conditions {
    struct win_condition *items; /* as declared */
    size_t count;
    /* Where a job is ok and none meets all: of the nearest one the condition that it misses by most. */
    bool none_meets;
    size_t missed; /* into items */
    struct kept_out nearest;
    /* Ok jobs of which it is known why their objective has no number, and why that is for most of them; NULL: none. */
    int64_t unranked;
    char *why_unranked;
};

/* Of the current sweep. `winner` NAN: no job wins; then no condition binds. */
struct conditions_request {
    const char *objective;
    bool maximise;
    double winner;
};
int conditions_read(struct db *db, const struct conditions_request *request, struct conditions *out, struct error *e);
void conditions_free(struct conditions *c);

/* Adds a line if ok jobs have no number that can be compared: "not compared: 3 ok jobs without a number: …". */
void conditions_add_unranked(const struct conditions *c, struct buffer *out);

/* "peak_memory <= 70 GiB is missed by 20 % (84 where 70 is allowed)". */
void conditions_add_miss(const struct win_condition *c, const struct kept_out *job, struct buffer *out);

#endif
