/* The comparisons behind predictions, and how wide their intervals have to be: as wide as the evidence for the
 * framework, and for anything unusual about the plan, requires.
 *
 * A comparison is one published table, one quantity, and those of its runs that are plain or have one unusual feature.
 * Its width w is the one within which nine in ten |ln(measured / predicted)| lie. Where a prediction is two, because no
 * key says which of them holds (predict/memory.h, other), the nearer counts. Nothing was fitted to any of the tables
 * but the weight of matrix products in predict.toml, which the other tables choose, too, when one is left out.
 * `scripts/bench.sh accuracy` prints all comparisons, from tests/unit/test_predict_tables.c and test_predict_litgpt.c.
 *
 * Width of memory of a plain plan. The runs of a table share its machines, release and way of measuring, so however
 * many there are, they are one sample of what the next table may be like. The width is therefore a mean over the
 * framework's tables, each weighted by n / (n + 5) for its n runs. The tables of all other frameworks count as one
 * more, or as many as make three with the framework's own. Their width is that of a framework without a table: the
 * widest of them, times the factor by which Student's distribution is wider for so few. That many, because the next
 * source of a framework may be far from its first: where two tables share a framework and a feature, the one needs a
 * median of twice the width of the other. The width is never less than that of any of the framework's own tables; a
 * table of fewer than nine runs, which cannot tell nine in ten, counts there times its weight.
 *
 * Width of memory of a plan with a feature. In the same way, from what was seen with that feature, except that the
 * plain width counts as one of the others' tables: a few runs with a feature may be off for another reason. If no other
 * framework was compared with the feature, midway between the plain width and UNCOMPARED_MEMORY stands for them. A
 * feature that was compared nowhere has the latter width.
 *
 * Memory of a kind that the framework itself was not compared with (a feature, or one of FEATURES_OF_KIND, that none of
 * its tables has; anything, without a table) is as far off as sources were that nobody had compared before. Model
 * states are counted; what differs between sources is the rest, which was e^-0.73 to e^0.80 times as predicted in nine
 * of ten rows of tests/data/unseen when these were first predicted (unseen_memory; tests/unit/test_predict_unseen.c
 * says how it follows from first.csv, and what each derivation says of the others' interval). A counter of all that is
 * held, where only others' was compared, goes half of the way to UNCOMPARED_MEMORY.
 *
 * Time is as far off as it was in those sources (first_time.csv), of kinds that the framework was compared with
 * (unseen_compared_time) and of others (unseen_time). What no key says (waiting, loading, logging, kernels that are not
 * the best) makes a run slower and does not go with its products, so that ln(measured / predicted) is in proportion to
 * the predicted time over that of its products at the rate of the device, of which UNSEEN_PRODUCTS is the least that
 * counts. Without that proportion intervals are wider (by a twentieth) and yet of less use: one of 36 derivations has
 * 38 % of its rows inside what the others say, with it none has less than 80 %. Widths by framework and feature, as for
 * memory, only widen them (95 in place of 93 % of a mean derivation's rows are inside). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"
#include "util/error.h"

enum predicted_quantity { QUANTITY_OF_MEMORY = 0, QUANTITY_OF_TIME, PREDICTED_QUANTITIES };

/* FEATURE_id, what people are told of it, and what it bears on: speed, links and launches do not change how much memory
 * a plan needs, nor a counter of memory how long it takes. */
