/* The jobs that might be the best, given the error of measurements. */
#pragma once

#include "results/best.h"
#include "results/configurations.h"

/* Lists the number of the winner of `b`, then those of the jobs whose interval overlaps its, by value, at most
 * BEST_LISTED in all; NULL when `b` has no winner. The interval is the 95 % one of the median of a job's ok attempts,
 * with one attempt alone that of its samples, where the metric is their mean or median (sql/answers/leads.sql). Where
 * either has none, a job contends within 2 %. The caller's. */
int contenders_read(struct db *db, const struct best *b, cJSON **out, struct error *e);

/* How far the winner of each group is ahead of the next, in the order of groups: {"job", "second": null where no other
 * has a value, "ahead": as a share of the second's value, "low" and "high": its interval, null where one of the two has
 * no error, "ran_once": its error is that of the samples of one of them, "alike": the first of those that cannot be
 * told apart, "alike_jobs": how many they are}. The caller's. */
int leads_read(struct db *db, const char *objective, bool maximise, const struct competition *c, cJSON **out,
               struct error *e);
