/* Estimates how long a run will still take from the durations of similar jobs (results/status.h). */
#ifndef MESHSWEEP_CLI_EXPECTED_TIME_H
#define MESHSWEEP_CLI_EXPECTED_TIME_H

#include "run/runner.h"

/* Reads the database on its own connection every few seconds; `db_path` must outlive it. */
struct expected_time;
struct expected_time *expected_time_open(const char *db_path);
void expected_time_close(struct expected_time *t);

/* In milliseconds; -1 if no similar job has ended, or jobs are so short that their rate is a better estimate. Running
 * jobs are assumed to be half done. */
int64_t expected_time_ms(struct expected_time *t, const struct run_counts *counts);

#endif
