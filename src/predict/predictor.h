/* Predictions for combinations: from their inputs to memory, time, FLOPs and the risk of running out of memory, with
 * the framework's coefficients as its profile, the sweep file and measurements have set them.
 *
 * An interval is as wide as the comparisons for the framework, and for anything unusual about the plan, require
 * (evidence/evidence.h), unless the file states a sigma or there are measurements of the place. Probabilities and
 * verdicts use the sigma of the profile, which describes runs near the limit. For an unusual plan (BERT, T5, ViT,
 * experts, context parallelism, offload, fp8 and fp4, MTP, zero-bubble schedules; for time, also a device that is not
 * `measured`), they use the sigma of predict.toml until there are measurements of its place or the file states one.
 * verdict.h says how a verdict is reached. */
#ifndef MESHSWEEP_PREDICT_PREDICTOR_H
#define MESHSWEEP_PREDICT_PREDICTOR_H

#include "evidence/evidence.h"
#include "evidence/oom.h"
#include "predict/calibration.h"
#include "predict/inputs.h"
#include "predict/memory.h"
#include "predict/step_time.h"

/* What of a device's memory is measured, and of which rank. */
enum memory_counter { COUNTS_RESERVED = 0, COUNTS_ALLOCATED, COUNTS_DEVICE };
enum memory_rank { RANK_MOST_LOADED = 0, RANK_FIRST, RANK_LAST };

/* What holds where the inputs say nothing. Texts borrowed; NULL, 0: nothing. */
struct predictor_options {
    const char *framework; /* NULL: the first of `profiles` that is one, else "torch-ddp" */
    char *const *profiles; /* names, NULL-terminated; NULL: none */
    bool is_own;           /* `framework` may be unknown: then it is what holds for all, uncalibrated */
    const char *device, *cluster;
    const char *evidence_without; /* a table that counts as never seen (evidence.h); NULL: none */
    double certain, risky;        /* shares of the memory; 0: those of evidence/oom.h */
    double peak_flops, memory_bandwidth, link_bandwidth, network_bandwidth; /* go over the device's own */
    double network_latency;                                                 /* seconds */
    enum memory_counter counter;
    enum memory_rank rank;
};

struct predictor;

/* -1 (ERROR_USAGE), with a hint, when no framework has that name. */
int predictor_create(const struct predictor_options *options, struct predictor **out, struct error *e);
void predictor_free(struct predictor *p);

/* Changes a coefficient of every framework: by the name of a member of struct memory_coefficients or
 * time_coefficients (parameter, base_bytes, sigma, …) or of a term, for its weight. -1 when there is none of that
 * name. */
int predictor_set(struct predictor *p, const char *name, bool is_time, double value, struct error *e);

/* A calibration for one (framework, device, cluster), replacing an earlier one. `memory` and `time` may be NULL: then
 * what there was stays. With `time`, a baseline above 0 makes time peak seconds times that. "" where a device or
 * cluster has no name. */
struct place_of_measurement {
    const char *framework, *device, *cluster;
};
int predictor_calibrate(struct predictor *p, const struct place_of_measurement *where, const struct calibration *memory,
                        const struct calibration *time, double baseline, struct error *e);

/* What the combination that was predicted last, without an error, was measured to take: with two micro-batches of a
 * class (memory_lines.h) their line goes before the model. */
void predictor_note_memory(struct predictor *p, double bytes);

/* The coefficients that stand before any calibration; NULL for another framework. A NULL name: of the framework that
 * holds where no key says one. */
const struct framework *predictor_prior(const struct predictor *p, const char *framework);

struct prediction {
    bool has_memory, has_time; /* FLOPs follow from the model alone: always there */
    bool has_probability;      /* needs memory and the device's bytes */
    struct memory_prediction memory;
    /* As it is measured: by the options' counter and rank; where weights were fitted to what was, that of `memory`. */
    double measured_bytes, measured_low, measured_high;
    struct step_prediction step;
    double seconds; /* of a step: step.seconds, or the baseline's */
    double low_s, high_s;
    double flops;                    /* of a step, ATTENTION_FULL */
    double peak_seconds;             /* those at the peak of all devices; 0 without has_time */
    double peak_flops;               /* of all devices; 0 without has_time */
    double samples, tokens, devices; /* of a step */
    double steps;                    /* of a job; 0: not known */
    double usable_bytes;             /* 0: not known */
    double oom_probability;
    enum oom_verdict verdict;
    feature_set features; /* what is unusual about the plan */
    bool memory_calibrated, time_calibrated, by_baseline;
    bool by_evidence[PREDICTED_QUANTITIES]; /* its interval is that of the comparisons (evidence.h) */
    bool by_line; /* memory: of the line through what was measured of its class; its terms stay the model's */
    struct place_of_measurement where; /* borrowed from the predictor or the inputs */
};

/* -1 (ERROR_USAGE) saying why nothing can be predicted. `*out` is borrowed until the next call. */
int predictor_predict(struct predictor *p, const struct input_value *values, const struct prediction **out,
                      struct error *e);

#endif
