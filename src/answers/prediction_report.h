/* What `predict` prints about combinations: a list with residuals by axis, how accurate it was, or a frontier. */
#ifndef MESHSWEEP_ANSWERS_PREDICTION_REPORT_H
#define MESHSWEEP_ANSWERS_PREDICTION_REPORT_H

#include "config/scaling.h"
#include "database/db.h"
#include "plan/scaled_plans.h"
#include "predict/predictor.h"
#include "space/space.h"
#include "util/buffer.h"

enum report_kind { REPORT_LIST, REPORT_ACCURACY, REPORT_FRONTIER };

struct report_request {
    enum report_kind kind;
    int64_t most;             /* combinations listed */
    const char *frontier_key; /* REPORT_FRONTIER */
    const char *memory_words; /* "allocated, rank 0": of the memory that is measured; "" where that is not known */
};

/* Borrowed for the call. */
struct predicted_row {
    const char *words;                   /* "tp=2 micro_batch=4": what differs between combinations */
    const struct prediction *prediction; /* NULL: `why` says what is missing */
    const char *why;
    const char *predicted_memory_of;                 /* as in struct match */
    int64_t job;                                     /* 0: the database has no such job */
    const char *state, *failure;                     /* "" when the database has no such job */
    double measured_bytes, measured_s, before_bytes; /* NaN: none; the last was predicted before it ran */
    bool is_audit;
    const struct scaled_plan *scaled; /* of --scale-to: the plan that it is; NULL: none */
};

struct prediction_report;
struct prediction_report *prediction_report_create(const struct report_request *request);
void prediction_report_free(struct prediction_report *r);
void prediction_report_add(struct prediction_report *r, const struct predicted_row *row);

/* Appends the whole. `db` (NULL: there is none) tells calibrations and observations. */
int prediction_report_end(struct prediction_report *r, struct space *space, struct db *db, struct buffer *out,
                          struct error *e);

/* Appends a profile per calibrated (framework, device, cluster). ERROR_NOTHING without any. */
int prediction_report_profile(struct space *space, struct db *db, struct buffer *out, struct error *e);

#define SCALED_SHOWN 10

struct scaled_shown {
    const struct scaling *scaling;
    size_t most; /* plans listed of each work */
};

/* Appends what became of plans (ranked) where they are scaled to: the best first. */
void scaled_report(const struct scaled_plans *p, const struct scaled_shown *shown, struct buffer *out);

#endif
