/* Predictions of combinations: inputs in, memory, time, FLOPs and the risk of running out of memory out, with the
 * coefficients of the framework as a profile, a file and measurements have made them.
 *
 * Intervals are as wide as the comparisons of the framework, and of what is unusual about the plan, ask for
 * (evidence.h), unless the file states a sigma or there are measurements of the place. Probabilities and verdicts go by
 * the sigma of the profile, which is about runs near the limit; for what is unusual (BERT, T5, ViT, experts, context
 * parallelism, offload, fp8 and fp4, MTP, zero-bubble schedules; for time also a device that is not `measured`) by that
 * of predict.toml, until there are measurements of its place or the file states one.
 *
 * Verdicts compare the prediction with the device's memory times a share. The shares (OOM_RISK_SHARE,
 * OOM_CERTAIN_SHARE of oom.h, or the file's) are meant for a prediction that is off by PREDICTOR_SIGMA. A better one
 * is compared nearer to what there is: between the share and all that torch counts, by the power sigma /
 * PREDICTOR_SIGMA. A worse one must not exclude what fits: a run that takes OOM_RISK_SHARE of the memory is excluded
 * only where it is mispredicted by more and more standard deviations, from a sigma of 0.2 on by 1.96 of them, once in
 * forty. States are counted, not estimated, so that a sigma is that of the rest: for verdicts and probabilities it is
 * multiplied by twice the share that is not states, where that is less than half (nine in ten of nanotron's runs were
 * off by at most 37 % where nearly nothing of their memory was states, 20 % where half was, 4 % where nearly all was).
 * Where a framework's recipes recompute although no key says so (struct memory_coefficients, recipes), the least that
 * they may take is compared, and what fits only so is a risk. Where releases differ in what they keep and no key says
 * which (may_keep_gathered), the interval reaches from the one to the other, and what fits only as the lesser is a
 * risk. */
#ifndef MESHSWEEP_PREDICT_PREDICTOR_H
#define MESHSWEEP_PREDICT_PREDICTOR_H

#include "predict/calibration.h"
#include "predict/evidence.h"
#include "predict/inputs.h"
#include "predict/memory.h"
#include "predict/oom.h"
#include "predict/step_time.h"

#define PREDICTOR_SIGMA 0.12

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
    double certain, risky;        /* 0: those of oom.h */
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
