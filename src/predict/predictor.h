/* Predictions for combinations: from their inputs to memory, time, FLOPs and the risk of running out of memory, with
 * the framework's coefficients as its profile, the sweep file and measurements have set them.
 *
 * An interval is as wide as the comparisons for the framework, and for anything unusual about the plan, require
 * (predict/evidence.h), unless the file states a sigma or there are measurements of the place. Probabilities and
 * verdicts use the sigma of the profile, which describes runs near the limit. For an unusual plan (BERT, T5, ViT,
 * experts, context parallelism, offload, fp8 and fp4, MTP, zero-bubble schedules; for time, also a device that is not
 * `measured`), they use the sigma of predict.toml until there are measurements of its place or the file states one.
 * verdict.h says how a verdict is reached. */
#pragma once

#include "predict/calibration.h"
#include "predict/evidence.h"
#include "predict/inputs.h"
#include "predict/memory.h"
#include "predict/step_time.h"

/* The memory counter that measurements come from, and the rank. */
enum memory_counter { COUNTS_RESERVED = 0, COUNTS_ALLOCATED, COUNTS_DEVICE };
enum memory_rank { RANK_MOST_LOADED = 0, RANK_FIRST, RANK_LAST };

/* Defaults for what the inputs leave out. Texts are borrowed; NULL or 0: not given. */
struct predictor_options {
    const char *framework; /* NULL: the first of `profiles` that is a framework, else "torch-ddp" */
    char *const *profiles; /* names, NULL-terminated; NULL: none */
    bool is_own;           /* an unknown `framework` is no error; it gets the general coefficients, uncalibrated */
    const char *device, *cluster;
    const struct device_table *devices; /* [[device]]; NULL: none */
    const char *evidence_without;       /* a table to leave out of the evidence (evidence.h); NULL: none */
    double certain, risky;              /* shares of the memory; 0: the defaults of predict/evidence.h */
    double peak_flops, memory_bandwidth, link_bandwidth, network_bandwidth; /* override the device's */
    double network_latency;                                                 /* seconds */
    enum memory_counter counter;
    enum memory_rank rank;
};

struct predictor;

/* -1 (ERROR_USAGE), with a hint, if there is no framework of that name. predictor_free frees `*out`. */
int predictor_create(const struct predictor_options *options, struct predictor **out, struct error *e);
void predictor_free(struct predictor *p);

/* Sets a coefficient of every framework. `name` is a member of struct memory_coefficients or time_coefficients
 * (parameter, base_bytes, sigma, …), or a term, whose weight is set. -1 if there is no such name, or a sigma or
 * spread is not above 0. */
int predictor_set(struct predictor *p, const char *name, bool is_time, double value, struct error *e);

/* Sets the calibration of one (framework, device, cluster); "" for a device or cluster without a name. A NULL `memory`
 * or `time` leaves what was set before. With `time`, a baseline above 0 predicts times as baseline · peak seconds. */
struct place_of_measurement {
    const char *framework, *device, *cluster;
};
int predictor_calibrate(struct predictor *p, const struct place_of_measurement *where, const struct calibration *memory,
                        const struct calibration *time, double baseline, struct error *e);

/* Records the measured memory of the combination that was last predicted without an error. Once a class
 * (memory_lines.h) has measurements at two micro-batch sizes, the line through them takes precedence over the model. */
void predictor_note_memory(struct predictor *p, double bytes);

/* A framework's coefficients before calibration; NULL if it is unknown. A NULL name stands for the default framework.
 */
const struct framework *predictor_prior(const struct predictor *p, const char *framework);

struct prediction {
    bool has_memory, has_time; /* FLOPs need only the model and are always there */
    bool has_probability;      /* needs has_memory and the device's memory size */
    struct memory_prediction memory;
    /* Memory by the options' counter and rank; if weights were fitted to measurements, that of `memory`. */
    double measured_bytes, measured_low, measured_high;
    struct step_prediction step;
    double seconds; /* per step: step.seconds, or the baseline's */
    double low_s, high_s;
    double better, worse; /* factors on them, at most and at least 1, for the other value of what no key says */
    double flops;         /* per step, ATTENTION_FULL */
    double peak_seconds;  /* `flops` at the peak of all devices; 0 without has_time */
    double peak_flops;    /* of all devices; 0 without has_time */
    double samples, tokens, devices; /* per step */
    double micro_batch;              /* samples of one device at a time */
    double steps;                    /* per job; 0: not known */
    double watts;                    /* of a device: its power, or the plan's limit; 0: not known */
    double usable_bytes;             /* 0: not known */
    double oom_probability;
    enum oom_verdict verdict;
    feature_set features; /* what is unusual about the plan */
    bool memory_calibrated, time_calibrated, by_baseline;
    bool by_evidence[PREDICTED_QUANTITIES]; /* the interval comes from the comparisons (evidence.h) */
    bool lengths_unknown;                   /* no key says whether batches differ in length: the interval has both */
    bool by_line; /* memory comes from the line through measurements of its class; the terms stay the model's */
    struct place_of_measurement where; /* borrowed from the predictor or the inputs */
};

/* -1 (ERROR_USAGE) says why nothing can be predicted. `*out` is borrowed and valid until the next call. */
int predictor_predict(struct predictor *p, const struct input_value *values, const struct prediction **out,
                      struct error *e);
