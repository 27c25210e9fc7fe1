/*
 * What a job reports while it trains: plain lines for people, JSON lines for programs.
 *
 *     step 3 loss 5.1234 step_time 0.012345 s samples/s 1296.1
 *     ...
 *     parameters 107520
 *     step_time 0.012000 s
 *     throughput 1333.3 samples/s
 *     tokens/s 85333.3
 *     peak_memory_bytes 5242880
 *     peak_memory_parameter_bytes 430080        and gradient, optimizer, activation, buffer
 *
 * step_time, throughput and tokens/s of the summary are from the median time of the steps after the warm-up.
 * JSON: {"step": n, "loss": z, "step_time": y, "throughput": x} for each step, and one object with
 * "peak_memory_bytes", "peak_memory_parameter_bytes" ..., "parameters" at the end.
 */
#ifndef TRAINER_REPORT_H
#define TRAINER_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "trainer/device.h"

struct report {
    FILE *metrics;        /* NULL: none */
    double *step_seconds; /* of every step so far */
    int steps;
    int warmup_steps;
    int samples_per_step;
    int tokens_per_sample;
};

struct report_step {
    int step; /* from 1 */
    double loss;
    double seconds;
};

struct report_summary {
    uint64_t parameters;
    uint64_t peak_bytes;
    uint64_t peak_by[DEVICE_USES];
};

/*
 * Opens the metrics file for appending, unless path is NULL. The caller sets the counts in *report, with
 * `steps` the total number. 0, or -1 with *e.
 */
int report_open(struct report *report, const char *metrics_path, struct error *e);
void report_close(struct report *report);

/* 0, or -1 with *e if the loss is not finite or writing fails. */
int report_step(struct report *report, const struct report_step *step, struct error *e);

/* After the last step. */
int report_summary(struct report *report, const struct report_summary *summary, struct error *e);

#endif
