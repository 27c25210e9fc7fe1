/* What predictions were compared with, and how wide an interval follows: as wide as the evidence for that framework and
 * for what is unusual about the plan.
 *
 * A comparison is one published table, one quantity, and the runs of it that are plain or have one unusual feature,
 * with the width w within which nine of ten |ln(measured / predicted)| lay; where what no key says makes two of a
 * prediction (memory.h, other), beyond the nearer. Nothing was fitted to any of them but the weight of products of
 * predict.toml, which the others choose, too, with each left out.
 * `scripts/bench.sh accuracy` prints them all, out of tests/unit/test_predict_tables.c and
 * test_predict_litgpt.c.
 *
 * The width of a plain plan is the mean over the framework's tables, each with weight n / (n + 5) for its n runs,
 * and, as one table more, that of all other frameworks' tables, times what Student's distribution asks for as few:
 * the runs of a table share its machines, release and way of measuring, so that however many there are they are one
 * draw of what the next table may be like. It is no less than that of any of its own tables; one of fewer than nine
 * runs, of which nine in ten cannot be told, counts there times its weight. Without a table of the framework it is that
 * of the others, but no less than the widest of them, times Student's again, and of time no less than midway between
 * that and UNCOMPARED_TIME: a table is off by its own bias, of which those of others say little.
 *
 * A feature widens it to what was seen with it, in the same way, but that the plain width counts as one of the others'
 * tables: a few runs with a feature may be off for another reason. Where no other framework was compared with the
 * feature, midway between the plain width and UNCOMPARED_MEMORY or UNCOMPARED_TIME stands for them; what was compared
 * nowhere counts as the latter.
 */
#ifndef MESHSWEEP_PREDICT_EVIDENCE_H
#define MESHSWEEP_PREDICT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"

enum predicted_quantity { QUANTITY_OF_MEMORY = 0, QUANTITY_OF_TIME, PREDICTED_QUANTITIES };

enum plan_feature {
    FEATURE_PLAIN = 0, /* none of these */
    FEATURE_FAMILY,    /* neither GPT nor Llama */
    FEATURE_EXPERTS,
    FEATURE_CONTEXT,
    FEATURE_OFFLOAD,
    FEATURE_MTP,
    FEATURE_FP8,
    FEATURE_FP4,
    FEATURE_SCHEDULE, /* zero-bubble, DualPipe-V */
    FEATURE_ADAPTERS, /* LoRA and the like, over frozen weights */
    FEATURE_DEVICE,   /* of time: one of which nothing was measured */
    FEATURE_MIXERS,   /* layers without attention */
    FEATURE_SPREAD,   /* of time: tensor parallelism over nodes */
    PLAN_FEATURES
};

/* Sets of features are bits 1 << feature; 0: plain. */
typedef unsigned feature_set;

#define UNCOMPARED_MEMORY 0.50 /* 1.645 of the sigma of predict.toml */
#define UNCOMPARED_TIME 0.58

struct compared_table {
    const char *table; /* its file */
    const char *framework;
    enum predicted_quantity quantity;
    enum plan_feature feature;
    size_t runs;
    double within;
};
extern const struct compared_table evidence_rows[];
extern const size_t evidence_count;

/* The same of pairs of runs of one plan on different numbers of devices: `runs` pairs, of which by the root of the
 * doublings between them ln(measured / predicted) of one differed from that of the other by at most `within`. */
struct compared_scaling {
    struct compared_table pairs;
    double beyond; /* those whose larger run is on more devices than so many, up to four times as many (0: up to 64) */
};
extern const struct compared_scaling scaling_rows[];
extern const size_t scaling_count;

/* Widths by framework, for all features. */
struct evidence_widths {
    double width[PREDICTED_QUANTITIES][PLAN_FEATURES];
    bool compared[PREDICTED_QUANTITIES][PLAN_FEATURES];
};

/* `without`: a table that counts as never seen; NULL: none. */
void evidence_widths_of(const char *framework, const char *without, struct evidence_widths *out);

/* Half the 90 % interval of ln(measured / predicted). `*compared`: all of it was compared. */
double evidence_width(const struct evidence_widths *w, enum predicted_quantity quantity, feature_set features,
                      bool *compared);

/* What half the 90 % interval of ln(measured / predicted) grows by, to be added in squares, on `devices`, 2^doublings
 * (from 0) times as many as anything was measured on: by scaling_rows, as the width of a plain plan by evidence_rows.
 * Of a table the row counts that reaches as far as `devices`, or comes nearest to it: what goes wrong on 512 devices
 * need not have been seen on 256. */
double evidence_scaling_width(const char *framework, enum predicted_quantity quantity, double devices,
                              double doublings);

/* What stands behind a prediction, as lines for people. */
void evidence_describe(const char *framework, enum predicted_quantity quantity, feature_set features,
                       struct buffer *out);

#endif
