/* Plans of a sweep where it is and where it is scaled to: which runs there, how fast, and which is then the best.
 *
 * Plans are known by their words, without what scaling changes. Where the sweep has one on several numbers of devices,
 * the largest below that there counts as here. Throughput is in tokens, or samples where a model has none, per second;
 * efficiency is that per device, there over here. Places count, among plans of the same work (FLOPs of a sample, which
 * tell models and lengths apart) on as many devices, those that are not predicted to run out of memory, by throughput.
 *
 * Beyond the devices that anything was measured on intervals are widened (evidence_scaling_width); those of efficiency
 * are that wide alone, as what else is mispredicted of a plan is so on either side. */
#pragma once

#include "predict/predictor.h"

struct scaled_figure {
    double value, low, high; /* NAN: not known */
};

struct plan_figures {
    bool found;              /* it runs on so many devices by the rules, and something is predicted of it */
    double devices, samples; /* the latter of a step */
    struct scaled_figure memory, seconds, throughput;
    enum oom_verdict verdict; /* 0: not known */
    double oom_probability;   /* NAN: not known */
    int64_t place;            /* from 1; 0: none */
};

struct scaled_plan {
    char *words;
    double work; /* FLOPs of a sample */
    bool counts_tokens;
    double spread[PREDICTED_QUANTITIES]; /* evidence_scaling_width of a doubling, to there */
    const char *memory_of;               /* "reserved, largest rank"; borrowed from the spaces */
    struct plan_figures here, there;
    struct scaled_figure efficiency; /* only of one that is here and there */
};

struct scaled_plans {
    struct scaled_plan *items;
    size_t count;
    struct scaled_plan **ranked; /* after scaled_plans_rank: all of them by work and place there, those without last */
    double measured_devices;     /* the most that anything was measured on; 0: nothing was */
    int64_t without;             /* combinations there of which nothing is predicted */
};

/* The view of a combination; `is_measured`: its time or memory is known. */
struct plan_seen {
    const char *words;
    const struct prediction *prediction; /* NULL: none */
    const char *memory_of;
    bool is_measured;
};
void scaled_plans_add_here(struct scaled_plans *p, const struct plan_seen *seen);
void scaled_plans_add_there(struct scaled_plans *p, const struct plan_seen *seen);

/* When all have been added, once: intervals, efficiencies, places. */
void scaled_plans_rank(struct scaled_plans *p);

/* After that: the probability that `a` is the faster of two with a place there, as their intervals are apart from each
 * other. What both are mispredicted by alike counts twice, so that it is on the cautious side. */
double scaled_plans_faster(const struct scaled_plan *a, const struct scaled_plan *b);

/* After that. NULL: there is none of those words. Borrowed. */
const struct scaled_plan *scaled_plans_find(const struct scaled_plans *p, const char *words);

void scaled_plans_free(struct scaled_plans *p);
