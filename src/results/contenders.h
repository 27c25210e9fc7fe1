/* The jobs that might be the best, given the error of measurements: those that a confirmation runs again. */
#pragma once

#include "results/best.h"

/* The winner of `b`, then those whose interval overlaps its, by value, at most BEST_LISTED in all. The interval is the
 * 95 % one of the median of a job's ok attempts (Student 1908: t(n - 1) s / sqrt(n) for a mean, taken as independent;
 * the error of a median is sqrt(pi / 2) that of the mean), with one attempt alone that of its samples, where the metric
 * is their mean or median. Where either has none, a job contends within BEST_TOLERANCE. None when `b` has no winner. */
int contenders_read(struct db *db, const struct best *b, int64_t ids[BEST_LISTED], size_t *count, struct error *e);

/* How far the winner is ahead of the job after it. The intervals are Welch's for the difference of two means, at the
 * level of LEAD_MISSED because the winner is the one that came out first. */
struct lead {
    int64_t second;             /* 0: no other job has a value; then nothing below */
    double ahead;               /* as a share of the second's value: 0.03 */
    double low, high;           /* its interval; NAN: one of the two has no error */
    bool ran_once;              /* one of the two: its error is that of its samples, not of runs */
    int64_t alike[BEST_LISTED]; /* the first of those that cannot be told apart: the interval of their difference from
                                   the winner holds 0 */
    int64_t alike_count;        /* how many they are in all */
};

/* Adds another job or configuration, the better before the worse; the first becomes the second. `reach` is half the
 * width of the interval of the difference; NaN: not known. */
void lead_note(double winner, double other, int64_t job, double reach, struct lead *out);

/* A job that competes, and in which of the winners' groups. */
struct competitor {
    int64_t job;
    size_t group;
};

struct competition {
    const char *objective;
    bool maximise;
    const int64_t *winners; /* of each group */
    size_t winner_count;
    const struct competitor *competitors; /* by job; NULL: all of the sweep are in the one group */
    size_t competitor_count;
};

/* How far each winner is ahead in its group: as many leads as winners. */
int leads_read(struct db *db, const struct competition *c, struct lead *out, struct error *e);
