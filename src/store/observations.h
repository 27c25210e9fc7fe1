/* Predictions and what came of them, and the weights fitted to that. Inside the caller's write transaction. */
#pragma once

#include "store/jobs.h"

struct observation_row {
    int64_t attempt_id;
    const char *quantity; /* "memory", "time" */
    const char *framework, *device, *cluster;
    const char *kind; /* "measured", "at-least", "at-most" */
    double measured, predicted;
    double peak; /* NaN: none */
    const char *terms_json;
};

int observation_record(struct db *db, const struct observation_row *row, struct error *e);

/* The newest `most` of that quantity and place, oldest first; rows are borrowed for the call. `place` is read for its
 * quantity, framework, device and cluster. -1 from `each` stops. */
typedef int (*observation_each)(void *context, const struct observation_row *row, struct error *e);
int observations_read(struct db *db, const struct observation_row *place, int64_t most, observation_each each,
                      void *context, struct error *e);

/* Reads the places and quantities that have observations and no calibration; nothing else of a row is filled. */
int unfitted_places_read(struct db *db, observation_each each, void *context, struct error *e);

/* The memory that jobs were last measured to take, of the newest `most` attempts, oldest first. */
typedef int (*measured_memory_each)(void *context, const struct job_specs *job, double bytes, struct error *e);
int measured_memory_read(struct db *db, int64_t most, measured_memory_each each, void *context, struct error *e);

/* Jobs of the newest `most` attempts that are ok or ran out of device memory, and of which nothing was observed, oldest
 * first: they ran before anything was predicted for them. `failure` is NULL where a job is ok. */
typedef int (*unobserved_each)(void *context, const struct job_specs *job, int64_t attempt_id, const char *failure,
                               struct error *e);
int unobserved_read(struct db *db, int64_t most, unobserved_each each, void *context, struct error *e);

struct calibration_row {
    const char *quantity, *framework, *device, *cluster;
    const char *weights_json;
    double sigma, interval;
    int64_t measured, censored, broken;
    bool prior;
    double baseline, model_error, baseline_error; /* NaN: none */
};

int calibration_record(struct db *db, const struct calibration_row *row, struct error *e);

/* That of the observation's place and quantity, which it makes stale. */
int calibration_forget(struct db *db, const struct observation_row *row, struct error *e);
typedef int (*calibration_each)(void *context, const struct calibration_row *row, struct error *e);
int calibrations_read(struct db *db, calibration_each each, void *context, struct error *e);

/* The first finds whether there are calibrations that the sweep's stored predictions were not made with; the second
 * notes that now they are. */
int calibrations_are_new(struct db *db, int64_t sweep_id, bool *yes, struct error *e);
int calibrations_note(struct db *db, int64_t sweep_id, struct error *e);
