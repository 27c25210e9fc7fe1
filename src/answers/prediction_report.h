/* The output of `predict`: a list of combinations with residuals by axis, the accuracy, or a frontier. */
#pragma once

#include "config/scaling.h"
#include "database/db.h"
#include "plan/scaled_plans.h"
#include "predict/predictor.h"
#include "space/space.h"
#include "util/buffer.h"

enum report_kind { REPORT_LIST, REPORT_ACCURACY, REPORT_FRONTIER };

struct report_request {
    enum report_kind kind;
    int64_t most;             /* the most combinations listed */
    const char *frontier_key; /* REPORT_FRONTIER */
    const char *memory_words; /* "allocated, rank 0": which memory is measured; "" if not known */
};

/* Borrowed for the call. */
struct predicted_row {
    const char *words;                   /* "tp=2 micro_batch=4": the keys that differ between combinations */
    const struct prediction *prediction; /* NULL: `why` says what is missing */
    const char *why;
    const char *predicted_memory_of;                 /* as in struct match */
    int64_t job;                                     /* 0: not in the database */
    const char *state, *failure;                     /* "" if not in the database */
    double measured_bytes, measured_s, before_bytes; /* NaN: none; `before_bytes` was predicted before the job ran */
    bool is_audit;
    const struct scaled_plan *scaled; /* with --scale-to: its scaled plan; else NULL */
};

struct prediction_report;
struct prediction_report *prediction_report_create(const struct report_request *request);
void prediction_report_free(struct prediction_report *r);
void prediction_report_add(struct prediction_report *r, const struct predicted_row *row);

/* Appends the whole report. `db` (may be NULL) supplies calibrations and observations. */
int prediction_report_end(struct prediction_report *r, struct space *space, struct db *db, struct buffer *out,
                          struct error *e);

/* Appends a profile for each calibrated (framework, device, cluster). ERROR_NOTHING if there is none. */
int prediction_report_profile(struct space *space, struct db *db, struct buffer *out, struct error *e);

#define SCALED_SHOWN 10

struct scaled_shown {
    const struct scaling *scaling;
    size_t most; /* the most plans listed for each work */
};

/* Appends how plans (ranked) perform on the devices that they are scaled to, best first. */
void scaled_report(const struct scaled_plans *p, const struct scaled_shown *shown, struct buffer *out);