#define FEATURES(ROW)                                                                                                  \
    ROW(PLAIN, "plain", BOTH) /* none of these */                                                                      \
    ROW(FAMILY, "neither GPT nor Llama", BOTH)                                                                         \
    ROW(EXPERTS, "experts", BOTH)                                                                                      \
    ROW(CONTEXT, "context parallelism", BOTH)                                                                          \
    ROW(OFFLOAD, "offload", BOTH)                                                                                      \
    ROW(MTP, "multi-token prediction", BOTH)                                                                           \
    ROW(FP8, "fp8", BOTH)                                                                                              \
    ROW(FP4, "fp4", BOTH)                                                                                              \
    ROW(SCHEDULE, "schedules beyond 1F1B", BOTH) /* zero-bubble, DualPipe-V */                                         \
    ROW(ADAPTERS, "adapters", BOTH)              /* LoRA and the like, over frozen weights */                          \
    ROW(DEVICE, "devices not measured on", TIME) /* at all, or by the framework */                                     \
    ROW(MIXERS, "layers without attention", BOTH)                                                                      \
    ROW(SPREAD, "tensor parallelism over nodes", TIME)                                                                 \
    ROW(LENGTHS, "sequences of different lengths", BOTH)  /* shorter than the longest */                               \
    ROW(OTHER_ADAPTERS, "adapters other than LoRA", BOTH) /* DoRA, AdaLoRA, IA3, OFT, VeRA */                          \
    ROW(OTHER_QUANTIZATION, "weights quantized otherwise than in 4 bits by bitsandbytes or GPTQ", BOTH)                \
    ROW(QUANTIZATION, "quantized weights", BOTH) /* by one of these */                                                 \
    ROW(FP32, "products in fp32", BOTH)          /* or TF32 */                                                         \
    ROW(HELD, "all memory that is held", MEMORY) /* by a counter that includes what the allocator does not use */      \
    ROW(SHARDED, "parameters gathered for each pass", BOTH)                                                            \
    ROW(LONG, "more than 8,192 tokens in a sequence", TIME)                                                            \
    ROW(NODES, "several nodes", TIME) /* or link domains */                                                            \
    ROW(UNPACKED, "weights unpacked by torch's operations", TIME)                                                      \
    ROW(NETWORK, "an unknown network between nodes of few devices", TIME) /* fewer than is usual */                    \
    ROW(HOST, "steps that wait for launches", TIME) /* launches, and tensors of the optimizer: over half */            \
    ROW(WHOLE, "neither tensor nor pipeline parallelism", MEMORY)                                                      \
    ROW(SPLIT, "tensor or pipeline parallelism", MEMORY)                                                               \
    ROW(CAST, "weights in fp32, products in 16 bits", MEMORY)                                                          \
    ROW(KEPT, "nothing recomputed", MEMORY)                                                                            \
    ROW(LOGITS, "a quarter of memory for logits of a large vocabulary", MEMORY) /* of more than 65,536 words */

#define FEATURE(id, name, bears_on) FEATURE_##id,
enum plan_feature { FEATURES(FEATURE) PLAN_FEATURES };
#undef FEATURE

/* Sets of features are bits 1 << feature; 0: plain. */
typedef unsigned feature_set;

/* Those that have no width of their own: what counts is whether the framework's tables have them. */
#define FEATURES_OF_KIND                                                                                               \
    (1U << FEATURE_WHOLE | 1U << FEATURE_SPLIT | 1U << FEATURE_CAST | 1U << FEATURE_KEPT | 1U << FEATURE_LOGITS)

#define UNCOMPARED_MEMORY 0.50 /* 1.645 of the sigma of predict.toml */

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

/* The same for pairs of runs of one plan on different numbers of devices: `runs` is the number of pairs, and `within`
 * holds nine in ten of the differences between their two ln(measured / predicted), each divided by the square root of
 * the number of doublings between the two. */
struct compared_scaling {
    struct compared_table pairs;
    double beyond; /* pairs whose larger run has more devices than this, up to four times as many (0: up to 64) */
};
extern const struct compared_scaling scaling_rows[]; /* the last has no table */

/* 90 % interval in new sources of ln(measured / predicted) of what is estimated of memory; of that of time, times the
 * share of products in the prediction. */
struct unseen_spread {
    double below, above;
};
extern const struct unseen_spread unseen_memory, unseen_time, unseen_compared_time;

#define UNSEEN_ESTIMATED 0.1 /* of memory, at least, however much of it is states */
#define UNSEEN_PRODUCTS 0.25 /* of time, at least, however little of it is products */

/* Memory, over what is predicted, if its estimated part (a share of it) is e^off times as predicted. */
double evidence_of_estimated(double share, double off);

