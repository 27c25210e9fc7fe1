/* Predictions that learn: measurements of an attempt are stored beside its predictions, and the weights of its
 * (framework, device, cluster) are fitted again. */
#pragma once

#include "space/space.h"

/* Makes predictions use the calibrations in `db` (results.db), new fits to observations that have no calibration yet
 * (after learning_note_row or a merge), and lines of memory through what jobs were measured to use. Writes nothing. */
int learning_load(struct space *space, struct db *db, struct error *e);

/* Like learning_load, but first notes the newest attempts that ran before they could be predicted: the file then had no
 * [predict], or keys that allowed no prediction. In its own transaction. */
int learning_resume(struct space *space, struct db *db, struct error *e);

/* The weights of a quantity ("memory", "time") at a place. */
struct calibration_row {
    const char *quantity, *framework, *device, *cluster;
    const char *weights_json;
    double sigma, interval;
    int64_t measured, censored, broken;
    bool prior;
    double baseline, model_error, baseline_error; /* NaN: none */
};
typedef int (*calibration_each)(void *context, const struct calibration_row *row, struct error *e);

/* Calls `each` for the calibrations that learning_load would use. */
int learning_calibrations(struct space *space, struct db *db, calibration_each each, void *context, struct error *e);

/* The outcome of an attempt that ended. */
struct attempt_result {
    int64_t attempt_id, job_id;
    const char *failure; /* NULL: ok */
};

/* Memory and time from the summaries of an attempt; NAN: not measured. */
struct measurement {
    double bytes;   /* peak per device */
    double seconds; /* per step; from a rate only if `p` gives the work of a step */
    double watts;   /* the lowest limit that a device was held to */
};

/* Prepares the statement that learning_measure uses for every attempt. Free with stmt_free. */
int learning_summaries(struct db *db, struct stmt **out, struct error *e);

/* Finds the metrics by [predict] memory_metric and time_metric, else by their declared meanings, else by the usual
 * names, and respects their units. `p` may be NULL. */
int learning_measure(const struct space *space, struct stmt *summaries, int64_t attempt_id, const struct prediction *p,
                     struct measurement *out, struct error *e);

/* Records memory and time of an attempt whose summaries are in `db`, and the metric "mfu" if step time and the device's
 * peak are known; then fits again. Only ok and out-of-memory attempts count, and the time of none whose devices were
 * held to less power than is predicted with. Call inside a write transaction. Does nothing if no prediction is wanted
 * or possible. */
int learning_note(struct space *space, struct db *db, const struct attempt_result *result, struct error *e);

/* Records an attempt imported from a table, with its prediction (NULL: none). Call learning_fit after the last one. */
int learning_note_row(struct space *space, struct db *db, const struct attempt_result *result,
                      const struct prediction *p, struct error *e);

/* Fits and records the weights of all places that have observations but no calibration. Call inside a write
 * transaction. */
int learning_fit(struct space *space, struct db *db, struct error *e);
