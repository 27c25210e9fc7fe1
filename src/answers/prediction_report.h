/* The output of `predict`: a list of combinations with residuals by axis, the accuracy, or a frontier. */
#pragma once

#include "config/scaling.h"
#include "database/db.h"
#include "predict/predictor.h"
#include "space/space.h"
#include "util/buffer.h"

enum report_kind { REPORT_LIST, REPORT_ACCURACY, REPORT_FRONTIER };

struct report_request {
    enum report_kind kind;
    int64_t most;             /* the most combinations or plans listed */
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
    const char *document; /* of the combination (match_json_add), as text; NULL: rows are not asked for */
};

/* What the views of sql/predictions.sql say, from the rows that are added. `request` is borrowed. */
struct prediction_report;
int prediction_report_create(const struct report_request *request, struct prediction_report **out, struct error *e);
void prediction_report_free(struct prediction_report *r);
int prediction_report_add(struct prediction_report *r, const struct predicted_row *row, struct error *e);

/* Its private database. Borrowed. */
struct db *prediction_report_db(const struct prediction_report *r);

/* Appends the whole report. `db` (may be NULL) supplies calibrations and observations. */
int prediction_report_end(struct prediction_report *r, struct space *space, struct db *db, struct buffer *out,
                          struct error *e);

/* Appends a profile for each calibrated (framework, device, cluster). ERROR_NOTHING if there is none. */
int prediction_report_profile(struct space *space, struct db *db, struct buffer *out, struct error *e);

/* --- plans of a sweep where it is and where it is scaled to --- */

int prediction_report_add_plan(struct prediction_report *r, const struct predicted_row *row, bool is_there,
                               struct error *e);

/* When all have been added, once: places, and the view `scaled` of them, intervals and efficiencies. */
int prediction_report_rank(struct prediction_report *r, struct error *e);

/* Appends how plans, ranked, perform on the devices that they are scaled to, best first. */
int prediction_report_scaled(struct prediction_report *r, const struct scaling *x, struct buffer *out, struct error *e);
