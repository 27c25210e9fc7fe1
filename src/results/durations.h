/* How long jobs will take, from attempts of jobs like them. */
#ifndef MESHSWEEP_RESULTS_DURATIONS_H
#define MESHSWEEP_RESULTS_DURATIONS_H

#include "database/db.h"

/* Attempts that are looked at, the newest; and jobs that wait, beyond which a sample of them stands for all. */
#define DURATIONS_MOST 2000

/* Expected is the mean of attempts whose jobs have the same cluster, model and training specs; where there is none, of
 * those with the same cluster and model; else of all. Cancelled and lost attempts tell nothing. */

/* Mean over the jobs of the sweep that wait (`waiting` of them), in milliseconds; NaN when nothing has ended or none
 * waits. */
int durations_of_waiting(struct db *db, int64_t sweep_id, int64_t waiting, double *mean_ms, struct error *e);

/* Calls `each` for every attempt that runs, of any sweep, once something has ended. */
int durations_of_running(struct db *db, void (*each)(void *context, int64_t job_id, double ms), void *context,
                         struct error *e);

#endif
