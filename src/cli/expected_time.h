/* How long a run will still take, from how long attempts of jobs like those that wait took (results/durations.h). */
#ifndef MESHSWEEP_CLI_EXPECTED_TIME_H
#define MESHSWEEP_CLI_EXPECTED_TIME_H

#include "run/runner.h"

/* Looks into the database on its own connection, every few seconds; `db_path` must outlive it. */
struct expected_time;
struct expected_time *expected_time_open(const char *db_path);
void expected_time_close(struct expected_time *t);

/* In milliseconds; -1 where nothing like what waits has ended, or jobs are so short that their rate tells more. What
 * runs counts half of it, as right after one has started. */
int64_t expected_time_ms(struct expected_time *t, const struct run_counts *counts);

#endif