/* Time, over what is predicted, of which products take a share. */
double evidence_of_products(double share, double off);

/* Returns whether a table of the framework itself was compared. `without`: a table that does not count; NULL: all
 * do. */
bool evidence_has_table(const char *framework, const char *without, enum predicted_quantity quantity);

/* Of a framework, for all features. */
struct evidence_widths {
    double width[PLAN_FEATURES]; /* of memory: half the 90 % interval of ln(measured / predicted) */
    bool compared[PREDICTED_QUANTITIES][PLAN_FEATURES];
};

/* `without`: a table that counts as never seen; NULL: none. */
void evidence_widths_of(const char *framework, const char *without, struct evidence_widths *out);

/* Those of the features that bear on a quantity. */
feature_set evidence_features(feature_set features, enum predicted_quantity quantity);

double evidence_width(const struct evidence_widths *w, feature_set features);

/* Returns whether the framework and all the features were compared. */
bool evidence_compared(const struct evidence_widths *w, enum predicted_quantity quantity, feature_set features);

/* The 90 % interval of measured / predicted. `share`: of memory that is estimated; of time that is products. */
void evidence_interval(const struct evidence_widths *w, enum predicted_quantity quantity, feature_set features,
                       double share, double *low, double *high);

/* Whether the device's chip, "V100" of "V100-16GB", is among `chips` (struct framework, compared_on); true if NULL. */
bool evidence_has_device(const char *chips, const char *device);

/* How much half the 90 % interval of ln(measured / predicted) widens on `devices`, which are 2^doublings (0 or more)
 * times as many as anything was measured on; it is to be added in squares. It follows from scaling_rows as the width of
 * memory of a plain plan does from evidence_rows, but by a mean of other frameworks, not the widest. The row of each
 * table counts that reaches as far as `devices`, or comes nearest to it: what goes wrong on 512 devices need not
 * have been seen on 256. */
double evidence_scaling_width(const char *framework, enum predicted_quantity quantity, double devices,
                              double doublings);

/* The comparisons behind a prediction, as lines for people. */
void evidence_describe(const char *framework, enum predicted_quantity quantity, feature_set features,
                       struct buffer *out);

/* Adds what each source's runs needed beside the width that the other sources give, as lines for people: by the feature
 * that most of its runs have. */
void evidence_describe_sources(enum predicted_quantity quantity, struct buffer *out);

/* --- whether a plan runs out of device memory: a probability, and a verdict to act on ---
 *
 * The error is ln(measured / predicted) ~ N(0, sigma²), so
 *
 *   P(out of memory) = Φ(ln(predicted / available) / sigma),  available = usable - reserve
 *
 * (usable: the device's total as the framework reports it; reserve: context and communicators, memory.h).
 *
 * The verdict (predictor.h) compares the prediction with the usable bytes: up to OOM_RISK_SHARE it fits, above
 * OOM_CERTAIN_SHARE it is excluded. In between it is a risk: run it last, or only if it would be the fastest.
 *
 * OOM_RISK_SHARE: none of 454 runs on A100 and H100 whose estimate was below 80 % ran out of memory (arXiv 2411.06465).
 * OOM_CERTAIN_SHARE: what is excluded is never run, so hardly a plan above it may fit. Of the ultra-scale runs that
 * were predicted between 0.90 and 0.97 three in ten ran, and so did eleven elsewhere (tests/data/unseen). It is no
 * optimum on the rows it is measured on: leaving out each group of the ultra-scale runs (model, devices) in turn, the
 * others give shares from 0.93 to 0.98, which do as well on the group left out (tests/unit/test_predict_oom.c). */
#define OOM_RISK_SHARE 0.80
#define OOM_CERTAIN_SHARE 0.97

enum oom_verdict { OOM_FITS = 1, OOM_RISK, OOM_CERTAIN };

extern const char *const oom_verdict_names[]; /* by verdict: "fits", "risk", "certain" */

/* NAN unless all are finite and positive, and reserve (0 or more) is below usable. */
double oom_probability(double predicted_bytes, double sigma, double usable_bytes, double reserve_bytes);
