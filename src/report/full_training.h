/* The full training of a search's winner (`run --run-full-experiment`), which no result counts. */
#pragma once

#include <cjson/cJSON.h>

#include "database/db.h"

/* Those of the job, oldest first: "full_trainings" of docs/json.md. The caller's. */
int full_trainings_read(struct db *db, int64_t job_id, cJSON **out, struct error *e);

/* The newest of them; NULL: there is none. Borrowed. */
const cJSON *full_training_last(const cJSON *all);

/* "ok", "failed", "running" or "claimed"; NULL for NULL. Borrowed. */
const char *full_training_state(const cJSON *training);

/* Returns whether one of them came to its end as it should. */
bool full_training_is_done(const cJSON *all);
