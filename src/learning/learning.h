/* Predictions that learn: what an attempt measured is kept beside what was predicted for it, and the weights of its
 * (framework, device, cluster) are fitted again. */
#ifndef MESHSWEEP_LEARNING_LEARNING_H
#define MESHSWEEP_LEARNING_LEARNING_H

#include "space/space.h"
#include "store/observations.h"

/* Predicts from now on with the calibrations that stand in `db` (results.db), with those that its observations make
 * where none stands (learning_note_row, a merge), and with the lines of memory through what jobs were measured to take
 * there. Writes nothing. */
int learning_load(struct space *space, struct db *db, struct error *e);

/* learning_load, once what ran before anything was predicted for it is noted: the file had no [predict] then, or keys
 * that no prediction could be made of. Of the newest attempts; in its own transaction. */
int learning_resume(struct space *space, struct db *db, struct error *e);

/* Calls `each` for the same calibrations. */
int learning_calibrations(struct space *space, struct db *db, calibration_each each, void *context, struct error *e);

/* What an attempt that ended shows. */
struct attempt_result {
    int64_t attempt_id, job_id;
    const char *failure; /* NULL: ok */
};

/* What the summaries of an attempt say of memory and time; NAN: nothing. */
struct measurement {
    double bytes;   /* peak of a device */
    double seconds; /* of a step; from a rate only where `p` says how much a step is */
};

/* What learning_measure reads the summaries of an attempt with: one statement for all of them. The caller's,
 * stmt_free. */
int learning_summaries(struct db *db, struct stmt **out, struct error *e);

/* By [predict] memory_metric and time_metric, else by what metrics are said to mean, else by the usual names, with
 * their units. `p` may be NULL. */
int learning_measure(const struct space *space, struct stmt *summaries, int64_t attempt_id, const struct prediction *p,
                     struct measurement *out, struct error *e);

/* Records memory and time of an attempt whose summaries stand in `db`, the metric "mfu" where its step time and the
 * device's peak are known, and fits again. Only ok and out-of-memory attempts teach anything. Inside the caller's
 * write transaction. Nothing where no prediction is asked for or possible. */
int learning_note(struct space *space, struct db *db, const struct attempt_result *result, struct error *e);

/* The same of an attempt that a table brings, with what is predicted for it (NULL: nothing): to be fitted when all of
 * them are there. */
int learning_note_row(struct space *space, struct db *db, const struct attempt_result *result,
                      const struct prediction *p, struct error *e);

/* Fits and records the weights of all places of which there are observations and no calibration. Inside the caller's
 * write transaction. */
int learning_fit(struct space *space, struct db *db, struct error *e);

#endif
